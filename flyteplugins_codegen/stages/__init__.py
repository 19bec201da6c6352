"""The stages of a generation, one module each. A stage takes values and returns new ones; `loop` says what is next."""

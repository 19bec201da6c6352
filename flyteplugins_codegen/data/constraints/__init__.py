"""Constraints in words, parsed by a small grammar; a constraint that it does not know is passed on to the model."""

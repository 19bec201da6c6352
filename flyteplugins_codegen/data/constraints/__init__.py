"""Constraints in words, read by a small grammar of our own: what it does not know, it leaves to others."""

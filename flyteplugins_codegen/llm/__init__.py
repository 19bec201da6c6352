"""Calling models: one contract, one module for each provider's API, replies validated, recorded and cached."""

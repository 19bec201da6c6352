"""Talking to models: one protocol, one file for each provider, replies checked, recorded and remembered."""

"""A model that works by tools, every one of which touches values of ours or runs in the sandbox."""

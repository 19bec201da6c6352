"""A model that works with tools. Every tool works on values in memory, or runs in the sandbox."""

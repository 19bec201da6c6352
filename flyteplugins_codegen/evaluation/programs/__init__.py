"""Programs in other languages than Python: how each is built, run, and told to have come to its tests' end."""

"""Images of solutions, measured."""

"""Whether two programs of the same job agree: their outputs compared by meaning, and the fewest rows that differ."""

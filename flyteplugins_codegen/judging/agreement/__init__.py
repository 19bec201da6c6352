"""Two programs for one job: run on the same cases, and their outputs compared by meaning."""

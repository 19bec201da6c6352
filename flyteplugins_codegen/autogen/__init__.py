"""Functions to use one by one, without an agent: those of AutoGen 0.2, with sandboxes, budgets and typed errors."""

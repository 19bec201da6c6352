"""Mutants of a solution: the same code with one small mistake, by which its tests are tested."""

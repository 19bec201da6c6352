"""The small mistakes that mutants of a solution make: operators and constants, tables, and what is left alone."""

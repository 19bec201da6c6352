"""Profiles measured: against DuckDB's own summary of the same file, and against what memory is allowed."""

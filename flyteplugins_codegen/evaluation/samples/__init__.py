"""Samples out of files and folders: what models wrote, read lazily."""

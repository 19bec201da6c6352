"""Finds sensitive values in samples, replaces them by fakes of the same form, and reports what was replaced."""

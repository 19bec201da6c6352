"""Success held against truth: jobs whose right and wrong solutions, good and weak suites are known."""

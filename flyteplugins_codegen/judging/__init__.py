"""Verdicts on untrusted code: pytest suites, values and mutants, each judged inside a sandbox."""

"""Warm workers: jobs in forks of an interpreter that waits in a sandbox of its own."""

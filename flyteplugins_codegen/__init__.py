"""Describe a job, give sample data, get back tested code that runs as a reusable Flyte task."""

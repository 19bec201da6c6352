"""What Flyte costs: local execution beside the stages called directly, cached runs, refreshing."""

"""What a solution needs installed: package policy, resolution, environments made by uv, container images."""

"""What a solution needs installed: package policy, resolution, layered environments made by uv, container images."""

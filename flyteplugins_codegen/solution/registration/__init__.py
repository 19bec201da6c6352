"""Solutions in a Flyte control plane: registered under the digest of what they are, found again, and loaded."""

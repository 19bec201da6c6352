"""Solutions in a Flyte control plane: registered under the digest of their content, found, and loaded."""

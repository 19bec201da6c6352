"""What the sandbox costs: cold and warm jobs beside plain processes and a container."""

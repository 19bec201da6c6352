"""Jobs in containers of podman or docker."""

"""Jobs in children of an interpreter that waits in a sandbox of its own."""

"""Standard-library programs that are copied into solution folders and images."""

"""What the kernel refuses and counts: system calls, control groups, limits per process."""

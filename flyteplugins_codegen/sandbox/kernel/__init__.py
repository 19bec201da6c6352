"""What the kernel enforces and counts: system calls, control groups, limits of each process."""

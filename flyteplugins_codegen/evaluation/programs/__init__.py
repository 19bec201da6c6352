"""Programs in languages other than Python: how they are built and run, and how they prove that their tests ended."""

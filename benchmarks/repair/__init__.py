"""Which seeded bugs are repaired, and in how many model calls."""

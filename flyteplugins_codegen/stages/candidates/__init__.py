"""Several candidates for one job: judged at the same time, grouped by behaviour, and one chosen or none."""

"""Several candidates for one job: asked for and judged side by side, grouped by what they do, one chosen or none."""

"""Fresh data for a solution that is there: looked at, run, and the solution renewed only where it must be."""

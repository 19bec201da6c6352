"""Running a suite against mutants of the solution that it passed, many in one sandbox."""

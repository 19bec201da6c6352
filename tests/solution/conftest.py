"""What pytest does not collect: `test_solution.py` of a saved folder tests that folder's solution, not this package."""

from __future__ import annotations

collect_ignore = ["saved_by_0_1_0"]

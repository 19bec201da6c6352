"""The demo's job and the replies of its recording: written by hand, with one mistake that the tests find."""

from __future__ import annotations

from pathlib import Path
from typing import Any

_HERE = Path(__file__).parent / "weather"

REPLIES: dict[str, list[Any]] = {
    "SolutionReply": [
        {
            "description": "Counts the rainy days and summarises temperature and precipitation by month.",
            "approach": "Read the CSV with pandas, count days by a threshold, group by calendar month.",
            "code": (_HERE / "first.py").read_text(),
            "packages": ["pandas"],
            "system_packages": [],
        }
    ],
    "TestsReply": [{"test_code": (_HERE / "suite.py").read_text()}],
    "RepairReply": [
        {
            "cause": "count_rainy_days compares with > 1.0, so a day with exactly 1 mm is left out; "
            "the description says at least 1 mm.",
            "error_type": "logic",
            "edits": [{"search": 'days["precipitation"] > 1.0', "replace": 'days["precipitation"] >= 1.0'}],
            "code": None,
            "test_code": None,
            "packages": [],
            "system_packages": [],
        }
    ],
}

"""What is worth being imported ahead (`preload` of `open_sandbox`), by what the jobs do."""

from __future__ import annotations

from typing import Final

SUITE_MODULES: Final = (
    "pytest",
    # What pytest imports only when it is run.
    "_pytest._argcomplete",
    "_pytest.faulthandler",
    "_pytest.helpconfig",
    "_pytest.junitxml",
    "_pytest.skipping",
    "_pytest.tracemalloc",
    "_pytest.unittest",
    "_pytest.warnings",
    "difflib",
    "encodings.unicode_escape",
    "unittest",
    # What our runner imports beside.
    "_blake2",
    "fcntl",
    "json",
    "readline",
    "select",
    "signal",
    "tempfile",
)
"""For jobs that run a pytest suite."""

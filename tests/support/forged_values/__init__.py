"""Solutions that are wrong, and want to be judged right by values, as they stand in the text files beside this one.

    what stands before each solution of the file
    === title [fools one process]
    the solution

`f(x)` should give `x` twice. `fools one process`: where solution and check run in one, its exit status is 0.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

RIGHT = "def f(x):\n    return x + x\n"
WRONG = "def f(x):\n    return None\n"
CHECK = """
def check(candidate):
    assert candidate(3) == 6
    assert candidate("ab") == "abab"
    assert candidate([1, 2]) == [1, 2, 1, 2]
    assert candidate({"a": 1.5}["a"]) == 3.0
"""
_HEAD = re.compile(r"^=== (.+?)( \[fools one process\])?\n", re.MULTILINE)


@dataclass(frozen=True, slots=True)
class Forgery:
    """One of them."""

    title: str
    solution: str
    fools_one_process: bool


def forgeries() -> Iterator[Forgery]:
    """All of them."""
    for path in sorted(Path(__file__).parent.glob("*.txt")):
        before, *parts = _HEAD.split(path.read_text())
        for title, fools, solution in zip(parts[::3], parts[1::3], parts[2::3], strict=True):
            yield Forgery(title, f"{before}\n{solution}", bool(fools))

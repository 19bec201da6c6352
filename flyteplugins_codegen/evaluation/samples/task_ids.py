"""Which problem a sample means: by its id, by its number alone, or by a folder's name."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterable
from difflib import get_close_matches
from typing import Any

from flyteplugins_codegen.errors import RequestError
from flyteplugins_codegen.evaluation.values import Problem

_NUMBERED = re.compile(r".*\D(\d+)")


class TaskIds:
    """The ids of problems, and the other names that samples call them by."""

    def __init__(self, problems: Iterable[Problem]) -> None:
        self.all = tuple(problem.task_id for problem in problems)
        numbers = [match[1] for task_id in self.all if (match := _NUMBERED.fullmatch(task_id))]
        unique = {number for number, count in Counter(numbers).items() if count == 1}
        by_number = {match[1]: task_id for task_id in self.all if (match := _NUMBERED.fullmatch(task_id))}
        self._names = {number: task_id for number, task_id in by_number.items() if number in unique}
        self._names |= {task_id.replace("/", "_"): task_id for task_id in self.all}
        self._names |= {task_id: task_id for task_id in self.all}

    def named(self, name: Any) -> str | None:
        """The id that a name stands for: `2` and `Mbpp_2` for `Mbpp/2`; None where there is no such problem.

        A number stands for the only id that ends in it.
        """
        return self._names.get(str(name)) if isinstance(name, str | int) else None

    def unknown(self, place: str, name: Any) -> RequestError:
        """The error for a sample of no problem."""
        close = get_close_matches(str(name), self.all, 1) or self.all[:1]
        like = f"; did you mean {close[0]!r}?" if close else "."
        remedy = "Take such lines out of the file; load_samples leaves them out with unknown='skip'"
        return RequestError(f"{place}: there is no problem {name!r} among the {len(self.all)}{like} {remedy}")

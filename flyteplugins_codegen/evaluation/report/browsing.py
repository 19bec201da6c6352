"""What the page's script shows samples from: their ends and their code, as JSON that no page can mistake for markup."""

from __future__ import annotations

import json
from collections.abc import Iterable
from typing import Any, Final

from flyteplugins_codegen.errors import RequestError
from flyteplugins_codegen.evaluation.findings import Findings
from flyteplugins_codegen.evaluation.values import OUTCOMES, Sample
from flyteplugins_codegen.sandbox.failure_text import shortened

_MAX_CODE_CHARS: Final = 20_000  # of one sample
_MAX_PAGE_CHARS: Final = 16 << 20  # of all code in one page, each program counted once


def render_data(findings: Findings, samples: Iterable[Sample] | None) -> str:
    """The samples as JSON: `rows` by position, with the numbers of their task, outcome and code in the other lists.

    Raises RequestError where a given sample is of another problem than its result.
    """
    tasks = {task: number for number, task in enumerate(findings.scores)}
    codes = _Codes()
    numbers = {} if samples is None else _code_numbers(findings, samples, codes)
    rows = [
        [
            tasks[each.task_id],
            OUTCOMES.index(each.outcome),
            each.index,
            each.sample_id,
            each.reason,
            each.judged_by,
            round(each.cpu_s, 4),
            round(each.wall_s, 4),
            each.attempts,
            numbers.get(each.index),
        ]
        for each in findings.samples
    ]
    return _as_script({"tasks": list(tasks), "outcomes": OUTCOMES, "rows": rows, "codes": list(codes.numbers)})


class _Codes:
    """Each program once, until the page holds as much as a browser likes."""

    def __init__(self) -> None:
        self.numbers: dict[str, int] = {}
        self._room = _MAX_PAGE_CHARS

    def number(self, code: str) -> int | None:
        """Its number among them, None where there is no room for it."""
        code = shortened(code, _MAX_CODE_CHARS)
        if code not in self.numbers:
            if len(code) > self._room:
                return None
            self._room -= len(code)
        return self.numbers.setdefault(code, len(self.numbers))


def _code_numbers(findings: Findings, samples: Iterable[Sample], codes: _Codes) -> dict[int, int | None]:
    ends = {each.index: each for each in findings.samples}
    found: dict[int, int | None] = {}
    for index, sample in enumerate(samples):
        if index not in ends:
            continue
        if ends[index].task_id != sample.task_id:
            raise RequestError(
                f"{sample.place} is number {index}, and the result of that number is of {ends[index].task_id!r}; "
                "give the samples that were evaluated, in their order"
            )
        found[index] = codes.number(sample.solution if sample.solution is not None else sample.completion or "")
    return found


def _as_script(data: dict[str, Any]) -> str:
    # Within a script element only `<` can begin its end, or a comment.
    return json.dumps(data, separators=(",", ":")).replace("<", "\\u003c")

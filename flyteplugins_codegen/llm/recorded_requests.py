"""Requests as they are recorded, and those of earlier versions recognised by what they ask for.

Prompts change from version to version. A request of an earlier version is the same request if its job and the
solution that it shows are the same; the fixed texts, the description of the data and that of failures may differ.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterable, Sequence
from functools import cached_property
from typing import Final, NamedTuple

from flyteplugins_codegen.models.base import Value
from flyteplugins_codegen.models.spending import Message, Purpose

_JOB: Final = "# Job\n"
_TASK: Final = "\n\n# What is asked for\nWrite "
_DATA: Final = "\n# Data\n## "
_CONTRACT: Final = "\n\nWrite solution.py, "  # in the system message of agents
_LEARNT: Final = "\n\n# Learnt from solutions that failed\n"
_NUMBER: Final = re.compile(r" This is attempt \d+\.(?=\n\n|$)")
_SAMPLE: Final = re.compile(r"^## ([A-Za-z]\w*) \(.*?(\d+) bytes\b", re.MULTILINE)
_SOLUTION: Final = re.compile(r"\n\n# solution\.py\n```python\n(.*?)\n```(?=\n\n# |\n\nInstalled: )", re.DOTALL)
_TESTS: Final = re.compile(r"\n\n# test_solution\.py\n```python\n(.*?)\n```(?=\n\n# |\n\nInstalled: )", re.DOTALL)


class RecordedRequest(Value):
    """The parts of a request that it is matched by."""

    purpose: Purpose
    reply_name: str
    attempt: int = 0
    messages: tuple[Message, ...]

    @property
    def text(self) -> str:
        """The conversation as a person reads it."""
        return "\n".join(f"[{message.role}]\n{message.text}" for message in self.messages)


class Substance(NamedTuple):
    """What a request asks for. Requests with another `key` are different ones.

    `tests` are the tests that it shows, "" if it does not show all of them. `text` is the rest, which tells requests
    apart that are the same in everything else.
    """

    key: tuple[object, ...]
    tests: str
    text: str

    @property
    def words(self) -> Counter[str]:
        """The words of the text."""
        return Counter(self.text.split())


def substance_of(request: RecordedRequest) -> Substance | None:
    """What a request of a job asks for; None for any other request, such as one about a function."""
    system, *conversation = request.messages
    if not conversation or not conversation[0].content.startswith(_JOB):
        return None
    job, _, task = conversation[0].content.rpartition(_TASK)
    if not job:  # an agent's, whose system message says what is asked for
        job, task = task, ""
    description, _, data = job.rpartition(_DATA)
    samples = frozenset(_SAMPLE.findall(f"## {data}"))
    solution, tests = _SOLUTION.search(task), _TESTS.search(task)
    said = [(message.content, message.tool_calls) for message in conversation if message.role == "assistant"]
    answered = [message.text for message in conversation[1:] if message.role != "assistant"]
    # A draft that is asked for later is another one: after failures, or to decide between two.
    is_later = _NUMBER.search(task) is not None, _LEARNT in task
    key = (
        (request.purpose, request.reply_name, request.attempt, is_later),
        system.content.partition(_CONTRACT)[0],
        description or job,
        samples if description else frozenset(),
        solution[1] if solution else "",
        repr(said),
    )
    return Substance(key, tests[1] if tests else "", "\n".join([task, *answered]))


class EarlierRequests:
    """The requests of earlier versions in a recording, in its order."""

    def __init__(self, requests: Iterable[RecordedRequest]) -> None:
        self._requests = tuple(requests)

    def find(self, request: RecordedRequest) -> RecordedRequest | None:
        """The earlier request that asks for the same; None if there is none.

        Of several the one whose words are most like those of the request, and of equals the last.
        """
        wanted = substance_of(request) if self._requests else None
        if wanted is None:
            return None
        found: Sequence[tuple[Substance, RecordedRequest]] = self._by_key.get(wanted.key, ())
        same = [pair for pair in found if not (pair[0].tests and wanted.tests) or pair[0].tests == wanted.tests]
        words = wanted.words
        return max(reversed(same), key=lambda pair: _likeness(pair[0].words, words), default=(None, None))[1]

    @cached_property
    def _by_key(self) -> dict[tuple[object, ...], list[tuple[Substance, RecordedRequest]]]:
        by_key: dict[tuple[object, ...], list[tuple[Substance, RecordedRequest]]] = {}
        for request in self._requests:
            substance = substance_of(request)
            if substance is not None:
                by_key.setdefault(substance.key, []).append((substance, request))
        return by_key


def _likeness(words: Counter[str], others: Counter[str]) -> float:
    """The share of words that two texts have in common, without their order."""
    either = (words | others).total()
    return (words & others).total() / either if either else 1.0

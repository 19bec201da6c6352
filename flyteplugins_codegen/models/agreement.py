"""How candidates stand to each other: who does the same, and an input on which they differ."""

from __future__ import annotations

from flyteplugins_codegen.models.base import Value


class Group(Value):
    """Attempts, by number, that left the same outputs and passed the same generated tests.

    `passed` and `failed` are the names of these tests. `score` is higher the more candidates agree and the more tests
    they pass (see `stages.candidates.grouping`).
    """

    attempts: tuple[int, ...]
    passed: tuple[str, ...] = ()
    failed: tuple[str, ...] = ()
    score: float

    @property
    def passes_all(self) -> bool:
        """Whether no generated test speaks against it."""
        return not self.failed


class Answer(Value):
    """What some of the candidates make of an input, shortened to be read."""

    attempts: tuple[int, ...]
    text: str


class Disagreement(Value):
    """An input on which candidates differ that pass everything the user gave, and what each group makes of it.

    `case` is `samples`, `example 1`, or the name of a generated test; `input` says what the input is.
    """

    case: str
    input: str
    answers: tuple[Answer, ...]

    def __str__(self) -> str:
        """Where they differ, and a line for each answer."""
        lines = [f"  {_told_attempts(answer.attempts)}: {answer.text}" for answer in self.answers]
        return "\n".join([f"candidates differ on {self.case} ({self.input}):", *lines])


def _told_attempts(numbers: tuple[int, ...]) -> str:
    return f"attempt{'s' if len(numbers) > 1 else ''} {', '.join(map(str, numbers))}"

"""The sentences in `tests/data/constraints/`: what each of them states, and whether rules say the same."""

from __future__ import annotations

import datetime as dt
import re
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from flyteplugins_codegen.models.data import Rule

FOLDER = Path(__file__).parents[1] / "data" / "constraints"
_SIGNS = re.compile(r"(>=|<=|>|<)(\S+)")
_MIRRORED = {">": "<", ">=": "<=", "<": ">", "<=": ">="}


@dataclass(frozen=True)
class Phrasing:
    """A sentence about `tables` with the rules that it states; `stated` is empty where it states none."""

    line: int
    tables: tuple[str, ...]
    text: str
    stated: tuple[str, ...]

    def is_said_by(self, rules: Iterable[Rule]) -> bool:
        """Whether the rules say the same as the sentence: no more, and no less."""
        said = [part for rule in rules for part in _parts(rule)]
        for condition in self.stated:
            for wanted in _wanted(*(*condition.split(maxsplit=2), "")[:3]):
                match = next((part for part in said if _is_same(wanted, part)), None)
                if match is None:
                    return False
                said.remove(match)
        return not said


def read_corpus(path: Path = FOLDER / "phrasings.txt") -> list[Phrasing]:
    """All lines of the corpus."""
    return list(_read(path.read_text(encoding="utf-8")))


def _read(text: str) -> Iterator[Phrasing]:
    for number, line in enumerate(text.splitlines(), 1):
        if line and not line.startswith("#"):
            tables, sentence, stated = line.split(" :: ")
            conditions = () if stated == "none" else tuple(part.strip() for part in stated.split(" ; "))
            yield Phrasing(number, tuple(tables.split(",")), sentence, conditions)


Part = tuple[Any, ...]
"""What a rule says of a column, in one form: each end of a range is a part of its own."""


def _parts(rule: Rule) -> list[Part]:
    if rule.kind in {"range", "length"}:
        low = (">" if rule.excludes_minimum else ">=", rule.minimum)
        high = ("<" if rule.excludes_maximum else "<=", rule.maximum)
        ends = [(sign, str(end)) for sign, end in (low, high) if end is not None]
        return _ends(rule.column, rule.kind, ends)
    if rule.kind in {"one_of", "none_of"}:
        return [(rule.column, rule.kind, frozenset(map(_plain, rule.values)))]
    if rule.kind == "order":
        return [_order(rule.column, rule.comparison, rule.other_column)]
    return [(rule.column, rule.kind, {"matches": rule.pattern, "type": rule.type}.get(rule.kind, ""))]


def _wanted(column: str, kind: str, argument: str) -> list[Part]:
    if kind in {"range", "length"}:
        return _ends(column, kind, _SIGNS.findall(argument))
    if kind in {"one_of", "none_of"}:
        return [(column, kind, frozenset(map(_plain, argument.split("|"))))]
    return [_order(column, *argument.split())] if kind == "order" else [(column, kind, argument)]


def _is_same(wanted: Part, said: Part) -> bool:
    if wanted[1] == "matches":
        return said[:2] == wanted[:2] and _fits(said[2], wanted[2])
    return said == wanted


def _ends(column: str, kind: str, ends: list[tuple[str, str]]) -> list[Part]:
    """The ends of a range; of days and lengths, an excluded end is the next one, and two equal ends are one value."""
    plain = [(sign, _plain(end)) for sign, end in ends]
    if kind == "range" and sorted(sign for sign, _ in plain) == ["<=", ">="] and plain[0][1] == plain[1][1]:
        return [(column, "one_of", frozenset({plain[0][1]}))]
    parts: list[Part] = []
    for sign, end in plain:
        step: Any = dt.timedelta(1) if isinstance(end, dt.date) else 1 if kind == "length" else None
        is_next = step is not None and not sign.endswith("=")
        moved = (end + step if sign == ">" else end - step) if is_next else end
        parts.append((column, kind, f"{sign}=" if is_next else sign, moved))
    return parts


def _order(column: str, sign: str, other: str) -> Part:
    """A comparison of two columns, the first by the alphabet on its left."""
    return (column, sign, other) if column < other else (other, _MIRRORED.get(sign, sign), column)


def _fits(pattern: str, argument: str) -> bool:
    accepted, refused = argument.removeprefix("yes=").split(" no=")
    return all(re.fullmatch(pattern, text) for text in accepted.split(",")) and not any(
        re.fullmatch(pattern, text) for text in refused.split(",")
    )


def _plain(text: str) -> Any:
    try:
        return float(text)
    except ValueError:
        pass
    try:
        moment = dt.datetime.fromisoformat(text.replace("Z", "+00:00"))
    except ValueError:
        return text
    return str(moment) if len(text) > len("2020-01-01") else moment.date()

"""How many constraints, as people write them, are read, and how many of these wrongly."""

from __future__ import annotations

from functools import cache

import pytest
from constraint_corpus import FOLDER, Phrasing, read_corpus

from flyteplugins_codegen.data.constraints.facts import ColumnFacts, table_facts
from flyteplugins_codegen.data.constraints.grammar import read_constraint
from flyteplugins_codegen.data.constraints.terms import Vocabulary
from flyteplugins_codegen.data.profile import profile_sample
from flyteplugins_codegen.models.data import Rule

SETS = {"phrasings.txt": (745, 0.95), "second.txt": (200, 0.9), "third.txt": (150, 0.9)}
"""For each set, how many sentences it has at least, and what share of the rules must be read."""
PRECISION = 0.995


@cache
def facts_of(table: str) -> dict[str, ColumnFacts] | None:
    """The facts of a table; None for `report`, an output that is not written yet."""
    path = FOLDER / "tables" / f"{table}.csv"
    return table_facts(profile_sample(path, table), path) if path.exists() else None


def rules_of(phrasing: Phrasing) -> tuple[Rule, ...]:
    tables = {table: facts_of(table) for table in phrasing.tables}
    return read_constraint(phrasing.text, Vocabulary(tables)).rules


@pytest.mark.parametrize("name", SETS)
def test_what_is_read_is_what_the_sentence_states(name: str) -> None:
    least, recall = SETS[name]
    corpus = read_corpus(FOLDER / name)
    read = {phrasing: rules for phrasing in corpus if (rules := rules_of(phrasing))}
    wrong = [
        f"{phrasing.text!r}: {'; '.join(f'{rule.column} {rule.text}' for rule in rules)}"
        for phrasing, rules in read.items()
        if not (phrasing.stated and phrasing.is_said_by(rules))
    ]
    stating = sum(bool(phrasing.stated) for phrasing in corpus)
    right = len(read) - len(wrong)
    assert len(corpus) >= least
    assert right >= PRECISION * len(read), wrong
    assert right >= recall * stating


def test_a_rule_is_compared_with_the_sentence_not_taken_for_it() -> None:
    phrasing = Phrasing(1, ("t",), "a from 1 up to 5, b after c", ("a range >=1 <=5", "b order > c"))
    low, high = Rule(column="a", kind="range", minimum=1), Rule(column="a", kind="range", maximum=5)
    order = Rule(column="c", kind="order", comparison="<", other_column="b")
    assert phrasing.is_said_by((low, high, order))
    assert not phrasing.is_said_by((low, order))
    assert not phrasing.is_said_by((low, high, order, order))
    assert not phrasing.is_said_by((low, high.model_copy(update={"excludes_maximum": True}), order))

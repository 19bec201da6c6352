"""Extraction held to replies as models write them."""

from __future__ import annotations

import pytest
from replies import Expectation, expectations

from flyteplugins_codegen.source.blocks import extract_code

SPECIFICATION, DEVELOPMENT, HELD_OUT = map(expectations, ("specification", "development", "held_out"))


def wrong(part: list[Expectation]) -> list[str]:
    return [name for name, reply, blocks in part if extract_code(reply) != blocks]


def test_the_parts_are_large_enough_and_half_is_held_out() -> None:
    tuned_on = SPECIFICATION + DEVELOPMENT
    assert len(tuned_on) + len(HELD_OUT) >= 270
    assert len(HELD_OUT) >= len(tuned_on)
    assert len({name for name, *_ in tuned_on + HELD_OUT}) == len(tuned_on + HELD_OUT)


@pytest.mark.parametrize("expected", SPECIFICATION, ids=lambda expected: expected.name)
def test_every_example_of_the_specification_is_read_as_it_says(expected: Expectation) -> None:
    assert extract_code(expected.reply) == expected.blocks


@pytest.mark.parametrize(("part", "share"), [(DEVELOPMENT, 0.99), (HELD_OUT, 0.95)], ids=["development", "held out"])
def test_nearly_every_reply_gives_exactly_its_blocks(part: list[Expectation], share: float) -> None:
    assert len(wrong(part)) <= (1 - share) * len(part), wrong(part)

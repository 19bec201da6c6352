"""The benchmark's own arithmetic, and that its scripts say what each side can read."""

from __future__ import annotations

import json

import pytest

from benchmarks.figures import Figure, Target
from benchmarks.job import RIGHT, TESTS, WRONG
from benchmarks.scenarios import (
    CONSTRAINED,
    KILLED,
    LOGIC_REPAIR,
    MISSING_FIRST,
    MISSING_LATE,
    NEVER_RIGHT,
    RIGHT_FIRST_TIME,
    Scenario,
    script,
)
from benchmarks.table import render_json, render_table
from flyteplugins_codegen.llm.replies import ConstraintsReply, RepairReply, SolutionReply, TestsReply
from flyteplugins_codegen.source.edits import apply_edits

SCENARIOS = [RIGHT_FIRST_TIME, LOGIC_REPAIR, MISSING_LATE, MISSING_FIRST, KILLED, NEVER_RIGHT, CONSTRAINED]


def test_a_target_of_a_ratio_is_judged_by_the_ratio() -> None:
    target = Target("at most 0.7 of the peer", 0.7, "ratio")
    assert Figure("time", "s", peer=2.0, ours=1.4, target=target).is_met is True
    assert Figure("time", "s", peer=2.0, ours=1.5, target=target).is_met is False


def test_a_target_of_ours_is_judged_by_ours_whatever_the_peer_does() -> None:
    assert Figure("calls", "", peer=0, ours=2, target=Target("at most 2", 2)).is_met is True
    assert Figure("calls", "", peer=9, ours=3, target=Target("at most 2", 2)).is_met is False


def test_a_figure_without_a_target_is_neither_met_nor_missed() -> None:
    assert Figure("bytes", "B", peer=10, ours=5).is_met is None


def test_a_missed_target_shows_in_the_table_and_in_the_json() -> None:
    figure = Figure("calls", "", peer=9, ours=3, target=Target("at most 2", 2))
    assert "| NO " in render_table([figure])
    assert json.loads(render_json([figure], {}))["figures"][0]["is_met"] is False


@pytest.mark.parametrize("scenario", SCENARIOS, ids=lambda scenario: scenario.name)
def test_our_replies_are_of_the_forms_that_we_ask_for(scenario: Scenario) -> None:
    replies = script("ours", scenario, range(2))
    forms = (SolutionReply, TestsReply, RepairReply, ConstraintsReply)
    by_name = {form.__name__: form for form in forms}
    parsed = [by_name[name].model_validate(reply) for name, items in replies.items() for reply in items]
    assert len(parsed) >= 4
    codes = [reply.code for reply in parsed if isinstance(reply, SolutionReply)]
    assert len(codes) == len(set(codes)) >= 2


def test_the_repair_makes_the_wrong_draft_right() -> None:
    reply = RepairReply.model_validate(script("ours", LOGIC_REPAIR, range(1))["RepairReply"][0])
    assert apply_edits(WRONG, [(edit.search, edit.replace) for edit in reply.edits]) == RIGHT


def test_both_sides_get_the_same_code_and_tests() -> None:
    peer, ours = (script(side, RIGHT_FIRST_TIME, range(1)) for side in ("peer", "ours"))
    assert peer["CodeSolution"][0]["code"] == ours["SolutionReply"][0]["code"]
    assert peer["*"][0] == ours["TestsReply"][0]["test_code"]
    assert ours["TestsReply"][0]["test_code"].startswith(TESTS)

"""Constraints become schemas: by the grammar, by one call for the rest, and checked on the samples first."""

from __future__ import annotations

import json
import logging
import textwrap
from pathlib import Path
from typing import Any

import pytest
from model_server import ModelServer
from row_count_job import OUTPUTS, TESTS, solution

from flyteplugins_codegen import AutoCoderAgent
from flyteplugins_codegen.errors import DataError

TABLE = "id,quantity,price,start,end,status\n1,2,3.5,2024-01-01,2024-01-02,paid\n2,-1,1,2024-01-05,2024-01-03,open\n"
NO_RULE: dict[str, Any] = {
    "minimum": None,
    "maximum": None,
    "excludes_minimum": False,
    "excludes_maximum": False,
    "values": [],
    "pattern": None,
    "comparison": None,
    "other_column": None,
    "type": None,
}


@pytest.fixture
def table(tmp_path: Path) -> Path:
    path = tmp_path / "table.csv"
    path.write_text(TABLE)
    return path


def generated(
    table: Path, *constraints: str, replies: list[Any] | None = None, **settings: Any
) -> tuple[Any, ModelServer]:
    script = {"SolutionReply": [solution()], "TestsReply": [TESTS], "ConstraintsReply": replies or []}
    with ModelServer(script) as server:
        agent = AutoCoderAgent(model="openai/m", api_base=server.url, cache="disable", **settings)
        return agent.generate("Count.", samples={"table": table}, outputs=OUTPUTS, constraints=constraints), server


def test_common_constraints_need_no_call_and_are_in_the_schema(table: Path) -> None:
    result, server = generated(table, "price must be positive", "status is one of open, paid", "table.id is unique")
    assert {call.name for call in server.calls} == {"SolutionReply", "TestsReply"}
    assert [constraint.read_by for constraint in result.constraints] == ["grammar"] * 3
    source = result.generated_schemas["table"]
    assert "'price': pa.Column(\"float64\", checks=[pa.Check.gt(0)])" in source
    assert "pa.Check.isin(['open', 'paid'])" in source


def test_a_constraint_that_the_sample_breaks_is_an_error_before_any_call(table: Path) -> None:
    with pytest.raises(DataError) as failure:
        generated(table, "quantity must be positive", "end after start", "price between 0 and 10")
    message = str(failure.value)
    assert (
        "'quantity must be positive': table: column 'quantity' must be more than 0: 1 row breaks this (row 2: '-1')"
        in message
    )
    assert "must be > start: 1 row breaks this (row 2: '2024-01-03', '2024-01-05')" in message
    assert "price" not in message
    assert "validation='warn'" in message


def test_by_warn_a_broken_constraint_is_logged_and_the_run_goes_on(
    table: Path, caplog: pytest.LogCaptureFixture
) -> None:
    with caplog.at_level(logging.WARNING, "flyteplugins_codegen"):
        result, _ = generated(table, "quantity must be positive", validation="warn")
    assert result.success
    assert "row 2: '-1'" in caplog.text


def test_the_rest_goes_to_the_model_in_one_call_and_nothing_is_guessed(table: Path) -> None:
    rule = NO_RULE | {"constraint": 2, "table": "table", "column": "price", "kind": "range", "minimum": "0.5"}
    result, server = generated(
        table,
        "price must be positive",
        "two prices of a day must not differ by half",
        "nothing is sold for less than fifty cents",
        replies=[{"rules": [rule]}],
    )
    (asked,) = [call for call in server.calls if call.name == "ConstraintsReply"]
    said = json.dumps(asked.body["messages"])
    assert "1. two prices" in said
    assert "must be positive" not in said
    assert "3.5" not in said
    first, second, third = result.constraints
    assert (first.read_by, second.read_by, third.read_by) == ("grammar", "model", "model")
    assert second.reason == "nothing in it can be checked row by row"
    assert (third.rules[0].minimum, third.rules[0].maximum) == (0.5, None)
    assert len(result.calls) == 3
    assert result.conversation_history[0]["purpose"] == "constraints"


def test_the_models_rule_is_tried_on_the_sample_and_shown(table: Path) -> None:
    rule = NO_RULE | {"constraint": 1, "table": "table", "column": "price", "kind": "range", "minimum": "2"}
    result, _ = generated(
        table, "nothing is cheap", "price must be positive", replies=[{"rules": [rule]}], validation="warn"
    )
    first, second = result.constraints
    assert (first.read_by, first.on_sample) == ("model", "1 row of the sample breaks it")
    assert second.on_sample == "no row of the sample breaks it"
    assert "price at least 2 (as the model reads it); 1 row of the sample breaks it" in result._page()


def test_a_rule_that_can_never_fail_is_not_applied_and_told(table: Path, caplog: pytest.LogCaptureFixture) -> None:
    never = NO_RULE | {
        "constraint": 1,
        "table": "table",
        "column": "start",
        "kind": "none_of",
        "values": ["the future"],
    }
    with caplog.at_level(logging.WARNING, "flyteplugins_codegen"):
        result, _ = generated(table, "start is not in the future", replies=[{"rules": [never]}])
    (constraint,) = result.constraints
    assert not constraint.rules
    assert constraint.reason == "not checked: start none of the future: no time is 'the future'"
    assert constraint.reason in caplog.text
    assert "not checked: start none of the future" in result._page()


WRONG = {
    "no such column": {"column": "cost", "kind": "not_null"},
    "no bound": {"column": "price", "kind": "range"},
    "no number": {"column": "price", "kind": "range", "minimum": "cheap"},
    "a number for a date": {"column": "start", "kind": "range", "minimum": "2024"},
    "a date for a number": {"column": "price", "kind": "range", "minimum": "2024-01-01"},
    "no pattern": {"column": "status", "kind": "matches", "pattern": "(a+)+"},
}


@pytest.mark.parametrize("fault", WRONG)
def test_a_wrong_rule_is_asked_for_again_and_then_not_applied(fault: str, table: Path) -> None:
    wrong = {"rules": [NO_RULE | {"constraint": 1, "table": "table"} | WRONG[fault]]}
    result, server = generated(table, "prices are as on the list", replies=[wrong, wrong])
    assert sum(call.name == "ConstraintsReply" for call in server.calls) == 2
    assert not result.constraints[0].rules
    assert "no usable reading" in result.constraints[0].reason
    assert result.success


def test_constraints_of_an_output_become_its_schema(table: Path) -> None:
    code = textwrap.dedent(
        """
        import argparse

        def main(argv=None):
            argparse.ArgumentParser().parse_known_args(argv)
            open("/var/outputs/report", "w").write("total\\n5\\n")

        if __name__ == "__main__":
            main()
        """
    )
    script = {"SolutionReply": [solution() | {"code": code}]}
    with ModelServer(script) as server:
        agent = AutoCoderAgent(model="openai/m", api_base=server.url, cache="disable", skip_tests=True)
        result = agent.generate(
            "Report.",
            samples={"table": table},
            outputs={"report": "file"},
            constraints=["report.total must be positive"],
        )
    assert "total" in result.generated_schemas["report"]

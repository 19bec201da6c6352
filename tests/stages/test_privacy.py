"""Every byte that is sent to a model, in whole runs with repairs, is searched for values planted in the data."""

from __future__ import annotations

import csv
import json
import textwrap
from pathlib import Path
from typing import Any

import pytest
from model_server import ModelServer

from flyteplugins_codegen import AutoCoderAgent

# Concatenated, so that this file has nothing that looks like a credential.
KEY = "AKI" + "A" + "Q7LMX0VKC9RB2WPS"
ROWS = [
    {"name": "Zebulon Quxley", "email": "zeb.quxley@planted.example", "phone": "+49 30 901820", "pay": "98431"},
    {"name": "Mirabel Xanthos", "email": "mira@planted.example", "phone": "+49 40 771200", "pay": "77123"},
    {"name": "Oswin Yarrow", "email": "oswin@planted.example", "phone": "+49 89 660011", "pay": "65008"},
]
FIELDS: list[dict[str, str]] = [
    {**row, "card": "4111 1111 1111 1111", "ip": "203.0.113.77", "token": KEY, "city": "Bonn"} for row in ROWS
]
PERSONAL = ["planted.example", "901820", "771200", "660011", "4111 1111 1111 1111", "203.0.113.77"]
PRIVATE = ["Zebulon", "Quxley", "Mirabel", "Xanthos", "Oswin", "Yarrow", "98431", "77123", "65008"]
# It fails with a whole row in its message, then with rows on stderr, then it works.
CODE = textwrap.dedent(
    """
    import argparse, csv, sys

    def rows_of(path):
        with open(path) as file:
            return list(csv.DictReader(file))

    def main(argv=None):
        parser = argparse.ArgumentParser()
        parser.add_argument("--staff")
        rows = rows_of(parser.parse_args(argv).staff)
        FAULT
        open("/var/outputs/n", "w").write(str(len(rows)))

    if __name__ == "__main__":
        main()
    """
).lstrip()
FAULTS = [
    "raise ValueError(f'cannot read {rows[0]} of {list(rows[1].values())}')",
    "print(*rows, file=sys.stderr); sys.exit(3)",
    "pass",
]


def solution(fault: str) -> dict[str, Any]:
    code = CODE.replace("FAULT", fault)
    return {"description": "d", "approach": "a", "code": code, "packages": [], "system_packages": []}


def repair(fault: str) -> dict[str, Any]:
    nothing: dict[str, Any] = {"edits": [], "test_code": None, "packages": [], "system_packages": []}
    return {"cause": "c", "error_type": "logic", "code": CODE.replace("FAULT", fault), **nothing}


@pytest.fixture
def staff(tmp_path: Path) -> Path:
    path = tmp_path / "staff.csv"
    with path.open("w", newline="") as file:
        writer = csv.DictWriter(file, list(FIELDS[0]))
        writer.writeheader()
        writer.writerows(FIELDS * 2 + FIELDS[:1])
    return path


def sent(staff: Path, first_fault: str = FAULTS[0], **settings: Any) -> tuple[str, Any]:
    """Everything that the server received in a run with two repairs, and the result."""
    script = {"SolutionReply": [solution(first_fault)], "RepairReply": [repair(fault) for fault in FAULTS[1:]]}
    with ModelServer(script) as server:
        agent = AutoCoderAgent(
            model="openai/m", api_base=server.url, skip_tests=True, cache="disable", validation="off", **settings
        )
        result = agent.generate(
            f"Count the rows. Our key is {KEY}.",
            samples={"staff": staff},
            outputs={"n": int},
            constraints=["name is unique"],
        )
    assert result.success, result.output
    assert [call.name for call in server.calls] == ["SolutionReply", "RepairReply", "RepairReply"]
    return "\n".join(json.dumps(call.body, ensure_ascii=False) + str(call.headers) for call in server.calls), result


def test_nothing_personal_reaches_the_model_by_default(staff: Path) -> None:
    text, result = sent(staff, private_columns=["name", "staff.pay"])
    assert not [value for value in [*PERSONAL, *PRIVATE, KEY] if value in text]
    assert "Bonn" in text
    assert "cannot read" in text
    assert set(result.masked["staff"].replaced) == {"name", "email", "phone", "pay", "card", "ip", "token"}
    assert "zeb.quxley@planted.example" in result.attempt_history[0].report.runs[0].cause.message


def test_rows_reach_the_model_unchanged_if_the_user_says_so_but_no_key(staff: Path) -> None:
    text, _ = sent(staff, privacy="rows", private_columns=["name"])
    assert all(value in text for value in [*PERSONAL, *PRIVATE])
    assert KEY not in text


def test_by_profile_no_rare_value_reaches_the_model(staff: Path) -> None:
    text, _ = sent(staff, privacy="profile", private_rows=4)
    assert not [value for value in [*PERSONAL, *PRIVATE, KEY] if value in text]
    assert "Bonn" in text


def test_a_part_of_a_private_value_is_shown_only_by_its_length(staff: Path) -> None:
    parts = "mail, domain = rows[0]['email'].split('@'); n = len(rows); raise ValueError('no such mail')"
    text, _ = sent(staff, parts, private_columns=["name", "staff.pay"])
    assert "no such mail" in text
    assert "mail = <str of 10>; domain = <str of 15>; n = 7" in text
    assert not [value for value in PERSONAL + PRIVATE if value.lower() in text.lower()]


def test_by_profile_no_variable_shows_a_part_of_a_sample(staff: Path) -> None:
    parts = "mail, domain = rows[0]['email'].split('@'); raise ValueError('no such mail')"
    text, _ = sent(staff, parts, privacy="profile")
    assert "no such mail" in text
    assert not [value for value in PERSONAL + PRIVATE if value.lower() in text.lower()]


def test_an_unchanged_sample_has_the_same_fakes_at_every_run(staff: Path) -> None:
    first, second = sent(staff)[1], sent(staff)[1]
    assert first.data_context == second.data_context

"""An agent's tools show a model only what `privacy` allows of a sample."""

from __future__ import annotations

import textwrap
from pathlib import Path

import pytest
from agent_turns import SUBMIT, answers, sent, turn, write

FIELDS = "name,email,pay,city\n"
ROWS = "Zebulon Quxley,zeb.quxley@planted.example,98431,Bonn\nMirabel Xanthos,mira@planted.example,77123,Bonn\n"
PLANTED = ["planted.example", "Zebulon", "Quxley", "Mirabel", "Xanthos", "98431", "77123"]
CODE = textwrap.dedent(
    """
    import argparse
    import sys
    from pathlib import Path

    def main(argv=None):
        parser = argparse.ArgumentParser()
        parser.add_argument("--staff")
        text = Path(parser.parse_args(argv).staff).read_text()
        print(text)
        print(text.splitlines(), file=sys.stderr)
        FAULT
        Path("/var/outputs/n").write_text(str(len(text.splitlines()) - 1))
        Path("/var/outputs/head").write_text(text)

    if __name__ == "__main__":
        main()
    """
).lstrip()


@pytest.fixture
def staff(tmp_path: Path) -> Path:
    path = tmp_path / "staff.csv"
    path.write_text(FIELDS + ROWS)
    return path


@pytest.fixture
def spy(work, staff):
    """An agent that reads the sample, prints it, writes it to an output, fails with it, and submits that."""

    def run(fault="raise ValueError(text)", **settings):
        failing = CODE.replace("FAULT", fault)
        return work(
            turn(("list", {}), ("read", {"path": "samples/staff"})),
            turn(write("solution.py", CODE.replace("FAULT", "pass")), ("run_on_sample", {}), ("run_tests", {})),
            turn(write("solution.py", failing), ("run_on_sample", {}), ("run_tests", {}), SUBMIT),
            turn(write("solution.py", CODE.replace("FAULT", "pass")), SUBMIT),
            samples={"staff": staff},
            outputs={"n": int, "head": "file"},
            skip_tests=True,
            validation="off",
            **settings,
        )

    return run


def test_by_default_private_values_are_replaced_in_all_that_tools_answer(spy):
    result, server = spy(private_columns=["name", "pay"])
    assert result.success, result.output
    assert not [value for value in PLANTED if value in sent(server)]
    results = answers(server)
    assert "Bonn" in results[0][1]
    assert "Bonn" in results[1][1]
    assert "ValueError" in results[2][1]


def test_by_profile_neither_rows_nor_output_are_shown(spy):
    result, server = spy(privacy="profile", private_rows=3)
    assert result.success, result.output
    assert not [value for value in [*PLANTED, "Bonn"] if value in sent(server)]
    results = answers(server)
    assert "no row of it may be shown" in results[0][1]
    assert "left out by privacy='profile'" in results[1][1]


@pytest.mark.parametrize("fault", ["raise ValueError(text[::-1])", "turned = text[::-1]; sys.exit(turned)"])
def test_by_profile_a_failure_shows_its_line_but_no_text_of_the_program(spy, fault):
    result, server = spy(fault, privacy="profile", private_rows=3)
    assert result.success, result.output
    assert not [value for value in PLANTED if value[::-1] in sent(server)]
    assert "it failed" in answers(server)[2][1]


def test_rows_are_shown_unchanged_if_the_user_says_so(spy):
    _, server = spy(privacy="rows")
    assert all(value in sent(server) for value in PLANTED)

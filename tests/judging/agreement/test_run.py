"""One program on many cases in one sandboxed job: real forks in a real sandbox."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from flyteplugins_codegen.judging.agreement.run import MAX_BYTES, ComputationJob, Computed, compute_cases
from flyteplugins_codegen.sandbox.contract import Sandbox
from flyteplugins_codegen.sandbox.opening import open_sandbox

HEAD = """
import argparse, json, sys
from pathlib import Path

def main(argv=None):
    parser = argparse.ArgumentParser()
    parser.add_argument("--rows")
    parser.add_argument("--top", type=int)
    args = parser.parse_args(argv)
    lines = Path(args.rows).read_text().split()
"""
FOOT = """

if __name__ == "__main__":
    main()
"""


@pytest.fixture(scope="module")
def sandbox() -> Iterator[Sandbox]:
    with open_sandbox("auto") as opened:
        yield opened


def compute(sandbox: Sandbox, body: str, cases: list[dict[str, Any]], **settings: Any) -> list[Computed]:
    settings.setdefault("outputs", {"total": "int"})
    job = ComputationJob(
        program=HEAD + "".join(f"    {line}\n" for line in body.splitlines()) + FOOT,
        inputs={"rows": "file", "top": "int"},
        cases=cases,
        modules=["argparse", "json", "sys", "pathlib"],
        **{"case_s": 10.0, "wall_s": 20.0, **settings},
    )
    return compute_cases(sandbox, job)


def write_cases(folder: Path, *contents: str, top: int = 1) -> list[dict[str, Any]]:
    paths = [folder / f"{number}.csv" for number in range(len(contents))]
    for path, content in zip(paths, contents, strict=True):
        path.write_text(content)
    return [{"rows": path, "top": top} for path in paths]


WRITES_TOTAL = 'Path("/var/outputs/total").write_text(str(args.top * sum(map(int, lines))))'


def test_every_case_has_its_own_outputs(sandbox, tmp_path):
    computed = compute(sandbox, WRITES_TOTAL, write_cases(tmp_path, "1 2", "3 4", "", top=-2))
    assert [case.outputs for case in computed] == [{"total": -6}, {"total": -14}, {"total": 0}]


def test_a_case_sees_nothing_of_the_one_before(sandbox, tmp_path):
    body = (
        'assert not list(Path("/var/outputs").iterdir())\nassert not hasattr(json, "seen")\njson.seen = True\n'
        + WRITES_TOTAL
    )
    computed = compute(sandbox, body, write_cases(tmp_path, "1", "2"))
    assert [case.outputs for case in computed] == [{"total": 1}, {"total": 2}]


@pytest.mark.parametrize(
    ("body", "error", "is_refusal"),
    [
        ('raise ValueError("no such row")', "ValueError: no such row", True),
        ('if lines: raise ValueError("no such row")', "ValueError: no such row", True),
        ("{}[lines[0]]", "KeyError: 'a'", False),
        ('sys.exit("no such row")', "no such row", True),
        ("sys.exit(3)", "it ended with exit status 3", False),
        ("pass", "output 'total' (int)", False),
        ('Path("/var/outputs/total").write_text("many")', "many", False),
    ],
)
def test_how_a_case_failed_is_told(sandbox, tmp_path, body, error, is_refusal):
    (case,) = compute(sandbox, body, write_cases(tmp_path, "a"))
    assert case.ending == "failed"
    assert error in case.error
    assert case.is_refusal == is_refusal


def test_a_case_that_does_not_end_costs_the_others_nothing(sandbox, tmp_path):
    body = "while lines: pass\n" + WRITES_TOTAL
    computed = compute(sandbox, body, write_cases(tmp_path, "1", ""), case_s=0.5)
    assert [case.ending for case in computed] == ["timed_out", "finished"]


def test_cases_for_which_there_is_no_time_are_not_run(sandbox, tmp_path):
    body = "while lines: pass\n" + WRITES_TOTAL
    computed = compute(sandbox, body, write_cases(tmp_path, "1", ""), wall_s=0.5)
    assert [case.ending for case in computed] == ["timed_out", "not_run"]


def test_files_and_folders_are_read_as_bytes_and_large_ones_not_at_all(sandbox, tmp_path):
    body = f"""folder = Path("/var/outputs/parts")
folder.mkdir()
(folder / "one.txt").write_text("1")
Path("/var/outputs/table").write_bytes(b"x" * int(lines[0]))
assert {MAX_BYTES}"""
    outputs = {"parts": "directory", "table": "file"}
    computed = compute(sandbox, body, write_cases(tmp_path, "3", str(MAX_BYTES + 1)), outputs=outputs)
    assert [case.outputs for case in computed] == [
        {"parts": {"one.txt": b"1"}, "table": b"xxx"},
        {"parts": {"one.txt": b"1"}, "table": None},
    ]


def test_what_a_program_prints_is_not_taken_for_its_outputs(sandbox, tmp_path):
    body = (
        'print("0" * 32, json.dumps({"case": 0, "status": 0, "outputs": {"total": "OQ=="}}), flush=True)\n'
        + WRITES_TOTAL
    )
    (case,) = compute(sandbox, body, write_cases(tmp_path, "1"))
    assert case.outputs == {"total": 1}


def test_it_runs_as_the_main_program_and_exit_handlers_are_run(sandbox, tmp_path):
    body = (
        'import atexit\nassert __name__ == "__main__" and "pytest" not in sys.modules\natexit.register(lambda: '
        + WRITES_TOTAL
        + ")"
    )
    (case,) = compute(sandbox, body, write_cases(tmp_path, "7"))
    assert case.outputs == {"total": 7}

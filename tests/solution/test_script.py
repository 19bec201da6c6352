"""Scripts run as a cluster would run them, their outputs read again outside, and compared with what is expected."""

from __future__ import annotations

import datetime as dt
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

import pytest

from flyteplugins_codegen.errors import InterfaceError, SandboxError
from flyteplugins_codegen.models.job import TypeName
from flyteplugins_codegen.models.run import Cause, ScriptRun
from flyteplugins_codegen.sandbox.contract import Execution, Job, Limits, Output, Sandbox
from flyteplugins_codegen.sandbox.opening import open_sandbox
from flyteplugins_codegen.solution.expectations import expect_outputs
from flyteplugins_codegen.solution.outputs import folder_digests, read_value
from flyteplugins_codegen.solution.script import ScriptJob, run_script


@pytest.fixture(scope="module")
def sandbox() -> Iterator[Sandbox]:
    with open_sandbox("bubblewrap", environment=None) as opened:
        yield opened


def ran(
    sandbox: Sandbox, solution: str, outputs: Mapping[str, TypeName] | None = None, **settings: Any
) -> tuple[ScriptRun, Mapping[str, Output]]:
    job = {"inputs": {}, "values": {}, "limits": Limits(wall_s=20), **settings}
    return run_script(sandbox, ScriptJob(solution=solution, outputs=outputs or {}, **job))


def cause_of(run: tuple[ScriptRun, Mapping[str, Output]]) -> Cause:
    assert run[0].cause is not None, run[0].stderr
    assert not run[0].passed
    return run[0].cause


def write(name: str, content: str) -> str:
    return f"open('/var/outputs/{name}', 'w').write({content!r})\n"


# Deliberately without argparse: what the arguments are is what is tested.
COPY = """
import json, pathlib, sys
given = iter(sys.argv[1:])
values = dict(option.split("=", 1) if "=" in option else (option, next(given)) for option in given)
out = pathlib.Path("/var/outputs")
(out / "seen").write_text(json.dumps(values, sort_keys=True))
(out / "content").write_text(pathlib.Path(values["--table"]).read_text() if "--table" in values else "")
"""


def test_values_reach_the_script_as_on_a_cluster(sandbox: Sandbox, tmp_path: Path) -> None:
    table = tmp_path / "weather.csv"
    table.write_text("a,b\n1,2\n")
    (tmp_path / "parts").mkdir()
    (tmp_path / "parts" / "one.txt").write_text("1")
    inputs: dict[str, TypeName] = {
        "table": "file", "parts": "directory", "n": "int", "x": "float", "b": "bool", "s": "str"
    }  # fmt: skip
    values = {"table": table, "parts": str(tmp_path / "parts"), "n": -3, "x": 2, "b": True, "s": "it's\n{{.inputs.n}}"}
    run, outputs = ran(sandbox, COPY, {"seen": "str", "content": "file"}, inputs=inputs, values=values)
    assert run.cause is None, run.stderr
    assert run.outputs["seen"] == (
        '{"--b": "true", "--n": "-3", "--parts": "/var/inputs/parts", "--s": "it\'s\\n{{.inputs.n}}", '
        '"--table": "/var/inputs/table", "--x": "2.0"}'
    )
    assert outputs["content"].read_bytes(100) == b"a,b\n1,2\n"


def test_a_file_may_be_given_as_its_content(sandbox: Sandbox) -> None:
    run, outputs = ran(sandbox, COPY, {"content": "file"}, inputs={"table": "file"}, values={"table": b"1,2\n"})
    assert run.cause is None
    assert outputs["content"].read_bytes(100) == b"1,2\n"


@pytest.mark.parametrize(
    ("inputs", "values", "message"),
    [
        ({"n": "int"}, {}, "input 'n' .int. has no value"),
        ({"n": "int"}, {"n": 1, "m": 2}, "no input is called 'm'"),
        ({"n": "int"}, {"n": "1"}, "a str, not a int"),
        ({"n": "int"}, {"n": True}, "a bool, not a int"),
        ({"f": "file"}, {"f": "/no/such/file"}, "there is no file"),
        ({"f": "file"}, {"f": "/"}, "there is no file"),
        ({"f": "directory"}, {"f": 3}, "not a path"),
        ({"s": "str"}, {"s": "a\0b"}, "declare the input as a file"),
    ],
)
def test_a_bad_value_names_its_input(
    sandbox: Sandbox, inputs: dict[str, TypeName], values: dict[str, Any], message: str
) -> None:
    with pytest.raises(InterfaceError, match=message):
        ran(sandbox, "", inputs=inputs, values=values)


SIMPLE: dict[str, TypeName] = {
    "n": "int", "x": "float", "y": "float", "b": "bool", "s": "str", "t": "datetime", "d": "timedelta"
}  # fmt: skip
TEXTS = {"n": "7\n", "x": "2.50", "y": "NaN", "b": "True", "s": " hi ", "t": "2024-01-31T08:00:00+02:00", "d": "90m"}


def test_outputs_are_told_as_small_values_and_can_be_read_as_their_types(sandbox: Sandbox) -> None:
    solution = "".join(write(name, text) for name, text in TEXTS.items()) + write("f", "x" * 1000)
    solution += "import os; os.mkdir('/var/outputs/p'); open('/var/outputs/p/a.csv', 'w').write('abc')\n"
    run, outputs = ran(sandbox, solution, {**SIMPLE, "f": "file", "p": "directory"})
    assert run.cause is None
    assert (run.status, run.exit_code) == ("exited", 0)
    file_summary = run.outputs.pop("f")
    assert run.outputs == {
        "n": 7, "x": 2.5, "y": "NaN", "b": True, "s": "hi", "t": "2024-01-31T06:00:00Z", "d": "1h30m0s",
        "p": {"files": {"a.csv": 3}, "count": 1, **folder_digests(outputs["p"].files)},
    }  # fmt: skip
    assert isinstance(file_summary, dict)
    assert (file_summary["size_bytes"], file_summary["head"]) == (1000, "x" * 500)
    assert read_value(outputs["t"], "datetime") == dt.datetime(2024, 1, 31, 6, tzinfo=dt.timezone.utc)
    assert read_value(outputs["d"], "timedelta") == dt.timedelta(minutes=90)


def test_a_binary_file_is_told_without_its_content(sandbox: Sandbox) -> None:
    run, _ = ran(sandbox, "open('/var/outputs/f', 'wb').write(bytes(range(256)))", {"f": "file"})
    summary = run.outputs["f"]
    assert isinstance(summary, dict)
    assert set(summary) == {"size_bytes", "sha256"}


# --- causes -----------------------------------------------------------------------------------------------------------


def test_a_missing_output_names_what_was_written_instead(sandbox: Sandbox) -> None:
    cause = cause_of(ran(sandbox, write("total.txt", "1"), {"total": "int"}))
    assert (cause.kind, cause.subject, cause.is_certain) == ("missing_output", "total", True)
    assert "'total.txt'" in cause.message


@pytest.mark.parametrize(
    ("type_name", "solution", "message"),
    [
        ("int", write("out", "3.0"), "base 10"),
        ("bool", write("out", "yes"), "'true' or 'false'"),
        ("datetime", write("out", "2024-01-01 00:00:00"), "no time zone"),
        ("timedelta", write("out", "1:30:00"), "duration"),
        ("str", write("out", "x" * 1025), "1024 bytes"),
        ("file", "import os; os.mkdir('/var/outputs/out')", "folder"),
        ("file", "import os; os.symlink('/etc/passwd', '/var/outputs/out')", "link"),
        ("directory", "import os; os.makedirs('/var/outputs/out/a'); open('/var/outputs/out/a/b', 'w')", "'a_b'"),
    ],
)
def test_an_output_of_another_type_is_invalid(
    sandbox: Sandbox, type_name: TypeName, solution: str, message: str
) -> None:
    cause = cause_of(ran(sandbox, solution, {"out": type_name}))
    assert (cause.kind, cause.subject) == ("invalid_output", "out")
    assert message in cause.message


def test_the_launcher_is_not_believed(sandbox: Sandbox) -> None:
    ends_it = "import os, signal\nos.kill(os.getppid(), signal.SIGKILL)\nos._exit(0)\n"
    assert cause_of(ran(sandbox, write("n", "x") + ends_it, {"n": "int"})).kind in {"exception", "invalid_output"}
    # The status by which the launcher says that an output is wrong, from a script whose outputs are right.
    cause = cause_of(ran(sandbox, write("n", "1") + "raise SystemExit(121)", {"n": "int"}))
    assert (cause.kind, "121" in cause.message) == ("exception", True)


def test_an_exception_is_told_by_its_last_traceback_the_same_at_every_run(sandbox: Sandbox) -> None:
    solution = "print('working')\ndef f(x):\n    raise ValueError(f'bad {object()} in {x}')\nf({'a', 'b', 'c'})\n"
    causes = {cause_of(ran(sandbox, solution)).model_dump_json() for _ in range(2)}
    assert len(causes) == 1
    run, _ = ran(sandbox, solution)
    cause = cause_of((run, {}))
    assert (cause.kind, cause.subject, run.stdout) == ("exception", "ValueError", "working")
    assert cause.message.startswith("the script ended with exit status 1\nTraceback")
    assert 'File "/app/solution.py", line 3' in cause.message
    assert "<object object at 0x...>" in cause.message


def test_a_syntax_error_shows_line_text_and_caret_and_nothing_runs(sandbox: Sandbox) -> None:
    run, outputs = ran(sandbox, "def f(:\n    pass\n", {"n": "int"})
    cause = cause_of((run, outputs))
    assert (cause.kind, cause.subject, cause.is_certain, run.status) == ("syntax_error", "solution.py", True, "not_run")
    assert cause.message.splitlines()[1:] == ["    def f(:", "          ^"]


@pytest.mark.parametrize(
    ("line", "expected"),
    [
        ("import no_such_module", ("missing_module", "no_such_module", True)),
        ("import no_such_module.part as p", ("missing_module", "no_such_module", True)),
        ("import json.no_such_part", ("exception", "ModuleNotFoundError", False)),
        ("try:\n    import no_such_module\nexcept ImportError: raise SystemExit('needs it')", ("exception", "", False)),
    ],
)
def test_a_module_that_is_missing_is_named(sandbox: Sandbox, line: str, expected: tuple[str, str, bool]) -> None:
    cause = cause_of(ran(sandbox, line))
    assert (cause.kind, cause.subject, cause.is_certain) == expected


def test_a_crash_is_told_by_its_signal(sandbox: Sandbox) -> None:
    assert "SIGABRT" in cause_of(ran(sandbox, "import os; os.abort()")).message


def test_a_script_that_does_not_end_is_timed_out(sandbox: Sandbox) -> None:
    cause = cause_of(ran(sandbox, "while True: pass", limits=Limits(wall_s=1)))
    assert (cause.kind, cause.message) == ("timed_out", "it had not ended after 1 s")


def test_a_script_that_leaves_too_many_files_is_told_so(sandbox: Sandbox) -> None:
    solution = "import os\nos.mkdir('/var/outputs/p')\nfor n in range(200): open(f'/var/outputs/p/{n}', 'w').close()"
    cause = cause_of(ran(sandbox, solution, {"p": "directory"}, limits=Limits(wall_s=20, output_files=100)))
    assert (cause.kind, "100 files" in cause.message) == ("output_limit", True)


class FailingSandbox:
    kind = "none"

    def run(self, _job: Job) -> Execution:
        return Execution(status="sandbox_error", message="no room on the disk")


def test_a_failure_of_the_sandbox_is_never_the_program_s() -> None:
    with pytest.raises(SandboxError, match="no room on the disk"):
        ran(FailingSandbox(), "")


# --- expectations -----------------------------------------------------------------------------------------------------


@pytest.fixture(scope="module")
def outputs(sandbox: Sandbox) -> Mapping[str, Output]:
    """What one script outputs, for every comparison below."""
    solution = "".join(write(name, text) for name, text in TEXTS.items()) + write("f", "a,b\n1,2\n\n")
    solution += "import os; os.mkdir('/var/outputs/p'); open('/var/outputs/p/a', 'w').write('abc\\n')\n"
    run, outputs = ran(sandbox, solution, {**SIMPLE, "f": "file", "p": "directory"})
    assert run.cause is None
    return outputs


TYPES: dict[str, TypeName] = {**SIMPLE, "f": "file", "p": "directory"}


@pytest.mark.parametrize(
    ("name", "expected"),
    [
        ("n", 7),
        ("x", 2.5),
        ("x", 2.5 + 1e-10),
        ("y", "NaN"),
        ("y", float("nan")),
        ("b", True),
        ("s", "hi"),
        ("s", "hi\n"),
        ("t", "2024-01-31T06:00:00Z"),
        ("t", "2024-01-31T07:00:00+01:00"),
        ("d", "5400s"),
        ("f", "a,b\n1,2"),
        ("f", "a,b\n1,2\n"),
        ("f", {"base64": "YSxiCjEsMgoK"}),
        ("p", {"a": "abc"}),
    ],
)
def test_what_is_equal_by_value_is_as_expected(outputs: Mapping[str, Output], name: str, expected: Any) -> None:
    assert expect_outputs(outputs, {name: expected}, TYPES) is None


@pytest.mark.parametrize(
    ("name", "expected", "message"),
    [
        ("n", 8, "expected 8, found 7"),
        ("n", 7.0, "expected 7.0, found 7"),
        ("n", "7", "expected '7', found 7"),
        ("x", 2.5 + 1e-8, "found 2.5"),
        ("y", 1.0, "found nan"),
        ("x", 10**400, "found 2.5"),
        ("b", 1, "expected 1, found True"),
        ("s", "Hi", "expected 'Hi', found 'hi'"),
        ("t", "2024-01-31T08:00:00Z", "found '2024-01-31T06:00:00Z'"),
        ("t", "2024-01-31", "expected '2024-01-31'"),
        ("d", "1h", "found '1h30m0s'"),
        ("f", "a,b\n1,3\n", "line 2: expected '1,3', found '1,2'"),
        ("f", "a,b", "line 2: expected no such line, found '1,2'"),
        ("f", 7, "which is no text"),
        ("f", {"base64": "YSxi"}, "expected 3 bytes, found 9; they differ from byte 3 on"),
        ("p", {"a": "abd"}, "file 'a': line 1"),
        ("p", {"b": "abc"}, "expected the files ['b'], found ['a']"),
    ],
)
def test_what_differs_is_shown_with_both_sides(
    outputs: Mapping[str, Output], name: str, expected: Any, message: str
) -> None:
    cause = expect_outputs(outputs, {name: expected}, TYPES)
    assert cause is not None
    assert (cause.kind, cause.subject) == ("wrong_output", name)
    assert message in cause.message


@pytest.mark.parametrize(
    ("content", "expected", "message"),
    [
        (b"abc" + b"\n" * 5_000 + b"JUNK", "abc", "expected 3 bytes, found 5007; it goes on after the text"),
        (b"a\xff\n", "a\ufffd", "line 1: expected 'a\ufffd', found 'a\\\\xff'"),
        (b"a", "a\ud800", "line 1"),
    ],
)
def test_a_file_is_equal_to_its_text_alone(tmp_path: Path, content: bytes, expected: str, message: str) -> None:
    (tmp_path / "f").write_bytes(content)
    output = Output("f", is_directory=False, size_bytes=len(content), files={"f": tmp_path / "f"})
    cause = expect_outputs({"f": output}, {"f": expected}, {"f": "file"})
    assert cause is not None
    assert message in cause.message


def test_all_outputs_that_differ_are_told_in_the_examples_order(outputs: Mapping[str, Output]) -> None:
    cause = expect_outputs(outputs, {"s": "Hi", "x": 2.5, "n": 8, "b": True}, TYPES)
    assert cause is not None
    assert cause.subject == "s"
    assert cause.message == "output 's': expected 'Hi', found 'hi'\noutput 'n': expected 8, found 7"


def test_a_long_difference_is_shortened(outputs: Mapping[str, Output]) -> None:
    cause = expect_outputs(outputs, {"f": "x" * 100_000}, TYPES)
    assert cause is not None
    assert len(cause.message) < 1000

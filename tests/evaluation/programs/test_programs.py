"""Programs in every language: correct ones pass, and others fail for the right cause."""

from __future__ import annotations

import shutil
from collections.abc import Iterator

import pytest

from flyteplugins_codegen.errors import SandboxError
from flyteplugins_codegen.evaluation.program_judges import (
    ProgramEnd,
    ProgramRun,
    printed_difference,
    program_end,
    program_job,
)
from flyteplugins_codegen.evaluation.programs import languages
from flyteplugins_codegen.evaluation.programs.languages import Toolchain
from flyteplugins_codegen.evaluation.values import ProgramTests, StdinPair, StdinTests
from flyteplugins_codegen.sandbox.contract import Execution, Limits, Output, Sandbox
from flyteplugins_codegen.sandbox.opening import open_sandbox

DOUBLES = StdinTests((StdinPair("1\n", "2\n"), StdinPair("21\n", "42\n")))
JS_TESTS = ProgramTests("const assert = require('node:assert');\nassert.strictEqual(double(2), 4);")
CPP_TESTS = ProgramTests("#include <cassert>\nint main() {\n  assert(twice(2) == 4);\n}")
BASH_TESTS = ProgramTests('[ "$(double 2)" = 4 ] || exit 1')


@pytest.fixture(scope="module")
def sandbox() -> Iterator[Sandbox]:
    with open_sandbox("bubblewrap") as opened:
        yield opened


def judged(
    sandbox: Sandbox, language: str, program: str, tests: ProgramTests | StdinTests, limits: Limits | None = None
) -> ProgramEnd:
    if language == "cpp" and shutil.which("g++") is None:
        pytest.skip("C++ cannot be built here; apt-get install g++")
    run = ProgramRun(
        language=language, program=program, tests=tests, limits=limits or Limits(wall_s=60), word="3f786850e387550f"
    )
    return program_end(run, sandbox.run(program_job(run)))


@pytest.mark.parametrize(
    ("language", "program", "tests"),
    [
        ("javascript", "console.log(2 * Number(require('node:fs').readFileSync(0, 'utf8')))", DOUBLES),
        ("javascript", "import { readFileSync } from 'node:fs';\nconsole.log(2 * Number(readFileSync(0)))", DOUBLES),
        ("javascript", "function double(x) { return 2 * x; }", JS_TESTS),
        (
            "javascript",
            "async function double(x) { return 2 * x; }",
            ProgramTests("if (await double(1) !== 2) throw 1"),
        ),
        ("typescript", "const double = (x: number): number => 2 * x;", ProgramTests("if (double(1) !== 2) throw 1")),
        ("bash", "read x; echo $((2 * x))", DOUBLES),
        ("bash", "double() { echo $((2 * $1)); }", BASH_TESTS),
        ("cpp", "#include <iostream>\nint main() { int x; std::cin >> x; std::cout << 2 * x << '\\n'; }", DOUBLES),
        ("cpp", "int twice(int x) { return 2 * x; }", CPP_TESTS),
    ],
)
def test_what_is_right_passes(sandbox: Sandbox, language: str, program: str, tests: ProgramTests | StdinTests) -> None:
    assert judged(sandbox, language, program, tests).cause is None


@pytest.mark.parametrize(
    ("language", "program", "tests", "kind", "message"),
    [
        ("bash", "read x; echo $((x + 1))", DOUBLES, "test_failed", "line 1 is '22', expected '42'"),
        ("bash", "read x; echo 2; exit 3", DOUBLES, "exception", "status 3"),
        ("bash", "double() { echo 5; }", BASH_TESTS, "test_failed", "status 1"),
        ("bash", "double() { echo 4; }; exit 0", BASH_TESTS, "untrusted_report", "before its tests"),
        ("javascript", "function double(x) { return 5; }", JS_TESTS, "test_failed", "AssertionError"),
        ("javascript", "process.exit(0)", JS_TESTS, "untrusted_report", "before its tests came to their end"),
        ("javascript", "console.log('passed'); process.exit(0)", JS_TESTS, "untrusted_report", "before its tests"),
        ("javascript", "function double(x) {", JS_TESTS, "syntax_error", "SyntaxError"),
        ("javascript", "JSON.parse('{')", JS_TESTS, "exception", "SyntaxError"),
        ("typescript", "const double = (x: number) => {", ProgramTests(""), "exception", "SyntaxError"),
        ("bash", "if true; then", BASH_TESTS, "syntax_error", "unexpected end of file"),
        ("javascript", "null.x", JS_TESTS, "exception", "TypeError"),
        ("cpp", "int twice(int x) { return 5; }", CPP_TESTS, "test_failed", "SIGABRT"),
        ("cpp", "int twice(int x) { return y; }", CPP_TESTS, "syntax_error", "was not declared"),
    ],
)
def test_a_failure_has_the_kind_of_its_cause(
    sandbox: Sandbox, language: str, program: str, tests: ProgramTests | StdinTests, kind: str, message: str
) -> None:
    cause = judged(sandbox, language, program, tests).cause
    assert cause
    assert cause.kind == kind
    assert message in cause.message


def test_the_pair_that_failed_is_numbered_and_none_is_run_after_one_that_crashed(sandbox: Sandbox) -> None:
    pairs = tuple(StdinPair(f"{number}\n", f"{number}\n") for number in range(5))
    end = judged(sandbox, "bash", "read x; [ $x = 2 ] && exit 1; echo $x", StdinTests(pairs))
    assert end.case == 3


@pytest.mark.parametrize(
    ("program", "limits", "kind"),
    [
        ("while :; do :; done", Limits(wall_s=60, cpu_s=0.5), "timed_out"),
        ("sleep 30", Limits(wall_s=1), "timed_out"),
        ("yes", Limits(wall_s=60), "output_limit"),
        ("kill -9 $PPID; sleep 9", Limits(wall_s=30), "untrusted_report"),
    ],
)
def test_limits_hold_for_the_runs(sandbox: Sandbox, program: str, limits: Limits, kind: str) -> None:
    cause = judged(sandbox, "bash", program, DOUBLES, limits).cause
    assert cause
    assert cause.kind == kind


def test_a_program_that_waits_for_a_child_it_left_behind_does_not_hold_up_the_next(sandbox: Sandbox) -> None:
    assert judged(sandbox, "bash", "read x; sleep 60 & echo $((2 * x))", DOUBLES, Limits(wall_s=20)).cause is None


def test_a_language_that_is_not_installed_is_no_verdict_and_names_what_to_install(
    sandbox: Sandbox, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setitem(languages._COMPILED, "rust", Toolchain(check=("no-rustc", "--version"), run=("./program",)))
    with pytest.raises(SandboxError, match=r"nothing to run rust with .*no-rustc.*install rustc: `apt-get install"):
        judged(sandbox, "rust", "fn main() {}", DOUBLES)


def test_what_is_expected_never_enters_the_sandbox() -> None:
    tests = StdinTests((StdinPair("1\n", "a secret\n"),))
    job = program_job(ProgramRun(language="cpp", program="", tests=tests, limits=Limits(), word="w"))
    assert b"secret" not in repr(job).encode()


def test_a_report_that_the_program_wrote_itself_is_compared_with_the_expected_output(tmp_path_factory) -> None:
    path = tmp_path_factory.mktemp("report") / "report"
    lines = (
        b'{"kind": "case", "status": 0, "why": "", "stdout": "Mg==", "stderr": "", "cpu_s": 0, "wall_s": 0}\nnonsense\n'
    )
    path.write_bytes(lines)
    output = Output("report", is_directory=False, size_bytes=len(lines), files={"report": path})
    run = ProgramRun(language="bash", program="", tests=DOUBLES, limits=Limits(), word="w")
    end = program_end(run, Execution(status="exited", exit_code=0, outputs={"report": output}))
    assert end.cause
    assert end.cause.kind == "untrusted_report"
    assert end.case == 1


@pytest.mark.parametrize(
    ("printed", "expected", "tolerance", "message"),
    [
        ("1\n", "1", 0, ""),
        ("1 \n2\n\n\n", "1\n2", 0, ""),
        ("", "", 0, ""),
        ("1\n", "1\n2\n", 0, "line 2 is missing, expected '2'"),
        ("1\n2\n3\n", "1\n2\n", 0, "line 3 is '3', expected missing"),
        ("a b", "a  b", 0, "line 1 is 'a b', expected 'a  b'"),
        ("x 1.0000001", "x 1.0", 1e-6, ""),
        ("x 1.1", "x 1.0", 1e-6, "line 1 is 'x 1.1', expected 'x 1.0'"),
        ("1.0 2.0", "1.0", 1e-6, "line 1 is '1.0 2.0', expected '1.0'"),
        ("1.0", "1", 0, "line 1 is '1.0', expected '1'"),
    ],
)
def test_output_is_compared_line_by_line(printed: str, expected: str, tolerance: float, message: str) -> None:
    assert printed_difference(printed, expected, tolerance) == message

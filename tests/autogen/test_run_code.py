"""Code of every language that is run, in every kind of sandbox: its results, and its isolation."""

from __future__ import annotations

import asyncio
import os
import time
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest

from flyteplugins_codegen import execute_code, run_code
from flyteplugins_codegen.errors import (
    ArgumentTypeError,
    MissingInterpreterError,
    RequestError,
    SandboxUnavailableError,
)
from flyteplugins_codegen.sandbox.contract import Execution

HELLO = {
    "python": ("print('hello')", "hello\n"),
    "sh": ("echo hello", "hello\n"),
    "bash": ("words=(hello); echo ${words[0]}", "hello\n"),
    "javascript": ("console.log('hello')", "hello\n"),
    "typescript": ("enum Word { Hello = 'hello' }\nconst word: string = Word.Hello\nconsole.log(word)", "hello\n"),
}
SPELLINGS = {
    "py": "python",
    "Python3": "python",
    "shell": "sh",
    "js": "javascript",
    "node": "javascript",
    "zsh": "bash",
}


@pytest.mark.parametrize("sandbox", ["bubblewrap", "none"])
@pytest.mark.parametrize("language", HELLO)
def test_code_is_run_by_its_language(language: str, sandbox: str) -> None:
    code, printed = HELLO[language]
    assert execute_code(code, lang=language, sandbox=sandbox) == (0, printed, None)


@pytest.mark.parametrize("spelling", SPELLINGS)
def test_a_language_may_be_spelled_in_other_ways(spelling: str) -> None:
    code, printed = HELLO[SPELLINGS[spelling]]
    execution = run_code(code, lang=spelling)
    assert (execution.language, execution.logs) == (SPELLINGS[spelling], printed)


@pytest.mark.parametrize(
    ("code", "filename", "language"),
    [("console.log(typeof require('fs').readFileSync)", None, "javascript"), ("echo $((1 + 1))", "count.sh", "sh")],
)
def test_a_language_that_is_not_said_is_told_from_the_name_or_the_code(code, filename, language) -> None:
    execution = run_code(code, filename=filename, lang=None)
    assert (execution.language, execution.exit_code) == (language, 0)


def test_modules_are_imported_in_javascript_as_models_write_them() -> None:
    assert execute_code("import { EOL } from 'os';\nconsole.log(EOL.length)", lang="js") == (0, "1\n", None)


def test_everything_is_told_of_a_run() -> None:
    execution = run_code("import sys; print('out'); print('err', file=sys.stderr); sys.exit(7)")
    assert isinstance(execution, Execution)
    assert (execution.status, execution.exit_code, execution.logs) == ("exited", 7, "out\nerr\n")
    assert (execution.stdout, execution.stderr) == (b"out\n", b"err\n")
    assert "network" in execution.isolation
    assert execution.wall_s > 0


def test_what_is_no_utf_8_is_replaced() -> None:
    assert execute_code("import os; os.write(1, b'a\\xff'); os.write(2, b'\\xfeb')") == (0, "a\ufffd\ufffdb", None)


def test_words_that_begin_as_our_own_mark_does_are_told_as_they_are() -> None:
    assert execute_code("import os; os.write(2, b'\\0\\0x')") == (0, "\0\0x", None)


@pytest.mark.parametrize(("code", "exit_code"), [("import os; os.kill(os.getpid(), 11)", 139), ("1/0", 1)])
def test_a_bad_end_is_told_as_a_shell_would(code: str, exit_code: int) -> None:
    assert run_code(code).exit_code == exit_code


def test_of_too_many_words_the_first_are_told_and_the_rest_is_counted() -> None:
    logs = execute_code("print('x' * 3_000_000)")[1]
    assert len(logs) < 1_100_000
    assert logs.endswith("[1951425 more bytes were dropped]\n")


@pytest.mark.parametrize(
    ("language", "code"),
    [
        ("python", "print('begun'); import time; time.sleep(60)"),
        ("sh", "echo begun; sleep 60"),
        ("javascript", "console.log('begun'); setTimeout(() => 0, 60000)"),
    ],
)
def test_a_time_out_is_124_with_what_was_printed_until_then(language: str, code: str) -> None:
    assert execute_code(code, timeout=2, lang=language) == (124, "begun\nTimeout: it had not ended after 2 s", None)


@pytest.mark.parametrize("timeout", [0.3, 0.05])
def test_a_time_out_may_be_less_than_a_second_and_in_any_thread(timeout: float) -> None:
    begun = time.monotonic()
    with ThreadPoolExecutor(1) as pool:
        exit_code, logs, _ = pool.submit(execute_code, "import time; time.sleep(60)", timeout).result()
    assert (exit_code, logs) == (124, f"Timeout: it had not ended after {timeout} s")
    assert time.monotonic() - begun < 20


def test_what_was_written_before_a_time_out_comes_back(tmp_path: Path) -> None:
    code = "open('a', 'w').write('1'); import time; time.sleep(60)"
    execution = run_code(code, 2, work_dir=tmp_path)
    assert (execution.status, execution.written_files) == ("timed_out", ("a",))
    assert (tmp_path / "a").read_text() == "1"


def test_a_time_that_is_over_before_the_code_has_its_files_changes_nothing(tmp_path: Path) -> None:
    for number in range(300):
        (tmp_path / f"{number}.txt").write_text("x" * 10_000)
    execution = run_code("print('begun')", 0.0001, work_dir=tmp_path)
    assert (execution.exit_code, execution.written_files, execution.deleted_files) == (124, (), ())
    assert sum(path.read_text() == "x" * 10_000 for path in tmp_path.iterdir()) == 300


def test_the_same_code_runs_many_times_at_once_in_one_folder(tmp_path: Path) -> None:
    code = "import os, pathlib, secrets; pathlib.Path(secrets.token_hex(8)).write_text('x' * 10000)"
    with ThreadPoolExecutor(4) as pool:
        executions = list(pool.map(lambda _: run_code(code, work_dir=tmp_path), range(8)))
    assert {execution.exit_code for execution in executions} == {0}
    assert [len(path.read_text()) for path in tmp_path.iterdir()] == [10_000] * 8


async def test_an_event_loop_is_free_while_code_runs_and_may_call_both_ways() -> None:
    slow = asyncio.create_task(execute_code.aio("import time; time.sleep(1.5); print('slow')"))
    quick = await run_code.aio("print('quick')")
    assert (quick.logs, slow.done()) == ("quick\n", False)
    assert execute_code("print('here')") == (0, "here\n", None)
    assert await slow == (0, "slow\n", None)


def test_the_code_sees_neither_the_network_nor_the_host_nor_our_variables(tmp_path, monkeypatch) -> None:
    monkeypatch.setenv("SECRET_OF_OURS", "secret")
    (tmp_path / "outside").write_text("secret")
    (tmp_path / "work").mkdir()
    code = f"""
import os, socket
print(os.environ.get("SECRET_OF_OURS"), os.path.exists({str(tmp_path / "outside")!r}))
try:
    socket.create_connection(("192.0.2.1", 80), 2)
except OSError as error:
    print(error.strerror)
"""
    assert execute_code(code, work_dir=tmp_path / "work")[1] == "None False\nNetwork is unreachable\n"


@pytest.mark.parametrize(
    ("language", "code"),
    [("html", "<p>x</p>"), ("css", "p {}"), ("json", "{}"), ("yaml", "a: 1"), ("markdown", "# x"), ("csv", "a,b")],
)
def test_what_nothing_runs_is_saved(tmp_path: Path, language: str, code: str) -> None:
    execution = run_code(code, lang=language, work_dir=tmp_path / "new")
    assert execution.code_file is not None
    saved = tmp_path / "new" / execution.code_file
    assert (execution.exit_code, execution.logs) == (0, f"Code saved to {saved}")
    assert (execution.written_files, saved.read_text()) == ((execution.code_file,), code)


def test_a_saved_file_that_is_not_there_and_a_folder_that_nobody_named_are_told(tmp_path: Path) -> None:
    with pytest.raises(RequestError, match=r"has no file 'x\.html'"):
        run_code(None, filename="x.html", work_dir=tmp_path, lang="html")
    with pytest.raises(RequestError, match="saved, not run; name the folder for it by work_dir"):
        run_code("<p>", lang="html")


@pytest.mark.parametrize("language", ["rust", "../../x", "python/../../../x", "/etc/passwd", "a" * 500, "\0", "\ud800"])
def test_an_unknown_language_is_refused_with_the_known_ones(tmp_path: Path, language: str) -> None:
    with pytest.raises(RequestError, match="these are run: bash, javascript, powershell, python, sh, typescript"):
        execute_code("x", lang=language, work_dir=tmp_path / "work")
    assert list(tmp_path.iterdir()) == []


def test_a_missing_interpreter_is_told_with_what_to_install(tmp_path, monkeypatch) -> None:
    monkeypatch.setenv("PATH", str(tmp_path))
    with pytest.raises(MissingInterpreterError, match=r"this machine has no interpreter .* PowerShell 7 \(`pwsh`\)"):
        execute_code("1", lang="pwsh", filename="x.ps1", work_dir=tmp_path / "work", sandbox="none")
    assert not (tmp_path / "work").exists()


def test_an_interpreter_that_does_not_work_in_the_sandbox_is_told_with_its_reason(tmp_path, monkeypatch) -> None:
    stand_in(tmp_path, "pwsh", "echo 'no such option' >&2; exit 9")
    monkeypatch.setenv("PATH", f"{tmp_path}:{os.environ['PATH']}")
    with pytest.raises(MissingInterpreterError, match="/var/inputs/pwsh: no such option"):
        execute_code("1", lang="powershell")


def test_an_interpreter_in_a_folder_of_its_own_is_shown_with_that_folder(tmp_path, monkeypatch) -> None:
    program = 'echo "$@"; cat "$(dirname "$0")/beside"; cat "$4" 2>/dev/null; true'
    stand_in(tmp_path, "pwsh", program)
    (tmp_path / "pwsh.dll").touch()
    (tmp_path / "beside").write_text("beside\n")
    monkeypatch.setenv("PATH", f"{tmp_path}:{os.environ['PATH']}")
    exit_code, logs, _ = execute_code("Write-Output 1", lang="powershell", filename="x.ps1")
    assert (exit_code, logs) == (0, "-NoProfile -NonInteractive -File ./x.ps1\nbeside\nWrite-Output 1")


def test_what_lies_beside_an_interpreter_in_no_folder_of_its_own_is_not_shown(tmp_path, monkeypatch) -> None:
    stand_in(tmp_path, "pwsh", 'ls "$(dirname "$0")"; true')
    (tmp_path / "beside").write_text("secret")
    monkeypatch.setenv("PATH", f"{tmp_path}:{os.environ['PATH']}")
    assert execute_code("1", lang="powershell")[1].split() == ["pwsh", "work"]


def stand_in(folder: Path, name: str, script: str) -> None:
    (folder / name).write_text(f"#!/bin/sh\n{script}\n")
    (folder / name).chmod(0o755)


# --- containers -------------------------------------------------------------------------------------------------------


def test_where_nothing_can_be_isolated_trusted_code_has_its_files_all_the_same(tmp_path, monkeypatch) -> None:
    monkeypatch.setattr("flyteplugins_codegen.sandbox.opening._find_binary", lambda: None)
    (tmp_path / "in.txt").write_text("1")
    code = "text = open('in.txt').read(); open('out.txt', 'w').write(text + '2'); print(text)"
    assert execute_code(code, work_dir=tmp_path, sandbox="none") == (0, "1\n", None)
    assert (tmp_path / "out.txt").read_text() == "12"


def test_an_image_is_used_by_name_and_its_name_is_the_third_value(container_image: str, tmp_path: Path) -> None:
    (tmp_path / "in.txt").write_text("1")
    code = "text = open('in.txt').read(); open('out.txt', 'w').write(text + '2'); print(text)"
    assert execute_code(code, work_dir=tmp_path, use_docker=container_image) == (0, "1\n", container_image)
    assert (tmp_path / "out.txt").read_text() == "12"


def test_true_is_the_image_that_is_configured(container_image: str, monkeypatch) -> None:
    monkeypatch.setenv("FLYTE_CODEGEN_IMAGE", container_image)
    assert execute_code("echo $0; sleep 60", 3, "a.sh", use_docker=True, lang="sh") == (
        124,
        "./a.sh\nTimeout: it had not ended after 3 s",
        container_image,
    )


def test_of_a_list_of_images_the_first_that_works_is_taken(container_image: str) -> None:
    images = ["localhost:1/no-such-image", container_image]
    assert execute_code("print(1)", use_docker=images) == (0, "1\n", container_image)


def test_images_that_do_not_work_are_named() -> None:
    with pytest.raises(SandboxUnavailableError, match="localhost:1/no-such-image"):
        execute_code("print(1)", use_docker="localhost:1/no-such-image")


def test_an_interpreter_that_the_image_lacks_is_told(container_image: str) -> None:
    with pytest.raises(MissingInterpreterError, match=f"image '{container_image}' has no interpreter"):
        execute_code("1", lang="js", use_docker=container_image)


# --- bad input --------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("arguments", "told"),
    [
        ({"code": 5}, "code is int; pass a str"),
        ({"code": b"x"}, "code is bytes"),
        ({"code": "x", "filename": 5}, "filename is int"),
        ({"code": "x", "timeout": "5"}, "timeout is str; pass seconds"),
        ({"code": "x", "timeout": True}, "timeout is bool"),
        ({"code": "x", "work_dir": 5}, "work_dir is int"),
        ({"code": "x", "lang": 5}, "lang is int"),
        ({"code": "x", "use_docker": 5}, "use_docker is 5; pass None, a bool"),
        ({"code": "x", "use_docker": [5]}, r"use_docker is \[5\]"),
    ],
)
def test_a_wrong_type_is_told(arguments, told: str) -> None:
    with pytest.raises(ArgumentTypeError, match=told) as caught:
        execute_code(**arguments)
    assert isinstance(caught.value, TypeError)


@pytest.mark.parametrize(
    ("arguments", "told"),
    [
        ({}, "nothing to run: pass code, or the filename"),
        ({"filename": "x.py"}, "given without code; name the folder"),
        ({"code": "x", "timeout": 0}, "timeout=0 is no time"),
        ({"code": "x", "timeout": -1}, "timeout=-1 is no time"),
        ({"code": "x", "timeout": float("nan")}, "timeout=nan is no time"),
        ({"code": "x", "timeout": float("inf")}, "timeout=inf is no time"),
        ({"code": "x", "work_dir": ""}, "is no path"),
        ({"code": "x", "work_dir": "a\0b"}, "is no path"),
        ({"code": "x", "work_dir": "\ud800"}, "is no path"),
        ({"code": "x", "work_dir": "x" * 5_000}, "is no path: File name too long"),
        ({"code": "x", "work_dir": __file__}, "is a file"),
        ({"code": "x = 1\ny = '\ud800'"}, r"code, line 2: '\\ud800' is half of a surrogate pair"),
        ({"code": "x", "use_docker": []}, "names no image"),
        ({"code": "x", "use_docker": ""}, "names no image"),
        ({"code": "x", "use_docker": " " * 10_000_000}, r"^.{,300}$"),
        ({"code": "x", "use_docker": "--privileged"}, "no container image is called '--privileged'"),
        ({"code": "x", "sandbox": "docker"}, "choose one of auto, bubblewrap, container, none"),
        ({"code": "x", "sandbox": "none", "use_docker": False}, "both say where to run"),
    ],
)
def test_a_request_that_cannot_be_met_is_told(arguments, told: str) -> None:
    with pytest.raises(RequestError, match=told):
        execute_code(**arguments)


def test_an_environment_of_another_type_is_told() -> None:
    with pytest.raises(ArgumentTypeError, match="environment is list; pass an InstalledEnvironment"):
        run_code("x", environment=["pandas"])


@pytest.mark.parametrize(
    ("code", "exit_code", "words"),
    [
        ("", 0, ""),
        ("x = '\0'", 1, "null bytes"),
        ("#" + "é" * 5_000_000, 0, ""),
        ("print('\U0001f600')", 0, "\U0001f600\n"),
    ],
    ids=["empty", "NUL", "10 MB", "emoji"],
)
def test_any_text_is_handed_to_the_interpreter(code: str, exit_code: int, words: str) -> None:
    exited, logs, _ = execute_code(code)
    assert exited == exit_code
    assert words in logs

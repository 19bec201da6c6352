"""The launcher: a cluster's rules for values as text, and running a script from /var/inputs to /var/outputs."""

from __future__ import annotations

import datetime as dt
import math
import os
import signal
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from flyteplugins_codegen.portable import launcher
from flyteplugins_codegen.portable.launcher import format_value, output_flaws, parse_output, parse_value

UTC = dt.timezone.utc


def us(**parts: float) -> dt.timedelta:
    return dt.timedelta(**parts)


# Texts that Go's strconv and time packages accept, from their documentation and the tables of their own tests.
ACCEPTED: list[tuple[str, str, Any]] = [
    ("int", "42", 42),
    ("int", "+5", 5),
    ("int", "-0", 0),
    ("int", "007", 7),
    ("int", " \t42\n", 42),
    ("int", "9223372036854775807", 2**63 - 1),
    ("int", "-9223372036854775808", -(2**63)),
    ("float", "3", 3.0),
    ("float", ".5", 0.5),
    ("float", "5.", 5.0),
    ("float", "+1E+2", 100.0),
    ("float", "1_23.50_0_0e+1_2", 1.235e14),
    ("float", "0x1p-2", 0.25),
    ("float", "0X.8P1", 1.0),
    ("float", "0x_1_2.3_4_5p+1_2", 74565.0),
    ("float", "inf", math.inf),
    ("float", "-Infinity", -math.inf),
    ("float", "+INF", math.inf),
    ("float", "1e-400", 0.0),
    ("float", "1.7976931348623157e308", 1.7976931348623157e308),
    *[("bool", text, True) for text in ("1", "t", "T", "true", "True", "TRUE")],
    *[("bool", text, False) for text in ("0", "f", "F", "false", "False", "FALSE")],
    ("str", "  two words \n", "two words"),
    ("str", "", ""),
    ("datetime", "2024-01-31T08:00:00Z", dt.datetime(2024, 1, 31, 8, tzinfo=UTC)),
    ("datetime", "2024-01-31T08:00:00+05:30", dt.datetime(2024, 1, 31, 2, 30, tzinfo=UTC)),
    ("datetime", "2024-01-31T8:00:00-01:00", dt.datetime(2024, 1, 31, 9, tzinfo=UTC)),
    ("datetime", "2024-01-31T08:00:00,25Z", dt.datetime(2024, 1, 31, 8, microsecond=250_000, tzinfo=UTC)),
    ("datetime", "2024-01-31T08:00:00.123456789Z", dt.datetime(2024, 1, 31, 8, microsecond=123_456, tzinfo=UTC)),
    ("datetime", "2024-01-31T08:00:00+24:60", dt.datetime(2024, 1, 30, 7, tzinfo=UTC)),
    ("datetime", "0001-01-01T00:00:00Z", dt.datetime(1, 1, 1, tzinfo=UTC)),
    ("timedelta", "5400s", us(hours=1.5)),
    ("timedelta", "1h30m", us(hours=1.5)),
    ("timedelta", "-1.5h", us(hours=-1.5)),
    ("timedelta", "+.5s", us(milliseconds=500)),
    ("timedelta", "5.s", us(seconds=5)),
    ("timedelta", "10.5s4m", us(minutes=4, seconds=10.5)),
    ("timedelta", "1h2m3s4ms5us6ns", us(hours=1, minutes=2, seconds=3, milliseconds=4, microseconds=5)),
    ("timedelta", "3\u00b5s", us(microseconds=3)),
    ("timedelta", "3\u03bcs", us(microseconds=3)),
    ("timedelta", "0", us()),
    ("timedelta", "-0", us()),
    ("timedelta", "2562047h47m16.854775807s", us(microseconds=9_223_372_036_854_775)),
    ("timedelta", "-9223372036854775808ns", us(microseconds=-9_223_372_036_854_775)),
]

REFUSED: list[tuple[str, str, str]] = [
    *[("int", text, "base 10") for text in ("3.0", "1_000", "0x10", "1e3", "", "-", "\u0663", "4 2", "42\r", "None")],
    *[("int", text, "64-bit") for text in ("9223372036854775808", "-9223372036854775809", "9" * 1000)],
    *[("float", text, "not a number") for text in ("1,5", "+nan", "0x10", "0x1.8", "_1", "1_", "1__2", "1_.5", "1._5")],
    *[("float", text, "not a number") for text in ("infin", "", ".", "1e", "1e_5", "1e5_", "12abc", "\u0663.5")],
    *[("float", text, "64-bit float") for text in ("1e400", "-1e309", "0x1p1024")],
    *[("bool", text, "'true' or 'false'") for text in ("yes", "no", "tRUE", "2", "", "None")],
    ("datetime", "2024-01-31 08:00:00", "no time zone"),
    ("datetime", "2024-01-31T08:00:00", "no time zone"),
    ("datetime", "2024-01-31t08:00:00z", "RFC 3339"),
    ("datetime", "2024-01-31", "RFC 3339"),
    ("datetime", "2024-01-31T08:00Z", "RFC 3339"),
    ("datetime", "2024-01-31T08:00:00 Z", "RFC 3339"),
    ("datetime", "2024-02-30T08:00:00Z", "not a possible"),
    ("datetime", "2024-01-31T24:00:00Z", "not a possible"),
    ("datetime", "2016-12-31T23:59:60Z", "not a possible"),
    ("datetime", "2024-01-31T08:00:00+25:00", "offset"),
    ("datetime", "0000-01-01T00:00:00Z", "not a possible"),
    ("datetime", "9999-12-31T23:59:59-01:00", "not a possible"),
    *[("timedelta", text, "duration") for text in ("1:30:00", "90", "1h 30m", "1d", "", "s", ".s", "-", "1H", "5.6x")],
    ("timedelta", "1e-06s", "duration"),
    ("timedelta", "3000000h", "292 years"),
    ("timedelta", "9223372036854775808ns", "292 years"),
]


@pytest.mark.parametrize(("type_name", "text", "value"), ACCEPTED)
def test_a_text_that_go_accepts_has_go_s_value(type_name: str, text: str, value: Any) -> None:
    parsed = parse_value(text, type_name)
    assert (parsed, type(parsed)) == (value, type(value))


@pytest.mark.parametrize(("type_name", "text", "told"), REFUSED)
def test_a_text_that_go_refuses_is_refused_with_a_remedy(type_name: str, text: str, told: str) -> None:
    with pytest.raises(ValueError, match=r"write|declare") as raised:
        parse_value(text, type_name)
    assert told in str(raised.value)
    assert len(str(raised.value)) < 250


def test_nan_in_any_case_is_not_a_number() -> None:
    assert all(math.isnan(parse_value(text, "float")) for text in ("nan", "NaN", "NAN"))


def test_one_byte_more_than_a_cluster_reads_is_refused_although_it_would_be_trimmed() -> None:
    assert parse_output(b"7" + b" " * 1023, "int") == 7
    with pytest.raises(ValueError, match=r"1024 bytes.*declare the output as a file"):
        parse_output(b"7" + b" " * 1024, "int")


def test_bytes_that_are_not_utf8_are_refused() -> None:
    with pytest.raises(ValueError, match="UTF-8"):
        parse_output(b"caf\xe9", "str")


@given(st.integers(-(2**63), 2**63 - 1))
def test_every_64_bit_integer_survives_as_text(value: int) -> None:
    assert parse_value(format_value(value, "int"), "int") == value


@given(st.floats())
def test_every_float_survives_as_text(value: float) -> None:
    text = format_value(value, "float")
    back = parse_value(text, "float")
    assert back == value or (math.isnan(back) and math.isnan(value))
    assert "e" not in text.lower().replace("inf", "")


@given(st.datetimes(dt.datetime(2, 1, 1), dt.datetime(9998, 1, 1), timezones=st.just(UTC)))  # noqa: DTZ001  -- bounds
def test_every_datetime_survives_as_text(value: dt.datetime) -> None:
    assert parse_value(format_value(value, "datetime"), "datetime") == value


@given(st.timedeltas(us(days=-106_000), us(days=106_000)))
def test_every_timedelta_of_290_years_survives_as_text(value: dt.timedelta) -> None:
    assert parse_value(format_value(value, "timedelta"), "timedelta") == value


@pytest.mark.parametrize(
    ("type_name", "value", "text"),
    [
        ("float", 1e21, "1" + "0" * 21),
        ("float", 3.0, "3"),
        ("float", 7, "7"),
        ("float", math.inf, "+Inf"),
        ("bool", True, "true"),
        ("timedelta", us(minutes=90), "1h30m0s"),
        ("timedelta", us(milliseconds=1500), "1.5s"),
        ("timedelta", us(microseconds=-2500), "-2.5ms"),
        ("timedelta", us(microseconds=3), "3\u00b5s"),
        ("timedelta", us(), "0s"),
        ("datetime", dt.datetime(2024, 1, 31, 8, tzinfo=dt.timezone(us(hours=2))), "2024-01-31T06:00:00Z"),
        ("datetime", dt.datetime(2024, 1, 31, microsecond=500_000, tzinfo=UTC), "2024-01-31T00:00:00.5Z"),
    ],
)
def test_a_value_is_written_as_co_pilot_writes_it(type_name: str, value: Any, text: str) -> None:
    assert format_value(value, type_name) == text


@pytest.mark.parametrize(
    ("type_name", "value", "told"),
    [
        ("int", True, "bool"),
        ("int", 3.0, "float"),
        ("int", 2**63, "64-bit"),
        ("str", 3, "int"),
        ("bool", 1, "int"),
        ("datetime", dt.datetime(2024, 1, 31), "no time zone"),  # noqa: DTZ001  -- what is refused
        ("timedelta", us(days=200_000), "292 years"),
        ("str", "\ud800", "UTF-8"),
        ("file", "x", "simple types"),
    ],
)
def test_a_value_of_another_type_is_refused(type_name: str, value: Any, told: str) -> None:
    with pytest.raises(ValueError, match=told):
        format_value(value, type_name)


@pytest.mark.parametrize("validate", ["strict", "warn", "off"])
def test_a_command_line_is_read_as_it_was_written(validate: str) -> None:
    inputs, outputs = {"weather": "file", "limit": "float"}, {"days": "int"}
    command = launcher.command_line(inputs, outputs, validate=validate)
    assert launcher.parse_command_line(command[2:]) == (inputs, outputs, "/app/solution.py", validate)


@pytest.mark.parametrize(
    "arguments", [[], ["--input", "a:int"], ["--input", "a", "s.py"], ["--output", "a:date", "s.py"]]
)
def test_a_command_line_that_declares_nonsense_is_refused(arguments: list[str]) -> None:
    with pytest.raises(ValueError, match="NAME:TYPE"):
        launcher.parse_command_line(arguments)


# --- outputs ----------------------------------------------------------------------------------------------------------


def flaw(folder: Path, type_name: str) -> str:
    return "\n".join(output_flaws({"out": type_name}, folder))


def test_a_missing_output_is_reported_with_the_outputs_that_exist(tmp_path: Path) -> None:
    (tmp_path / "out.csv").write_text("a")
    assert "missing" in flaw(tmp_path, "file")
    assert "'out.csv'" in flaw(tmp_path, "file")


def test_a_link_is_refused_as_an_output_even_if_it_points_to_a_valid_file(tmp_path: Path) -> None:
    (tmp_path / "real").write_text("1")
    (tmp_path / "out").symlink_to(tmp_path / "real")
    assert "link" in flaw(tmp_path, "int")
    assert "link" in flaw(tmp_path, "file")


def test_a_fifo_is_refused_without_waiting_for_it(tmp_path: Path) -> None:
    os.mkfifo(tmp_path / "out")
    assert "special file" in flaw(tmp_path, "str")


def test_a_nested_file_is_refused_with_a_flat_name_to_use(tmp_path: Path) -> None:
    (tmp_path / "out" / "2024").mkdir(parents=True)
    (tmp_path / "out" / "2024" / "a.csv").write_text("a")
    assert "'2024_a.csv'" in flaw(tmp_path, "directory")


def test_an_empty_folder_is_refused(tmp_path: Path) -> None:
    (tmp_path / "out").mkdir()
    assert "empty" in flaw(tmp_path, "directory")


def test_a_folder_is_refused_as_a_file_and_a_file_as_a_folder(tmp_path: Path) -> None:
    (tmp_path / "out").mkdir()
    assert "it is a folder" in flaw(tmp_path, "int")
    (tmp_path / "out").rmdir()
    (tmp_path / "out").write_text("1")
    assert "it is a file" in flaw(tmp_path, "directory")


def test_valid_outputs_have_no_flaw(tmp_path: Path) -> None:
    (tmp_path / "out").mkdir()
    (tmp_path / "out" / "a.csv").write_text("a")
    (tmp_path / "n").write_text("7\n")
    (tmp_path / "f").touch()
    assert output_flaws({"out": "directory", "n": "int", "f": "file"}, tmp_path) == []


# --- the launcher as a process ----------------------------------------------------------------------------------------


class Pod:
    """A pod: inputs that co-pilot wrote, a folder for outputs, and the launcher's file."""

    def __init__(self, folder: Path, script: str) -> None:
        self.inputs, self.outputs, self.script = folder / "inputs", folder / "outputs", folder / "solution.py"
        self.inputs.mkdir()
        self.outputs.mkdir()
        self.script.write_text(script)

    def launch(self, inputs: dict[str, str], outputs: dict[str, str], **more: str) -> subprocess.CompletedProcess[str]:
        command = launcher.command_line(
            inputs, outputs, python=sys.executable, launcher=launcher.__file__, solution=str(self.script)
        )
        environment = {"FLYTE_CODEGEN_INPUTS": str(self.inputs), "FLYTE_CODEGEN_OUTPUTS": str(self.outputs), **more}
        return subprocess.run(command, env=environment, capture_output=True, text=True, timeout=30, check=False)

    @property
    def error(self) -> str:
        return (self.outputs / "_ERROR").read_text()


ECHO = "import os, sys, json; open(os.environ['FLYTE_CODEGEN_OUTPUTS'] + '/seen', 'w').write(json.dumps(sys.argv[1:]))"


def test_inputs_become_arguments_in_declared_order(tmp_path: Path) -> None:
    pod = Pod(tmp_path, ECHO)
    for name, text in {"n": "+5\n", "x": "1e3", "b": "T", "s": " a\nb ", "f": "data"}.items():
        (pod.inputs / name).write_text(text)
    finished = pod.launch({"s": "str", "n": "int", "x": "float", "b": "bool", "f": "file"}, {"seen": "file"})
    assert finished.returncode == 0, finished.stderr
    seen = (pod.outputs / "seen").read_text()
    assert seen == f'["--s", " a\\nb ", "--n", "5", "--x", "1000.0", "--b", "true", "--f", "{pod.inputs}/f"]'


@pytest.mark.parametrize(
    ("type_name", "text"),
    [("str", "-x"), ("str", "--n"), ("str", ""), ("int", "-5"), ("float", "-1e-05"), ("timedelta", "-1h30m0s")],
)
def test_no_value_is_taken_for_an_option(tmp_path: Path, type_name: str, text: str) -> None:
    script = (
        "import argparse, os; parser = argparse.ArgumentParser(); parser.add_argument('--n');"
        "open(os.environ['FLYTE_CODEGEN_OUTPUTS'] + '/seen', 'w').write(parser.parse_args().n)"
    )
    pod = Pod(tmp_path, script)
    (pod.inputs / "n").write_text(text)
    finished = pod.launch({"n": type_name}, {"seen": "file"})
    assert finished.returncode == 0, finished.stderr
    assert (pod.outputs / "seen").read_text() == text


@pytest.mark.parametrize(
    ("type_name", "content", "told"),
    [
        ("int", "many", "base 10"),
        ("file", None, "bind a value"),
        ("directory", "x", "not a directory"),
        ("str", "\0", "NUL"),
    ],
)
def test_an_invalid_input_is_reported_before_the_script_starts(
    tmp_path: Path, type_name: str, content: str | None, told: str
) -> None:
    pod = Pod(tmp_path, ECHO)
    if content is not None:
        (pod.inputs / "n").write_text(content)
    finished = pod.launch({"n": type_name}, {"seen": "file"})
    assert finished.returncode == launcher.INPUT_ERROR
    assert "input 'n'" in pod.error
    assert told in pod.error
    assert not (pod.outputs / "seen").exists()


def test_the_status_and_stderr_of_the_script_reach_the_cluster(tmp_path: Path) -> None:
    pod = Pod(tmp_path, "import sys; print('out'); sys.stderr.write('no rows in June'); sys.exit(7)")
    finished = pod.launch({}, {})
    assert (finished.returncode, finished.stdout) == (7, "out\n")
    assert "no rows in June" in finished.stderr
    assert "exit status 7" in pod.error
    assert pod.error.endswith("no rows in June")


def test_in_a_pod_every_failure_has_the_status_that_a_cluster_does_not_retry(tmp_path: Path) -> None:
    told = {launcher.FAILURE_VARIABLE: str(launcher.FAILURE_STATUS)}
    pod = Pod(tmp_path, f"import os, sys; sys.exit('{launcher.FAILURE_VARIABLE}' in os.environ or 7)")
    finished = pod.launch({}, {}, **told)
    assert finished.returncode == launcher.FAILURE_STATUS
    assert "exit status 7" in pod.error
    assert pod.launch({"n": "int"}, {}, **told).returncode == launcher.FAILURE_STATUS
    (pod.outputs / "_ERROR").unlink()
    pod.script.write_text("pass")
    assert pod.launch({}, {"n": "int"}, **told).returncode == launcher.FAILURE_STATUS


def test_a_pod_that_is_taken_away_does_not_end_as_a_failure_of_the_script(tmp_path: Path) -> None:
    """Flyte then starts another one."""
    pod = Pod(tmp_path, "import time; print('up', flush=True); time.sleep(60)")
    command = launcher.command_line({}, {}, python=sys.executable, launcher=launcher.__file__, solution=str(pod.script))
    environment = {"FLYTE_CODEGEN_OUTPUTS": str(pod.outputs), launcher.FAILURE_VARIABLE: str(launcher.FAILURE_STATUS)}
    with subprocess.Popen(command, env=environment, stdout=subprocess.PIPE, stderr=subprocess.PIPE) as process:
        assert process.stdout
        assert process.stdout.readline() == b"up\n"
        process.terminate()
        assert process.wait(timeout=10) == 128 + signal.SIGTERM
    assert not (pod.outputs / "_ERROR").exists()


def test_a_killed_script_is_distinguished_from_one_that_exits(tmp_path: Path) -> None:
    pod = Pod(tmp_path, "import os; os.kill(os.getpid(), 9)")
    assert pod.launch({}, {}).returncode == 128 + signal.SIGKILL
    assert "SIGKILL" in pod.error
    assert "memory" in pod.error


@pytest.mark.parametrize(
    ("leaves", "told"),
    [("open(path, 'w').write('gone')", "gone"), ("os.mkfifo(path)", "no file")],
    ids=["file", "pipe"],
)
@pytest.mark.parametrize("status", [0, 7])
def test_an_error_file_that_the_script_writes_fails_the_task_without_blocking(
    tmp_path: Path, leaves: str, told: str, status: int
) -> None:
    pod = Pod(
        tmp_path,
        f"import os, sys; path = os.environ['FLYTE_CODEGEN_OUTPUTS'] + '/_ERROR'; {leaves}; sys.exit({status})",
    )
    assert pod.launch({}, {}).returncode == (status or launcher.OUTPUT_ERROR)
    assert (told if status == 0 else "exit status 7") in pod.error


def test_outputs_that_break_the_rules_fail_the_task_each_with_its_remedy(tmp_path: Path) -> None:
    pod = Pod(tmp_path, "import os; open(os.environ['FLYTE_CODEGEN_OUTPUTS'] + '/n', 'w').write('3.0')")
    finished = pod.launch({}, {"n": "int", "monthly": "file"})
    assert finished.returncode == launcher.OUTPUT_ERROR
    assert "'3.0' is not a whole number" in pod.error
    assert "output 'monthly' (file) is missing" in pod.error


def test_a_daemon_that_holds_stderr_does_not_hold_the_pod(tmp_path: Path) -> None:
    pod = Pod(
        tmp_path, "import subprocess, sys; subprocess.Popen([sys.executable, '-c', 'import time; time.sleep(3)'])"
    )
    finished = subprocess.run(
        launcher.command_line({}, {}, python=sys.executable, launcher=launcher.__file__, solution=str(pod.script)),
        env={"FLYTE_CODEGEN_OUTPUTS": str(pod.outputs)},
        stdout=subprocess.DEVNULL,
        timeout=2.5,
        check=False,
    )
    assert finished.returncode == 0

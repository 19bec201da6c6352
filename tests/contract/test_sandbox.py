"""What every sandbox does, whatever it is made of.

The backends are those of `backends`; among them `plain`, which cannot put outputs and inputs where the others do: so
programs get their places as arguments.
"""

from __future__ import annotations

import os
import signal
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from backends import ISOLATING, UNGROUPED, open_backend

from flyteplugins_codegen.errors import OutputError, RequestError
from flyteplugins_codegen.models.environment import InstalledEnvironment
from flyteplugins_codegen.sandbox import ALL, Execution, Job, Limits, Sandbox, open_sandbox
from flyteplugins_codegen.sandbox.python_files import find_interpreter

PRELUDE = "import os, sys, time, signal, pathlib\nOUT, IN, APP = map(pathlib.Path, sys.argv[1:4])\n"


@pytest.fixture(scope="module", params=[*ISOLATING, UNGROUPED, "shared", "plain"])
def sandbox(request: pytest.FixtureRequest) -> Iterator[Sandbox]:
    with open_backend(request.param, image=lambda: request.getfixturevalue("container_image")) as opened:
        yield opened


def job(code: str, **settings: Any) -> Job:
    program = {"main.py": (PRELUDE + code).encode(), **settings.pop("program", {})}
    command = ("python", "/app/main.py", "/var/outputs", "/var/inputs", "/app")
    return Job(command=command, program=program, **settings)


# --- how it ends ------------------------------------------------------------------------------------------------------


def test_a_program_that_ends_well(sandbox):
    execution = sandbox.run(job("print(1); print(2, file=sys.stderr)"))
    assert (execution.status, execution.exit_code, execution.signal) == ("exited", 0, None)
    assert (execution.stdout, execution.stderr) == (b"1\n", b"2\n")
    assert 0 < execution.wall_s < 10
    assert 0 < execution.cpu_s < 10
    assert 1 < execution.peak_memory_mib < 100
    assert ("none" in execution.isolation) == (sandbox.kind == "none")


@pytest.mark.parametrize("code", [1, 3, 126, 127, 137, 255])
def test_an_exit_code_is_told_as_it_is(sandbox, code):
    execution = sandbox.run(job(f"os._exit({code})"))
    assert (execution.status, execution.exit_code, execution.signal) == ("exited", code, None)


@pytest.mark.parametrize("name", ["SIGKILL", "SIGSEGV", "SIGTERM", "SIGPIPE"])
def test_a_signal_is_told_from_an_exit_code(sandbox, name):
    number = getattr(signal, name)
    code = f"signal.signal({number}, signal.SIG_DFL) if {number} != 9 else None; os.kill(os.getpid(), {number})"
    execution = sandbox.run(job(code))
    assert (execution.status, execution.exit_code, execution.signal) == ("signaled", None, number)


def test_signals_that_python_ignores_have_their_default_in_a_job(sandbox):
    execution = sandbox.run(Job(command=("sh", "-c", "yes | head -c 1 >/dev/null; kill -PIPE $$; echo ignored")))
    assert (execution.status, execution.signal, execution.stdout) == ("signaled", signal.SIGPIPE, b"")


def test_an_endless_program_is_ended_at_its_time(sandbox):
    started = time.monotonic()
    execution = sandbox.run(job("print('begun', flush=True)\nwhile True: pass", limits=Limits(wall_s=0.5)))
    assert (execution.status, execution.exit_code, execution.signal) == ("timed_out", None, None)
    assert execution.stdout == b"begun\n"
    assert 0.5 <= execution.wall_s < 1.5
    assert time.monotonic() - started < 3


def test_a_program_that_ignores_signals_is_ended_too(sandbox):
    code = "for n in (1, 2, 3, 13, 14, 15, 24): signal.signal(n, signal.SIG_IGN)\nwhile True: time.sleep(1)"
    assert sandbox.run(job(code, limits=Limits(wall_s=0.3))).status == "timed_out"


# Not `plain`: without namespaces, a process that leaves its session cannot be found again.
@pytest.mark.parametrize("sandbox", ["bubblewrap", "shared"], indirect=True)
@pytest.mark.parametrize(
    "ending", ["time.sleep(60)", "os._exit(0)"], ids=["at the time limit", "when the program ends"]
)
def test_daemons_do_not_outlive_their_job(sandbox, ending):
    marker = f"left-behind-{os.getpid()}-{time.monotonic_ns()}"
    code = f"""
if os.fork() == 0:
    os.setsid()
    if os.fork() == 0:
        os.execvp("sh", ["sh", "-c", "sleep 60; : {marker}"])
    os._exit(0)
time.sleep(0.1)
{ending}
"""
    execution = sandbox.run(job(code, limits=Limits(wall_s=0.4)))
    assert execution.status == ("exited" if "exit" in ending else "timed_out")
    assert not [path for path in Path("/proc").glob("[0-9]*/cmdline") if marker in _text_of(path)]


def _text_of(path: Path) -> str:
    try:
        return path.read_text(errors="replace")
    except OSError:  # it ended between the listing and the reading
        return ""


def test_a_child_that_holds_the_streams_does_not_hold_the_result(sandbox):
    started = time.monotonic()
    execution = sandbox.run(job("print('done', flush=True)\nif os.fork() == 0: time.sleep(30)"))
    assert (execution.status, execution.stdout) == ("exited", b"done\n")
    assert time.monotonic() - started < 2


def test_a_program_that_uses_up_its_cpu_time_has_timed_out(sandbox):
    execution = sandbox.run(job("while True: pass", limits=Limits(wall_s=20, cpu_s=1)))
    assert execution.status == "timed_out"
    assert 0.5 < execution.cpu_s < 3


def test_a_command_that_is_not_there_is_the_sandboxs_failure(sandbox):
    execution = sandbox.run(Job(command=("no-such-program", "x")))
    assert execution.status == "sandbox_error"
    assert "'no-such-program'" in execution.message
    assert execution.stdout == b""


# --- what goes in -----------------------------------------------------------------------------------------------------


def test_stdin_is_what_the_job_says(sandbox):
    execution = sandbox.run(job("print(len(sys.stdin.buffer.read()))", stdin=b"\0x" * 100_000))
    assert execution.stdout == b"200000\n"
    assert sandbox.run(job("print(sys.stdin.buffer.read())")).stdout == b"b''\n"


def test_only_the_jobs_own_variables_are_there(sandbox, monkeypatch):
    monkeypatch.setenv("CODEGEN_TEST_SECRET", "secret")
    execution = sandbox.run(job("print(sorted(os.environ.items()))", env={"GREETING": "grüß dich\nzweimal"}))
    assert "('GREETING', 'grüß dich\\nzweimal')" in execution.stdout.decode()
    assert b"secret" not in execution.stdout
    assert b"/tmp" in execution.stdout


def test_inputs_come_as_bytes_as_files_and_as_folders(sandbox, tmp_path):
    (tmp_path / "tree" / "deep").mkdir(parents=True)
    (tmp_path / "tree" / "deep" / "c.txt").write_text("c")
    (tmp_path / "file").write_text("b")
    for path in (tmp_path / "file", tmp_path / "tree"):
        path.chmod(0o700)  # as strict as files of a person's own are
    inputs = {"bytes": b"a", "file": tmp_path / "file", "tree": tmp_path / "tree"}
    code = "print(*[(IN / name).read_text() for name in ('bytes', 'file', 'tree/deep/c.txt')], sorted(os.listdir(IN)))"
    execution = sandbox.run(job(code, inputs=inputs))
    assert execution.stdout.decode() == "a b c ['bytes', 'file', 'tree']\n", execution.stderr
    assert sorted(path.name for path in tmp_path.rglob("*")) == ["c.txt", "deep", "file", "tree"]


def test_the_program_lies_in_the_working_directory_and_imports_itself(sandbox):
    program = {"helper.py": b"VALUE = 41", "tests/data.txt": b"1"}
    code = "import helper; print(helper.VALUE + int(open('tests/data.txt').read()), os.path.samefile('.', APP))"
    assert sandbox.run(job(code, program=program)).stdout == b"42 True\n"


@pytest.mark.parametrize("name", ["../x", "a/b", "", ".", "a\nb", "a\0b", "x" * 300])
def test_an_input_name_that_is_no_plain_file_name_is_refused(name):
    with pytest.raises(RequestError, match="cannot be called"):
        Job(command=("true",), inputs={name: b""})


def test_a_variable_with_a_zero_byte_cannot_add_options():
    with pytest.raises(RequestError, match="NUL"):
        Job(command=("true",), env={"X": "1\0--bind\0/\0/host"})


def test_an_input_that_is_not_there_is_the_callers_mistake(sandbox, tmp_path):
    with pytest.raises(RequestError, match=r"'sales'.*missing\.csv"):
        sandbox.run(job("", inputs={"sales": tmp_path / "missing.csv"}))


# --- the environment --------------------------------------------------------------------------------------------------


def test_without_an_environment_there_is_the_standard_library_alone(sandbox):
    code = "import json, importlib.util as u; print([n for n in ('pip', 'pytest', 'flytekit') if u.find_spec(n)])"
    assert sandbox.run(job(code)).stdout == b"[]\n"


@pytest.mark.parametrize("kind", ["bubblewrap", "none"])
def test_an_environment_brings_its_packages(kind, tmp_path):
    packages = [tmp_path / "one", tmp_path / "two"]
    for number, folder in enumerate(packages):
        folder.mkdir(mode=0o755)
        (folder / f"package_{number}.py").write_text(f"VALUE = {number}")
    folders = tuple(str(folder) for folder in packages)
    environment = InstalledEnvironment(python=find_python(), site_packages=folders, digest="d")
    with open_sandbox(kind, environment=environment) as opened:
        execution = opened.run(job("import package_0, package_1; print(package_0.VALUE, package_1.VALUE)"))
    assert execution.stdout == b"0 1\n", execution.stderr


def find_python() -> str:
    return str(find_interpreter(None).executable)


# --- streams ----------------------------------------------------------------------------------------------------------


def test_a_flood_of_output_is_cut_counted_and_drained(sandbox):
    code = "for _ in range(100): sys.stdout.buffer.write(b'x' * 1_000_000)\nsys.stderr.write('end')"
    execution = sandbox.run(job(code, limits=Limits(stream_kib=64)))
    assert (execution.status, len(execution.stdout), execution.stderr) == ("exited", 64 << 10, b"end")
    assert execution.stdout_cut == 100_000_000 - (64 << 10)
    assert execution.stderr_cut == 0


def test_binary_output_is_kept_as_it_is(sandbox):
    execution = sandbox.run(job("sys.stdout.buffer.write(bytes(range(256)))"))
    assert execution.stdout == bytes(range(256))


def test_a_program_that_closes_its_streams_is_waited_for(sandbox):
    execution = sandbox.run(job("[os.close(n) for n in (0, 1, 2)]; time.sleep(0.3); os._exit(7)"))
    assert (execution.status, execution.exit_code) == ("exited", 7)
    assert execution.wall_s > 0.3


# --- outputs ----------------------------------------------------------------------------------------------------------


def test_declared_outputs_are_taken_and_the_missing_named(sandbox, tmp_path):
    data = bytes(range(256)) * 5_000
    code = "(OUT / 'blob').write_bytes(bytes(range(256)) * 5000); (OUT / 'other').write_text('x')"
    execution = sandbox.run(job(code, outputs=("blob", "total")))
    assert set(execution.outputs) == {"blob"}
    assert execution.missing_outputs == ("total",)
    blob = execution.outputs["blob"]
    blob.copy_to(tmp_path / "copy")
    assert (tmp_path / "copy").read_bytes() == data
    assert (blob.size_bytes, blob.is_directory, blob.read_bytes(3)) == (len(data), False, b"\0\1\2")


def test_of_a_job_without_outputs_nothing_is_taken(sandbox):
    execution = sandbox.run(job("(OUT / 'a').write_text('x'); (OUT / 'l').symlink_to('a')", outputs=()))
    assert execution.exit_code == 0
    assert (execution.outputs, execution.missing_outputs, execution.refused_outputs) == ({}, (), {})


def test_all_outputs_are_taken_when_asked_for(sandbox):
    execution = sandbox.run(job("[(OUT / n).write_text(n) for n in 'abc']", outputs=ALL))
    assert {name: output.read_bytes(9) for name, output in execution.outputs.items()} == {
        "a": b"a",
        "b": b"b",
        "c": b"c",
    }


def test_one_job_does_not_see_the_outputs_of_another(sandbox):
    sandbox.run(job("(OUT / 'a').write_text('x')", outputs=ALL))
    assert sandbox.run(job("print(os.listdir(OUT))")).stdout == b"[]\n"


def test_outputs_of_a_failed_program_are_taken_too(sandbox):
    execution = sandbox.run(job("(OUT / '_ERROR').write_text('why'); sys.exit(3)", outputs=ALL))
    assert (execution.exit_code, execution.outputs["_ERROR"].read_bytes(10)) == (3, b"why")


def test_a_folder_output_is_copied_flat(sandbox, tmp_path):
    code = "(OUT / 'd/e/f').mkdir(parents=True); (OUT / 'd/one').write_text('1'); (OUT / 'd/e/f/two').write_text('22')"
    output = sandbox.run(job(code, outputs=("d",))).outputs["d"]
    output.copy_to(tmp_path / "d")
    assert {path.name: path.read_text() for path in (tmp_path / "d").iterdir()} == {"one": "1", "two": "22"}
    assert (output.is_directory, output.size_bytes, set(output.files)) == (True, 3, {"one", "e/f/two"})
    with pytest.raises(OutputError, match="is a folder"):
        output.read_bytes(1)


def test_a_folder_output_tells_of_its_folders_and_which_files_may_be_executed(sandbox):
    code = "(OUT / 'd/e/f').mkdir(parents=True); (OUT / 'd/x').touch(0o755); (OUT / 'd/e/y').touch(0o644)"
    output = sandbox.run(job(code, outputs=ALL)).outputs["d"]
    assert sorted(output.folders) == ["e", "e/f"]
    assert (set(output.files), output.executable) == ({"x", "e/y"}, {"x"})
    assert not any(os.access(path, os.X_OK) for path in output.files.values())


def test_a_folder_whose_files_would_replace_each_other_is_not_copied(sandbox, tmp_path):
    code = "(OUT / 'd/e').mkdir(parents=True); (OUT / 'd/x').write_text('1'); (OUT / 'd/e/x').write_text('2')"
    output = sandbox.run(job(code, outputs=("d",))).outputs["d"]
    with pytest.raises(OutputError, match=r"two files .* 'x'"):
        output.copy_to(tmp_path / "d")
    assert not (tmp_path / "d").exists()


@pytest.mark.parametrize(
    ("code", "reason"),
    [
        ("(OUT / 'x').symlink_to('/etc/passwd')", "symbolic link"),
        ("(OUT / 'x').symlink_to('/etc')", "symbolic link"),
        ("(OUT / 'y').write_text('y'); os.link(OUT / 'y', OUT / 'x')", "2 hard links"),
        ("os.mkfifo(OUT / 'x')", "FIFO"),
        ("import socket; os.chdir(OUT); socket.socket(socket.AF_UNIX).bind('x')", "socket"),
        ("(OUT / 'x').mkdir(); (OUT / 'x/inner').symlink_to('/etc/passwd')", "symbolic link"),
        ("(OUT / 'x').mkdir(); (OUT / 'x' / 'a\\nb').write_text('')", "not printable"),
        ("(OUT / 'x').mkdir(); open(os.fsencode(OUT) + b'/x/\\xff', 'w')", "not printable"),
        ("(OUT / 'x').write_text('x'); (OUT / 'x').chmod(0)", "may not read"),
    ],
)
def test_what_is_not_a_plain_file_is_refused_with_the_reason(sandbox, code, reason):
    execution = sandbox.run(job(code, outputs=("x",)))
    assert execution.status == "exited", execution
    assert execution.exit_code == 0, execution.stderr
    assert reason in execution.refused_outputs["x"]
    assert (dict(execution.outputs), execution.missing_outputs) == ({}, ("x",))


def test_a_very_deep_tree_is_refused_and_breaks_nothing(sandbox):
    code = "os.chdir(OUT)\nfor _ in range(3000): os.mkdir('x'); os.chdir('x')"
    execution = sandbox.run(job(code, outputs=("x",)))
    assert "folders deep" in execution.refused_outputs["x"]
    assert execution.status == "exited"


def test_too_many_files_exceed_the_limit(sandbox):
    code = "(OUT / 'd').mkdir(); [(OUT / 'd' / str(n)).touch() for n in range(200)]"
    for outputs in (("d",), ALL):
        execution = sandbox.run(job(code, outputs=outputs, limits=Limits(output_files=100)))
        assert (execution.status, execution.exit_code, dict(execution.outputs)) == ("output_limit", 0, {})
        assert "more than 100 entries" in execution.refused_outputs["d"]


def test_too_many_names_at_the_top_exceed_the_limit(sandbox):
    code = "[(OUT / str(n)).touch() for n in range(200)]"
    execution = sandbox.run(job(code, outputs=ALL, limits=Limits(output_files=100)))
    assert execution.status == "output_limit"
    assert "more than 100 entries" in execution.refused_outputs["/var/outputs"]


def test_too_many_bytes_exceed_the_limit(sandbox):
    code = "f = open(OUT / 'x', 'wb', 0)\nfor _ in range(4): f.write(b'x' * (1 << 20))"
    execution = sandbox.run(job(code, outputs=("x",), limits=Limits(output_mib=2)))
    assert execution.status == "output_limit"
    assert sum(output.size_bytes for output in execution.outputs.values()) <= 2 << 20


def test_a_file_over_its_limit_ends_the_program(sandbox):
    code = "signal.signal(signal.SIGXFSZ, signal.SIG_DFL); (OUT / 'x').write_bytes(b'x' * (3 << 20))"
    execution = sandbox.run(job(code, limits=Limits(file_mib=1)))
    assert (execution.status, execution.signal) == ("output_limit", signal.SIGXFSZ)


def test_a_sparse_file_counts_as_long_as_it_says(sandbox):
    code = "open(OUT / 'x', 'w').truncate(3 << 20)"
    execution = sandbox.run(job(code, outputs=("x",), limits=Limits(output_mib=2)))
    assert execution.status == "output_limit"


# --- resources --------------------------------------------------------------------------------------------------------


def is_grouped(execution: Execution) -> bool:
    return "cgroup-memory" in execution.isolation


def test_memory_beyond_the_limit_ends_the_program_or_is_refused_to_it(sandbox):
    limits = Limits(memory_mib=200)
    execution = sandbox.run(job("print('begun', flush=True); x = b'x' * (400 << 20)", limits=limits))
    assert execution.stdout == b"begun\n"
    if is_grouped(execution):
        assert (execution.status, execution.signal) == ("out_of_memory", signal.SIGKILL)
        assert 150 < execution.peak_memory_mib <= 216  # the first process of a container is counted too
    else:
        assert (execution.status, execution.exit_code) == ("exited", 1)
        assert b"MemoryError" in execution.stderr
    assert sandbox.run(job("x = b'x' * (50 << 20); print(len(x))", limits=limits)).stdout == b"52428800\n"


def test_shared_memory_is_bounded_too(sandbox):
    code = "import mmap\nm = mmap.mmap(-1, 3 << 30)\nfor _ in range(400): m.write(bytes(1 << 20))"
    execution = sandbox.run(job(code, limits=Limits(memory_mib=200)))
    assert execution.status == "out_of_memory" or b"Cannot allocate memory" in execution.stderr


def test_memory_that_is_only_reserved_costs_nothing_in_a_group(sandbox):
    execution = sandbox.run(job("import mmap; mmap.mmap(-1, 64 << 30, flags=0x4022)", limits=Limits(memory_mib=200)))
    assert (execution.exit_code == 0) == is_grouped(execution)


CHILD_NEEDS_TOO_MUCH = """
if os.fork() == 0:
    x = b'x' * (400 << 20)
    os._exit(1)
status = os.wait()[1]
"""


@pytest.mark.parametrize(
    ("code", "expected"),
    [("sys.exit(0)", "exited"), ("sys.exit(3)", "out_of_memory"), ("time.sleep(60)", "out_of_memory")],
)
def test_a_job_that_lost_a_child_to_its_memory_limit(sandbox, code, expected):
    """It ended by it unless it ended well. Where the kernel kills a group as one, it ends at once."""
    execution = sandbox.run(job(CHILD_NEEDS_TOO_MUCH + code, limits=Limits(memory_mib=200, wall_s=6)))
    if is_grouped(execution):
        assert execution.status in {expected, "out_of_memory"}
        assert execution.status == expected or not execution.exit_code
    else:
        assert execution.status in {"exited", "timed_out"}


def test_a_signal_of_its_own_is_no_lack_of_memory(sandbox):
    assert sandbox.run(job("os.kill(os.getpid(), 9)")).status == "signaled"


def test_many_processes_do_not_get_the_limit_each(sandbox):
    code = """
for _ in range(12):
    if os.fork() == 0:
        x = b'x' * (60 << 20)
        time.sleep(60)
time.sleep(60)
"""
    execution = sandbox.run(job(code, limits=Limits(memory_mib=200, wall_s=6)))
    assert execution.status == "out_of_memory"


def test_memory_that_processes_share_counts_once(sandbox):
    code = """
x = b'x' * (120 << 20)
children = [os.fork() for _ in range(2)]
time.sleep(0.5)
if 0 in children: os._exit(0)
"""
    assert sandbox.run(job(code, limits=Limits(memory_mib=200))).status == "exited"


@pytest.mark.parametrize("sandbox", ["bubblewrap", "ungrouped"], indirect=True)
def test_memory_that_belongs_to_no_process_is_bounded_or_refused(sandbox):
    code = "for _ in range(8):\n    f = os.memfd_create('x')\n    for _ in range(50): os.write(f, bytes(1 << 20))"
    execution = sandbox.run(job(code, limits=Limits(memory_mib=200)))
    assert (
        execution.status == "out_of_memory"
        if is_grouped(execution)
        else b"Function not implemented" in execution.stderr
    )


@pytest.mark.parametrize("sandbox", ["bubblewrap", "ungrouped"], indirect=True)
@pytest.mark.parametrize("folder", ["/tmp", "/dev/shm", "/var/outputs"])
def test_empty_files_without_end_are_bounded(sandbox, folder):
    code = f"n = 0\nos.chdir({folder!r})\nwhile True: os.mknod(str(n)); n += 1"
    execution = sandbox.run(job(code, limits=Limits(memory_mib=100, wall_s=30)))
    assert execution.status == ("out_of_memory" if is_grouped(execution) else "output_limit")


def test_all_processes_together_get_one_limit_of_processor_time(sandbox):
    code = "[os.fork() for _ in range(2)]\nwhile True: pass"
    execution = sandbox.run(job(code, limits=Limits(wall_s=30, cpu_s=0.8)))
    assert (execution.status, execution.exit_code) == ("timed_out", None)
    assert 0.8 <= execution.cpu_s < 3


def test_a_killed_job_is_accounted_for(sandbox):
    execution = sandbox.run(job("x = b'x' * (30 << 20)\nwhile True: pass", limits=Limits(wall_s=1)))
    assert execution.status == "timed_out"
    assert 0.1 < execution.cpu_s < 3
    assert execution.peak_memory_mib > 30 or not is_grouped(execution)


def test_open_files_are_bounded(sandbox):
    execution = sandbox.run(job("f = [open('/dev/null') for _ in range(100)]", limits=Limits(open_files=50)))
    assert b"Too many open files" in execution.stderr


# --- many jobs --------------------------------------------------------------------------------------------------------


def test_many_jobs_come_back_in_order_and_are_told_as_they_end(sandbox):
    seen: dict[int, Execution] = {}
    jobs = (job(f"time.sleep({0.2 if n == 0 else 0}); print({n})") for n in range(6))
    executions = sandbox.map(jobs, workers=3, on_result=seen.__setitem__)
    assert [execution.stdout for execution in executions] == [b"%d\n" % n for n in range(6)]
    assert [seen[n] for n in range(6)] == executions
    assert next(iter(seen)) != 0


def test_a_callers_mistake_among_many_jobs_is_raised(sandbox, tmp_path):
    with pytest.raises(RequestError, match="missing"):
        sandbox.map([job(""), job("", inputs={"x": tmp_path / "missing"}), job("")])


def test_descriptors_and_folders_do_not_pile_up(sandbox):
    sandbox.run(job(""))
    before = len(list(Path("/proc/self/fd").iterdir()))
    for _ in range(5):
        sandbox.run(job("(OUT / 'x').write_text('x')", inputs={"i": b"1"}, outputs=ALL, stdin=b"x"))
    assert len(list(Path("/proc/self/fd").iterdir())) == before


def test_closing_leaves_nothing_behind(tmp_path, monkeypatch):
    tmp_path.chmod(0o755)
    for kind in ("bubblewrap", "none"):
        with open_sandbox(kind) as opened:
            kept = opened.run(job("(OUT / 'x').write_text('x')", outputs=ALL)).outputs["x"]
            copy = kept.files["x"]
            assert copy.exists()
        assert not copy.exists()


def test_a_program_that_ends_just_at_its_time_has_either_ended_or_timed_out(sandbox):
    jobs = [job(f"time.sleep({0.05 + n / 1000})", limits=Limits(wall_s=0.075)) for n in range(-12, 12)]
    assert {execution.status for execution in sandbox.map(jobs)} <= {"exited", "timed_out"}

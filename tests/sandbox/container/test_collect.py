"""What a container sends is accepted only as far as the rules allow, whoever sends it."""

from __future__ import annotations

import json
import stat
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import closing
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from flyteplugins_codegen.sandbox.collect import CollectedOutputs
from flyteplugins_codegen.sandbox.container.collect import collect_sent
from flyteplugins_codegen.sandbox.container.session import ContainerSession, Frame, FrameStream, SessionEndedError
from flyteplugins_codegen.sandbox.contract import ALL, Everything, Job, Limits

LIMITS = Limits()
FILE, FOLDER = stat.S_IFREG | 0o644, stat.S_IFDIR | 0o755


def listed(count: int, path: str = "") -> Frame:
    return Frame(b"L", f"{count} {path}".encode())


def entry(path: str, size: int = 0, mode: int = FILE, links: int = 1) -> Frame:
    return Frame(b"N", f"{mode} {links} {size} {path}".encode())


def content(data: bytes) -> Frame:
    return Frame(b"B", data)


def take(
    folder: Path, *frames: Frame, outputs: tuple[str, ...] | Everything = ("x", "y"), limits: Limits = LIMITS
) -> CollectedOutputs:
    return collect_sent(iter(frames), Job(command=("true",), outputs=outputs, limits=limits), folder)


def test_files_and_folders_are_collected_as_they_are_sent(tmp_path):
    collected = take(
        tmp_path,
        *(listed(2), entry("a", 3), content(b"12"), content(b"3"), entry("d", mode=FOLDER), listed(2, "d")),
        *(entry("d/e", mode=FOLDER), entry("d/f", 1), content(b"4"), listed(1, "d/e"), entry("d/e/g")),
        outputs=ALL,
    )
    assert collected.outputs["a"].read_bytes(9) == b"123"
    assert collected.outputs["d"].files["f"].read_bytes() == b"4"
    assert (set(collected.outputs["d"].files), collected.outputs["d"].size_bytes) == ({"f", "e/g"}, 1)
    assert collected.outputs["d"].folders == ("e",)
    assert (collected.refused, collected.exceeded) == ({}, False)


def test_what_was_declared_and_not_sent_is_missing(tmp_path):
    collected = take(tmp_path, entry("y", 1), content(b"1"))
    assert (set(collected.outputs), collected.missing) == ({"y"}, ("x",))


@pytest.mark.parametrize(
    ("frames", "reason"),
    [
        ([entry("x", mode=stat.S_IFLNK | 0o777)], "symbolic link"),
        ([entry("x", mode=stat.S_IFIFO | 0o600)], "FIFO"),
        ([entry("x", mode=stat.S_IFCHR | 0o600)], "device"),
        ([entry("x", links=2)], "2 hard links"),
        ([entry("x", mode=stat.S_IFREG)], "may not read"),
        ([entry("x", 5), content(b"1234")], "did not hand out"),
        ([entry("x", mode=FOLDER), listed(1, "x"), entry("x/..", 1), content(b"1")], "points to another folder"),
        ([entry("x", mode=FOLDER), listed(1, "x"), entry("x//a", 1), content(b"1")], "points to another folder"),
        ([entry("x", mode=FOLDER), listed(1, "x"), entry("x/a\nb", 1), content(b"1")], "not printable"),
        ([entry("x", mode=FOLDER), listed(1, "x"), entry("x/" + "n/" * 32 + "a")], "folders deep"),
    ],
)
def test_what_breaks_a_rule_is_refused_and_the_rest_is_collected(tmp_path, frames, reason):
    collected = take(tmp_path, *frames, entry("y", 1), content(b"1"))
    assert reason in collected.refused["x"]
    assert set(collected.outputs) == {"y"}


@pytest.mark.parametrize(
    ("frames", "name"),
    [
        ([entry("x", 3 << 20)], "x"),
        ([entry("x", mode=FOLDER), listed(101, "x")], "x"),
    ],
)
def test_what_is_too_much_exceeds_the_limit(tmp_path, frames, name):
    collected = take(tmp_path, *frames, limits=Limits(output_mib=2, output_files=100))
    assert collected.exceeded
    assert set(collected.refused) == {name}


def test_too_many_names_are_refused_altogether(tmp_path):
    collected = take(tmp_path, listed(101), outputs=ALL, limits=Limits(output_files=100))
    assert (collected.exceeded, set(collected.refused)) == (True, {"/var/outputs"})


@pytest.mark.parametrize(
    "frames",
    [
        [entry("z", 1), content(b"1")],
        [entry("x"), entry("x")],
        [entry("x"), entry("y"), entry("x")],
        [entry("x", mode=FOLDER), entry("x/a"), entry("x/b")],
        [entry("x", mode=FOLDER), listed(1, "x"), entry("x")],
        [content(b"1")],
        [entry("x", 1), content(b"1"), content(b"2")],
        [Frame(b"O", b"late")],
        [Frame(b"N", b"33188 1 -5 x")],
        [Frame(b"N", b"x")],
        [Frame(b"L", b"many x")],
    ],
    ids=str,
)
def test_frames_that_do_not_describe_a_folder_end_the_session(tmp_path, frames):
    with pytest.raises(SessionEndedError):
        take(tmp_path, *frames)


KINDS = st.sampled_from([FILE, FOLDER, stat.S_IFLNK, 0, 10**30])
NAMES = st.sampled_from(["x", "y", "x/a", "x/../../z", "/etc/passwd", "..", "", "x/a/b", "\udcff"])
NUMBERS = st.sampled_from([0, 1, 2, 1 << 21, 10**25])
FRAMES = st.one_of(
    st.builds(
        lambda count, path: Frame(b"L", b"%d %s" % (count, path.encode(errors="surrogateescape"))), NUMBERS, NAMES
    ),
    st.builds(
        lambda mode, size, path: Frame(b"N", b"%d 1 %d %s" % (mode, size, path.encode(errors="surrogateescape"))),
        *(KINDS, NUMBERS, NAMES),
    ),
    st.builds(content, st.binary(max_size=3)),
    st.builds(Frame, st.sampled_from([b"L", b"N", b"B", b"Q"]), st.binary(max_size=9)),
)


@settings(max_examples=500)
@given(frames=st.lists(FRAMES, max_size=12), everything=st.booleans())
def test_whatever_is_said_nothing_is_written_elsewhere_and_no_more_than_is_allowed(
    tmp_path_factory, frames, everything
):
    folder = tmp_path_factory.mktemp("outputs")
    try:
        collected = take(folder, *frames, outputs=ALL if everything else ("x", "y"), limits=Limits(output_mib=1))
    except SessionEndedError:
        collected = CollectedOutputs()
    written = [path for path in folder.rglob("*") if path.is_file()]
    assert all(path.name.isdigit() for path in written)
    assert sum(path.stat().st_size for path in written) <= 1 << 20
    for output in collected.outputs.values():
        assert all(folder in path.parents for path in output.files.values())
        assert all(part not in {"", ".."} for name in output.files for part in name.split("/"))


# --- the session itself -----------------------------------------------------------------------------------------------


@pytest.fixture
def frames(request) -> Iterator[FrameStream]:
    command = [sys.executable, "-c", f"import sys, time; {request.param}"]
    pipe = subprocess.PIPE
    with subprocess.Popen(command, stdin=pipe, stdout=pipe, stderr=pipe, bufsize=0) as process:
        with closing(FrameStream(process, b"opening")) as opened:
            yield opened
        process.kill()


def within(seconds: float) -> float:
    return time.monotonic() + seconds


ECHO = "told = sys.stdin.read(7); sys.stdout.write('O\\0\\0\\0\\7' + told); sys.stdout.flush(); time.sleep(60)"


@pytest.mark.parametrize("frames", [ECHO], indirect=True)
def test_a_container_reads_its_opening_and_its_frames_are_read(frames):
    assert frames.next_frame(within(30)) == Frame(b"O", b"opening")
    assert frames.next_frame(within(0.1)) is None


@pytest.mark.parametrize("frames", ["print('what is this?' * 99, flush=True); time.sleep(60)"], indirect=True)
def test_what_is_no_frame_ends_the_session(frames):
    with pytest.raises(SessionEndedError, match="no message"):
        frames.next_frame(within(30))


@pytest.mark.parametrize(
    "frames", ["print('time=\"x\" level=warning', file=sys.stderr); sys.exit('why')"], indirect=True
)
def test_the_error_names_the_last_message_of_the_engine(frames):
    with pytest.raises(SessionEndedError, match=r"ended: why$"):
        frames.next_frame(within(30))


SAY = """
def say(kind, payload):
    sys.stdout.buffer.write(kind + len(payload).to_bytes(4, 'big') + payload)
"""


def report(**changes: object) -> bytes:
    told = {"wait_status": 0, "wall_s": 1, "cpu_s": 0.5, "peak_bytes": 1 << 20, "oom_kills": 0, "cut": [1, 2]}
    return json.dumps({**told, "used_its_cpu": False, "full": False, **changes}).encode()


def telling(*frames: tuple[bytes, bytes]) -> str:
    return f"exec({SAY!r}); [say(*frame) for frame in {frames!r}]; sys.stdout.flush(); time.sleep(60)"


@pytest.mark.parametrize(
    "frames", [telling((b"O", b"12"), (b"E", b"3"), (b"O", b"4"), (b"D", report()))], indirect=True
)
def test_a_job_is_followed_to_its_end(frames):
    session = ContainerSession(frames, Job(command=("true",), limits=Limits(wall_s=30)))
    ending = session.wait_ended()
    assert (ending.wait_status, ending.cut_short, ending.cpu_s, ending.peak_memory_mib) == (0, None, 0.5, 1.0)
    assert (session.stdout.kept, session.stdout.cut, session.stderr.kept, session.stderr.cut) == (b"124", 1, b"3", 2)


@pytest.mark.parametrize("frames", [telling((b"O", b"x" * 3000), (b"D", report()))], indirect=True)
def test_more_than_there_is_room_for_is_not_kept(frames):
    session = ContainerSession(frames, Job(command=("true",), limits=Limits(wall_s=30, stream_kib=1)))
    session.wait_ended()
    assert len(session.stdout.kept) == 1024


@pytest.mark.parametrize(
    "frames",
    [
        telling((b"D", told))
        for told in (
            *(b"", b"[]", b"{}", b"\xff", report(wait_status=None), report(wait_status=-1), report(wait_status=10**30)),
            *(report(cut=[1]), report(cut="ab"), report(peak_bytes=float("inf")), report(cpu_s="no")),
        )
    ],
    indirect=True,
)
def test_what_is_no_report_is_the_sandbox_s_failure(frames):
    with pytest.raises(SessionEndedError):
        ContainerSession(frames, Job(command=("true",), limits=Limits(wall_s=30))).wait_ended()


@pytest.mark.parametrize("frames", [telling((b"X", b"")), telling((b"F", b"no memfd"))], indirect=True)
def test_the_error_says_why_a_job_did_not_begin(frames):
    with pytest.raises(SessionEndedError, match=r"'wanted' is not there|no memfd"):
        ContainerSession(frames, Job(command=("wanted",))).wait_begun(30)

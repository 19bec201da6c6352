from __future__ import annotations

import os
import signal
import stat
import subprocess
import sys
import time

import pytest
from pydantic import BaseModel

from flyteplugins_codegen.store import ContentStore, digest, remembered, write_file


class Entry(BaseModel):
    text: str


@pytest.fixture
def store(tmp_path):
    return ContentStore(tmp_path / "store")


def test_a_stored_value_is_read_back(store):
    store.put("kind", "ab12", Entry(text="é\u2028"))
    assert store.get("kind", "ab12", Entry) == Entry(text="é\u2028")
    assert store.get("kind", "ab13", Entry) is None


@pytest.mark.parametrize("damage", [b"", b"x", b"0" * 64 + b"\n{}", None])
def test_a_damaged_entry_reads_as_absent_and_is_replaced(store, damage):
    store.put("kind", "ab12", Entry(text="whole"))
    path = store.path("kind", "ab12")
    path.write_bytes(path.read_bytes()[:-3] if damage is None else damage)
    assert store.get("kind", "ab12", Entry) is None
    store.put("kind", "ab12", Entry(text="again"))
    assert store.get("kind", "ab12", Entry) == Entry(text="again")


def test_a_value_is_computed_once_and_anew_on_demand(store):
    computed = []

    def compute():
        computed.append(1)
        return Entry(text=str(len(computed)))

    assert remembered(store, "kind", "k" * 8, Entry, compute).text == "1"
    assert remembered(store, "kind", "k" * 8, Entry, compute).text == "1"
    assert remembered(store, "kind", "k" * 8, Entry, compute, reread=False).text == "2"
    assert remembered(store, "kind", "k" * 8, Entry, compute).text == "2"


def test_a_disk_that_cannot_be_written_gives_a_warning_and_the_value_is_kept(tmp_path, caplog):
    (tmp_path / "file").touch()
    store = ContentStore(tmp_path / "file")
    assert remembered(store, "kind", "k" * 8, Entry, lambda: Entry(text="done")) == Entry(text="done")
    (record,) = caplog.records
    assert (record.name, record.levelname) == ("flyteplugins_codegen.store", "WARNING")
    assert f"kind could not be kept in {store.root}" in record.getMessage()


def test_a_writer_killed_at_any_moment_leaves_the_old_file_or_the_new_one(tmp_path):
    path = tmp_path / "file"
    old, new = b"a" * 4_000_000, b"b" * 4_000_000
    write_file(path, old)
    script = (
        "import sys, pathlib\nfrom flyteplugins_codegen.store import write_file\n"
        "print(flush=True)\nwhile True:\n"
        "    write_file(pathlib.Path(sys.argv[1]), b'b' * 4_000_000)\n"
        "    write_file(pathlib.Path(sys.argv[1]), b'a' * 4_000_000)\n"
    )
    for delay_s in (0.0, 0.003, 0.011, 0.029):
        writer = subprocess.Popen([sys.executable, "-c", script, str(path)], stdout=subprocess.PIPE)
        assert writer.stdout is not None
        writer.stdout.readline()
        time.sleep(delay_s)
        writer.send_signal(signal.SIGKILL)
        writer.wait()
        writer.stdout.close()
        assert path.read_bytes() in (old, new)


def test_a_failed_write_leaves_nothing_behind(tmp_path):
    folder = tmp_path / "taken"
    folder.mkdir()
    with pytest.raises(OSError, match="taken"):
        write_file(folder, b"data")
    assert [entry.name for entry in tmp_path.iterdir()] == ["taken"]


def test_a_new_file_has_the_permissions_of_the_umask_and_a_replaced_one_its_own(tmp_path):
    path, before = tmp_path / "results.jsonl", os.umask(0o027)
    try:
        write_file(path, b"one")
        assert stat.S_IMODE(path.stat().st_mode) == 0o640
        path.chmod(0o664)
        write_file(path, b"two")
        assert stat.S_IMODE(path.stat().st_mode) == 0o664
    finally:
        os.umask(before)
    assert path.read_bytes() == b"two"


def test_a_replaced_private_file_is_private_while_it_is_written(tmp_path, monkeypatch):
    path, seen = tmp_path / "private.jsonl", []
    path.touch(mode=0o600)
    path.chmod(0o4640)
    sync = os.fsync
    monkeypatch.setattr(os, "fsync", lambda file: (seen.append(stat.S_IMODE(os.fstat(file).st_mode)), sync(file)))
    create = os.open

    def opened(*arguments, **options):
        descriptor = create(*arguments, **options)
        seen.append(stat.S_IMODE(os.fstat(descriptor).st_mode))
        return descriptor

    monkeypatch.setattr(os, "open", opened)
    write_file(path, b"rows")
    assert seen[1:] == [0o600, 0o4640]  # after the folder's own
    assert stat.S_IMODE(path.stat().st_mode) == 0o4640


def test_a_link_stays_and_the_file_that_it_leads_to_is_replaced(tmp_path):
    link, target = tmp_path / "latest.jsonl", tmp_path / "runs" / "1.jsonl"
    target.parent.mkdir()
    link.symlink_to(target)
    for text in (b"new", b"newer"):
        write_file(link, text)
        assert link.is_symlink()
        assert target.read_bytes() == text
    assert [path.name for path in target.parent.iterdir()] == ["1.jsonl"]


def test_a_pipe_takes_the_bytes_and_stays_a_pipe(tmp_path):
    pipe = tmp_path / "pipe"
    os.mkfifo(pipe)
    reader = subprocess.Popen(["/bin/cat", str(pipe)], stdout=subprocess.PIPE)
    write_file(pipe, b"row\n")
    assert reader.communicate(timeout=20)[0] == b"row\n"
    assert stat.S_ISFIFO(pipe.stat().st_mode)


def test_entries_are_readable_by_their_owner_only(tmp_path):
    store = ContentStore(tmp_path)
    store.put("kind", "k" * 8, Entry(text="said to a model"))
    assert stat.S_IMODE(store.path("kind", "k" * 8).stat().st_mode) == 0o600


def test_digests_differ_by_types_and_boundaries():
    assert len({digest("ab", "c"), digest("a", "bc"), digest("abc"), digest(["ab", "c"]), digest(b"abc")}) == 5
    assert digest({"b": 1, "a": 2}) == digest({"a": 2, "b": 1})
    assert digest(Entry(text="x")) == digest({"text": "x"})

from __future__ import annotations

import os
from pathlib import Path

import pytest

from flyteplugins_codegen.packages.trees import discard, link_tree, make_read_only, staged_folder


def test_a_folder_appears_only_when_it_is_whole(tmp_path):
    final = tmp_path / "final"
    with staged_folder(final) as aside:
        (aside / "file").write_text("all")
        assert not final.exists()
    assert (final / "file").read_text() == "all"
    assert list(tmp_path.iterdir()) == [final]


def test_a_failure_leaves_nothing(tmp_path):
    def fail() -> None:
        with staged_folder(tmp_path / "final") as aside:
            (aside / "folder").mkdir()
            raise ValueError

    with pytest.raises(ValueError):  # noqa: PT011  (the bare error raised above)
        fail()
    assert list(tmp_path.iterdir()) == []


def test_the_quicker_one_wins_and_the_other_is_discarded(tmp_path):
    final = tmp_path / "final"
    with staged_folder(final) as slow:
        (slow / "file").write_text("slow")
        with staged_folder(final) as quick:
            (quick / "file").write_text("quick")
    assert (final / "file").read_text() == "quick"
    assert list(tmp_path.iterdir()) == [final]


def test_files_are_linked_and_one_that_is_there_stays(tmp_path):
    for name in ("one", "two"):
        (tmp_path / name / "space").mkdir(parents=True)
        (tmp_path / name / "space" / f"{name}.py").write_text(name)
        (tmp_path / name / "space" / "shared.py").write_text(name)
    for name in ("one", "two"):
        link_tree(tmp_path / name, tmp_path / "forest")
    forest = tmp_path / "forest" / "space"
    assert sorted(path.name for path in forest.iterdir()) == ["one.py", "shared.py", "two.py"]
    assert (forest / "shared.py").read_text() == "one"
    assert (forest / "two.py").samefile(tmp_path / "two" / "space" / "two.py")


def test_files_are_copied_with_their_times_where_links_are_not_possible(tmp_path):
    """On another file system files are copied, and keep their times: Python matches bytecode to its source by them."""
    other = Path("/dev/shm")
    if not other.is_dir() or other.stat().st_dev == tmp_path.stat().st_dev:
        pytest.skip("this machine has no second file system to copy to")
    (tmp_path / "layer").mkdir()
    source = tmp_path / "layer" / "module.py"
    source.write_text("x = 1")
    os.utime(source, (1_000_000_000, 1_000_000_000))
    target = other / f"trees-{os.getpid()}"
    try:
        link_tree(tmp_path / "layer", target)
        assert (target / "module.py").stat().st_mtime == 1_000_000_000
        assert (target / "module.py").read_text() == "x = 1"
    finally:
        discard(target)


def test_links_that_lead_out_of_the_tree_are_removed_and_what_they_name_is_untouched(tmp_path):
    outside = tmp_path / "outside"
    outside.write_text("mine")
    outside.chmod(0o600)
    folder = tmp_path / "tree"
    (folder / "inner").mkdir(parents=True)
    (folder / "inner" / "link").symlink_to(outside)
    (folder / "up").symlink_to(tmp_path, target_is_directory=True)
    (folder / "tool").write_text("#!/bin/sh")
    (folder / "tool").chmod(0o755)
    make_read_only(folder)
    assert sorted(path.name for path in folder.rglob("*")) == ["inner", "tool"]
    assert [oct(path.stat().st_mode & 0o777) for path in (folder, folder / "inner", folder / "tool")] == ["0o555"] * 3
    assert outside.stat().st_mode & 0o777 == 0o600
    discard(folder)
    assert not folder.exists()

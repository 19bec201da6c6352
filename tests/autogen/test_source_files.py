"""Files are read unchanged, and replaced all or none."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from flyteplugins_codegen.autogen.source_files import read_source_files, replace_files
from flyteplugins_codegen.errors import RequestError


def changes_of(paths):
    return {path: (path.read_bytes(), path.read_bytes() + b"more\n") for path in paths}


def everything_in(folder):
    return {path.name: path.read_bytes() for path in folder.iterdir()}


def test_all_are_replaced(files, tmp_path):
    changes = changes_of(files(a="1\n", b="2\n"))
    replace_files(changes)
    assert everything_in(tmp_path) == {"a.py": b"1\nmore\n", "b.py": b"2\nmore\n"}


def test_a_file_that_somebody_changed_meanwhile_stops_all(files, tmp_path):
    paths = files(a="1\n", b="2\n")
    changes = changes_of(paths)
    paths[1].write_text("theirs\n")
    with pytest.raises(RequestError, match=r"b\.py was changed while the model was asked"):
        replace_files(changes)
    assert everything_in(tmp_path) == {"a.py": b"1\n", "b.py": b"theirs\n"}


@pytest.mark.parametrize("failing", [1, 2, 3])
@pytest.mark.parametrize("call", ["replace", "fsync"])
def test_where_one_cannot_be_written_none_is_changed(files, tmp_path, monkeypatch, failing, call):
    changes = changes_of(files(a="1\n", b="2\n", c="3\n"))
    before = everything_in(tmp_path)
    real = getattr(os, call)
    made = []

    def fail_once(*args):
        made.append(args)
        if len(made) == failing:
            raise OSError(28, "No space left on device", str(tmp_path))
        return real(*args)

    monkeypatch.setattr(os, call, fail_once)
    with pytest.raises(RequestError, match="No space left on device; no file was changed"):
        replace_files(changes)
    assert everything_in(tmp_path) == before


def test_a_link_stays_a_link(files, tmp_path):
    (path,) = files(a="1\n")
    link = tmp_path / "link.py"
    link.symlink_to(path)
    (file,) = read_source_files([link]).files
    replace_files({file.path: (file.data, b"2\n")})
    assert link.is_symlink()
    assert path.read_text() == "2\n"


def test_names_are_those_by_which_python_imports_the_files(tmp_path):
    package = tmp_path / "shop" / "parts"
    package.mkdir(parents=True)
    for folder in (package, package.parent):
        (folder / "__init__.py").write_text("x = 1\n")
    (package / "wheel.py").write_text("y = 1\n")
    assert list(read_source_files([package / "wheel.py"]).texts) == ["shop/parts/wheel.py"]
    outside = tmp_path / "tool.py"
    outside.write_text("z = 1\n")
    assert list(read_source_files([outside, str(package / "wheel.py")]).texts) == ["tool.py", "shop/parts/wheel.py"]


def test_a_relative_name_is_found_from_where_one_is(files, monkeypatch):
    (path,) = files(a="1\n")
    monkeypatch.chdir(path.parent)
    (file,) = read_source_files([Path("a.py")]).files
    assert (file.path, file.label) == (path, "a.py")

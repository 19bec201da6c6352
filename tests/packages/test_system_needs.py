"""Real messages of programs that miss a library or a command, and the Debian package that provides it."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

import pytest

from flyteplugins_codegen.packages import system as system_needs
from flyteplugins_codegen.packages.system import check_system_name, system_packages_for


@pytest.mark.parametrize(
    ("message", "packages"),
    [
        ("ImportError: libGL.so.1: cannot open shared object file: No such file or directory", ("libgl1",)),
        ("OSError: libgomp.so.1: cannot open shared object file: No such file or directory", ("libgomp1",)),
        ("OSError: cannot load library 'libgobject-2.0-0': libgobject-2.0-0: cannot open shared", ("libglib2.0-0",)),
        ("ImportError: failed to find libmagic.  Check your installation", ("libmagic1",)),
        (
            "pytesseract.TesseractNotFoundError: tesseract is not installed or it's not in your PATH.",
            ("tesseract-ocr",),
        ),
        ("PDFInfoNotInstalledError: Unable to get page count. Is poppler installed and in PATH?", ("poppler-utils",)),
        ("sh: 1: pdftotext: not found", ("poppler-utils",)),
        ("bash: ffmpeg: command not found\nffprobe: command not found", ("ffmpeg",)),
        ("ImportError: libthey-wrote-it.so.1: cannot open shared object file", ()),
        ("FileNotFoundError: [Errno 2] No such file or directory: 'git'", ()),
        ("ModuleNotFoundError: No module named 'git'", ()),
    ],
)
def test_what_is_missing_names_its_package(message, packages):
    assert system_packages_for(message) == packages


def said_by(program):
    ended = subprocess.run(
        [sys.executable, "-c", program], env={"PATH": ""}, capture_output=True, text=True, check=False
    )
    assert ended.returncode
    return ended.stderr


def test_a_command_that_cannot_be_started_is_told_from_a_file_that_is_not_there():
    assert system_packages_for(said_by("import subprocess; subprocess.run(['wkhtmltopdf'])")) == ("wkhtmltopdf",)
    assert system_packages_for(said_by("open('wkhtmltopdf')")) == ()


def test_every_package_of_the_table_is_a_name_of_a_debian_package():
    table = json.loads(Path(system_needs.__file__).with_name("system_needs.json").read_text())
    names = {name for part in table.values() for name in part.values()}
    assert {check_system_name(name) for name in names} == names

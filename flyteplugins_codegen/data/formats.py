"""What a sample file is: what its name claims, held against what its first bytes, or all of them, say."""

from __future__ import annotations

import codecs
import json
from dataclasses import dataclass
from pathlib import Path
from typing import Literal

from flyteplugins_codegen.data.dialects import looks_like_table
from flyteplugins_codegen.data.files import check_readable, unreadable
from flyteplugins_codegen.errors import SampleError

Format = Literal["csv", "parquet", "arrow", "json", "jsonl", "text", "binary"]

HEAD_BYTES = 1 << 16
_CHUNK_BYTES = 1 << 20
_CLAIMS: dict[str, Format] = {
    ".csv": "csv",
    ".tsv": "csv",
    ".tab": "csv",
    ".psv": "csv",
    ".parquet": "parquet",
    ".pq": "parquet",
    ".arrow": "arrow",
    ".feather": "arrow",
    ".ipc": "arrow",
    ".json": "json",
    ".geojson": "json",
    ".jsonl": "jsonl",
    ".ndjson": "jsonl",
}
# A file with one of these extensions, or none, is whatever its content is.
_CLAIMS_NOTHING = frozenset({"", ".txt", ".dat", ".data"})
_SIGNATURES: tuple[tuple[bytes, str], ...] = (
    (b"PAR1", "Parquet"),
    (b"ARROW1", "Arrow"),
    (b"\xff\xff\xff\xff", "Arrow stream"),
    (b"\x1f\x8b", "gzip"),
    (b"PK\x03\x04", "a zip archive (Excel files are such)"),
    (b"\x28\xb5\x2f\xfd", "zstd"),
    (b"BZh", "bzip2"),
    (b"\xfd7zXZ\x00", "xz"),
    (b"%PDF", "PDF"),
    (b"\x89PNG", "PNG"),
    (b"\xff\xd8\xff", "JPEG"),
    (b"\xd0\xcf\x11\xe0", "an old Office document"),
    (b"SQLite format 3\x00", "SQLite"),
    (b"Obj\x01", "Avro"),
)
_BYTE_ORDER_MARKS = ((codecs.BOM_UTF8, "utf-8-sig"), (codecs.BOM_UTF16_LE, "utf-16"), (codecs.BOM_UTF16_BE, "utf-16"))
_CONTROLS = frozenset(range(0x20)) - frozenset(b"\t\n\r\f\x1b")


@dataclass(frozen=True)
class Content:
    """What a file holds. `encoding` is Python's name of it, for text; `kind` names the content for a person.

    `has_hex` says that `0x` occurs in the text somewhere: Arrow takes `0x1F` for a number, pandas does not.
    """

    format: Format
    encoding: str = "utf-8"
    kind: str = ""
    notes: tuple[str, ...] = ()
    has_hex: bool = False


@dataclass(frozen=True)
class _TextFacts:
    encoding: str
    has_hex: bool = False


def identify(name: str, path: Path) -> Content:
    """What the sample's file holds, by extension and content.

    Raises:
        SampleError: it cannot be read, is empty, or holds something else than its extension says.
    """
    check_readable(name, path)
    claim = _CLAIMS.get(path.suffix.lower())
    try:
        found = _content(path, claim)
    except OSError as error:
        raise unreadable(name, path, error) from error
    if claim is not None and not _agree(claim, found.format):
        raise SampleError(
            f"sample {name!r}: {path} is called {path.suffix}, but its content is {found.kind}; "
            "give it the right extension, or pass the right file"
        )
    return found


def read_head(path: Path, encoding: str, size_bytes: int = HEAD_BYTES) -> str:
    """The first bytes of a text file, decoded; a character cut at the end is left out."""
    with path.open("rb") as file:
        data = file.read(size_bytes)
    return codecs.getincrementaldecoder(encoding)(errors="replace").decode(data)


def _agree(claim: Format, found: Format) -> bool:
    return claim == found or {claim, found} == {"json", "jsonl"}


def _content(path: Path, claim: Format | None) -> Content:
    with path.open("rb") as file:
        head = file.read(HEAD_BYTES)
    signature = next((kind for mark, kind in _SIGNATURES if head.startswith(mark)), None)
    if signature is not None:
        return _signed(signature)
    facts = _text_facts(path, head)
    return Content(format="binary", kind="binary data") if facts is None else _text_content(path, claim, facts)


def _signed(kind: str) -> Content:
    if kind == "Parquet":
        return Content(format="parquet", kind=kind)
    if kind.startswith("Arrow"):
        return Content(format="arrow", kind=kind)
    return Content(format="binary", kind=kind)


def _text_facts(path: Path, head: bytes) -> _TextFacts | None:
    """The facts on a text file; None for binary data. Reads on to the end, in chunks, to be sure."""
    marked = next((encoding for mark, encoding in _BYTE_ORDER_MARKS if head.startswith(mark)), None)
    if marked == "utf-16":
        return _TextFacts(marked)
    decoder, is_utf8, has_hex, last = codecs.getincrementaldecoder("utf-8")(), True, False, b""
    with path.open("rb") as file:
        while chunk := file.read(_CHUNK_BYTES):
            if b"\x00" in chunk:
                return None
            is_utf8 = is_utf8 and _decodes(decoder, chunk)
            has_hex = has_hex or _has_hex(last + chunk)
            last = chunk[-1:]
    if is_utf8 and _decodes(decoder, b"", final=True):
        return _TextFacts(marked or "utf-8", has_hex)
    return None if _has_controls(head) else _TextFacts("latin-1", has_hex)


def _has_hex(data: bytes) -> bool:
    return b"0x" in data or b"0X" in data


def _decodes(decoder: codecs.IncrementalDecoder, chunk: bytes, *, final: bool = False) -> bool:
    try:
        decoder.decode(chunk, final)
    except UnicodeDecodeError:
        return False
    return True


def _has_controls(head: bytes) -> bool:
    controls = sum(byte in _CONTROLS for byte in head[:4096])
    return controls > len(head[:4096]) // 100


def _text_content(path: Path, claim: Format | None, facts: _TextFacts) -> Content:
    head = read_head(path, facts.encoding)
    form, kind = _text_format(head, claim, path.suffix.lower())
    notes = []
    if facts.encoding in ("latin-1", "utf-16"):
        notes.append(f"not UTF-8: read it with encoding={facts.encoding!r}")
    if claim == "json" and form == "jsonl":
        notes.append("the name says JSON, the content is JSON Lines: one document a line")
    return Content(form, facts.encoding, kind, tuple(notes), facts.has_hex)


def _text_format(head: str, claim: Format | None, suffix: str) -> tuple[Format, str]:
    start = head.lstrip("\ufeff \t\r\n")
    json_format = _json_format(start, claim)
    if json_format is not None and (claim is not None or suffix in _CLAIMS_NOTHING):
        return json_format, "JSON" if json_format == "json" else "JSON Lines"
    if start[:200].lower().startswith(("<!doctype", "<html", "<?xml")):
        return "text", "a web page or XML"
    if claim in ("json", "jsonl"):
        # Not even its beginning is JSON.
        return "text", "other text"
    if claim == "csv" or (suffix in _CLAIMS_NOTHING and looks_like_table(head)):
        return "csv", "delimited text"
    return "text", "text"


def _json_format(start: str, claim: Format | None) -> Literal["json", "jsonl"] | None:
    """What text that begins like this is; None for no JSON. JSON Lines: its first line is a whole value, and more come.

    A single object is JSON Lines only where the name says so.
    """
    if not start.startswith(("{", "[")):
        return None
    first, _, rest = start.partition("\n")
    if claim == "jsonl" and start[0] == "{":
        return "jsonl"
    if _is_json(first):
        return "jsonl" if rest.lstrip()[:1] == start[0] else "json"
    # An opening bracket alone is JSON only if what follows can be: `[draft] notes` and `{x}, {y}` are text.
    following = start[1:].lstrip()[:1]
    allowed = '"}' if start[0] == "{" else '"{[]-0123456789tfn'
    return "json" if following in allowed else None


def _is_json(text: str) -> bool:
    try:
        json.loads(text)
    except (ValueError, RecursionError):
        return False
    return True

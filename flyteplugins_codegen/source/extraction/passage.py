"""A block of code of a reply, and the passage of lines that it is read from."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Literal

BlockKind = Literal["code", "diff", "search_replace"]


@dataclass(frozen=True, slots=True, kw_only=True)
class CodeBlock:
    """One block of code of a reply.

    `code` ends without a newline. `attributes` are those of the info string: `{"title": "x.py"}` for
    `python title="x.py"`, with "" for a bare word. `file_name` is the name that the reply gives the file, or None; it
    is untrusted text and must be checked before it is used as a path. `first_line` and `last_line` count from 1, fences
    included; 0 is for a block that comes from no reply. `closed` is False if the end of the block is missing, as in a
    reply that was cut off. `kind` says whether the code is a file's content, a unified diff, or search and replace
    sections (`<<<<<<< SEARCH`).
    """

    language: str
    code: str
    attributes: Mapping[str, str] = field(default_factory=dict, hash=False)
    file_name: str | None = None
    first_line: int = 0
    last_line: int = 0
    closed: bool = True
    kind: BlockKind = "code"


@dataclass(frozen=True, slots=True, kw_only=True)
class Passage:
    """Lines of a reply that hold code, before its language is inferred.

    `first` and `last` are indices into the lines of the reply. `language` and `attributes` are those that the reply
    states, `above` is the line above the code.
    """

    code: str
    first: int
    last: int
    language: str = ""
    attributes: Mapping[str, str] = field(default_factory=dict)
    above: str = ""
    closed: bool = True

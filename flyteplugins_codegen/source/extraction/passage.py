"""One block of code of a reply."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Literal

BlockKind = Literal["code", "diff", "search_replace"]


@dataclass(frozen=True, slots=True, kw_only=True)
class CodeBlock:
    """One block of code of a reply.

    `code` ends without a newline. `attributes` are those of the info string: `{"title": "x.py"}` for
    `python title="x.py"`, with "" for a bare word. `file_name` is what the reply calls the file, None if it does not:
    a stranger's text, never a path to write to unchecked. `first_line` and `last_line` count from 1, fences included;
    0 is for a block that is of no reply. `closed` is False where the block's end is missing, as in a reply that was cut
    off. `kind` is what the code is to a file: the code itself, a unified diff, or search and replace sections
    (`<<<<<<< SEARCH`).
    """

    language: str
    code: str
    attributes: Mapping[str, str] = field(default_factory=dict, hash=False)
    file_name: str | None = None
    first_line: int = 0
    last_line: int = 0
    closed: bool = True
    kind: BlockKind = "code"


# Lines of a reply that are code.


@dataclass(frozen=True, slots=True, kw_only=True)
class Passage:
    """Code in a reply, before anybody asked what language it is.

    `first` and `last` are indices into the lines of the reply. `language` and `attributes` are what the reply says
    beside the code, `above` is the line over it.
    """

    code: str
    first: int
    last: int
    language: str = ""
    attributes: Mapping[str, str] = field(default_factory=dict)
    above: str = ""
    closed: bool = True

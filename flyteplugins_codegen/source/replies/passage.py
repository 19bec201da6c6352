"""Lines of a reply that are code."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field


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

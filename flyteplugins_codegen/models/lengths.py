"""How long a text may be that is read in our own process."""

from __future__ import annotations

from typing import Final

LONGEST_SOURCE_CHARS: Final = 1_000_000
"""Of a program, its tests or a prompt: Python's parser takes up to 600 bytes and 10 µs for a character.

No solution is longer, and no model takes more.
"""

"""How much a text reads as English prose: its small words, sentences, and few of the signs that code is made of."""

from __future__ import annotations

import re
from typing import Final

from flyteplugins_codegen.source.inference.evidence import names

_SMALL: Final = names(
    """
    the a an is are was were be been of to you your we our they their it its this that these those there here have has
    had will would can could should may might must do does did not no but so than too very please how what why when who
    i my me he she his her them on at by about into over under after before again all any each few more most other some
    such only own same both once just also need want make sure let's it's don't you're i'm if and or then with as for in
    """
)
# Keywords and names of code as well: without any other small word they tell nothing.
_SHARED: Final = names("if and or then with as for in not on by is let all any this no do when")
_WORD: Final = re.compile(r"[A-Za-z][A-Za-z']+")
_SIGN: Final = re.compile(r"[{}()\[\];=<>$|&\\_@`~^%]|::|->|--| -\w")
_SENTENCE: Final = re.compile(r"[a-z)][.!?:](?:\s|$)|[a-z], [a-z]")
_CAPITAL: Final = re.compile(r"^(?:[-*#>\d.]+ )*[A-Z][a-z']*,? [a-z]", re.MULTILINE)
_FEWEST_WORDS: Final = 3
_MOST: Final = 10.0


def weigh_prose(code: str) -> float:
    """How strongly a text, without what strings and comments say, reads as prose: 0.0 to 10.0."""
    found = [word.lower() for word in _WORD.findall(code)]
    if len(found) < _FEWEST_WORDS:
        return 0.0
    small = sum(word in _SMALL for word in found)
    certain = sum(word in _SMALL and word not in _SHARED for word in found)
    if not certain and small < _FEWEST_WORDS:
        return 0.0
    weight = 16.0 * small / len(found) if certain else 0.0
    weight += 1.5 * bool(_SENTENCE.search(code)) + 1.5 * bool(_CAPITAL.search(code))
    signs = len(_SIGN.findall(code)) / len(found)
    return max(0.0, min(weight, _MOST) * (1.0 - 1.6 * signs))

"""The info string of a fence: the language, and what else it says.

CommonMark leaves its meaning open but for the first word. Understood are the spellings of Pandoc and Quarto
(`{.python title="x.py"}`, `{python}`), of Hugo, Docusaurus and MkDocs (`python {linenos=true}`, `tsx {1,3-5}`,
`python title=x.py`), of Rust (`rust,ignore`), of MyST (`{code-block} python`) and of code editors (`python:src/x.py`,
`12:14:src/x.py`, `src/x.py`).
"""

from __future__ import annotations

import re
from functools import lru_cache
from html import unescape
from typing import NamedTuple

from flyteplugins_codegen.source.language_names import LANGUAGES, language_of, language_of_file
from flyteplugins_codegen.source.replies.names import is_file_name

_ESCAPE = re.compile(r"\\([!-/:-@\[-`{-~])")
_LINES = re.compile(r"\{([\d,\s-]+)\}")
_TOKEN = re.compile(
    r"""(?P<key>[^\s,{}"'=]+)=(?:"(?P<double>[^"]*)"|'(?P<single>[^']*)'|(?P<list>\[[^\]]*\])|(?P<plain>[^\s,}]*))"""
    r"""|(?P<word>[^\s,{}]+)"""
)
_DIRECTIVES = frozenset({"code", "code-block", "code-cell", "sourcecode", "literalinclude", "code-file"})
_RANGE = re.compile(r"(\d+):(\d+):(.+)")
_LONGEST = 1_000  # an info string of more is a line of something else
_SENTENCE_WORDS = 3


class Info(NamedTuple):
    """A language ("" if none is said) and the attributes, in order; words without a value have ""."""

    language: str
    attributes: tuple[tuple[str, str], ...] = ()


@lru_cache(maxsize=1024)
def parse_info(info: str) -> Info:
    """What an info string says; never raises."""
    text = unescape(_ESCAPE.sub(r"\1", info[:_LONGEST]))
    attributes = [("lines", lines.replace(" ", "")) for lines in _LINES.findall(text)]
    words: list[str] = []
    for token in _TOKEN.finditer(_LINES.sub(" ", text)):
        if token["word"]:
            words.append(token["word"])
        else:
            value = next(filter(None, token.group("double", "single", "list", "plain")), "")
            attributes.append((token["key"], value))
    return _told(words, dict(attributes))


def names_language(info: str) -> bool:
    """Whether an info string begins as a person would write one, with a known language or a file name."""
    told = parse_info(info)
    return told.language in LANGUAGES or any(key == "file" for key, _ in told.attributes)


def is_sentence(info: str) -> bool:
    """Whether the words after a fence are prose: a closing fence with the next sentence glued to it."""
    words = [word for word in info.split() if word.strip(".,:;!?'\"").isalpha()]
    return len(words) >= _SENTENCE_WORDS and not names_language(info)


def _told(words: list[str], attributes: dict[str, str]) -> Info:
    named = next((word for word in words if not word.startswith("#")), "")
    words = [word for word in words if word is not named]
    first = named.removeprefix(".")
    if first in _DIRECTIVES and words:
        first = words.pop(0)
    language, file = _language_and_file(first)
    if sum(word.isalpha() for word in words) > 1 and language not in LANGUAGES:
        language = ""  # a sentence
    for word in (word.strip("()") for word in words):
        if word.startswith("#"):
            attributes.setdefault("id", word[1:])
        elif word.startswith("."):
            attributes["class"] = f"{attributes.get('class', '')} {word[1:]}".strip()
        elif is_file_name(word) and not file:
            file = {"file": word}
        else:
            attributes.setdefault(word, "")
    language = language or language_of(attributes.get("language") or attributes.get("lang") or "")
    return Info(language, tuple({**attributes, **file}.items()))


def _language_and_file(word: str) -> tuple[str, dict[str, str]]:
    lines = _RANGE.fullmatch(word)
    if lines:
        return language_of_file(lines[3]), {"file": lines[3], "lines": f"{lines[1]}-{lines[2]}"}
    left, _, right = word.rstrip(":,").partition(":")
    if right and (language_of(left) in LANGUAGES or is_file_name(right)):
        return language_of(left), {"file": right}
    word = word if len(word) == 1 else word.rstrip(":,")
    if language_of(word) not in LANGUAGES and is_file_name(word):
        return language_of_file(word), {"file": word}
    return language_of(word), {}

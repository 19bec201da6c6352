"""What a reply says of a block of code: the info string of its fence, and the names of its language and file nearby.

CommonMark defines only the first word of an info string. Understood are the spellings of Pandoc and Quarto
(`{.python title="x.py"}`, `{python}`), of Hugo, Docusaurus and MkDocs (`python {linenos=true}`, `tsx {1,3-5}`,
`python title=x.py`), of Rust (`rust,ignore`), of MyST (`{code-block} python`) and of code editors (`python:src/x.py`,
`12:14:src/x.py`, `src/x.py`).
"""

from __future__ import annotations

import re
from functools import lru_cache
from html import unescape
from typing import NamedTuple

from flyteplugins_codegen.source.languages.names import LANGUAGES, language_of, language_of_file

_ESCAPE = re.compile(r"\\([!-/:-@\[-`{-~])")
_LINES = re.compile(r"\{([\d,\s-]+)\}")
_TOKEN = re.compile(
    r"""(?P<key>[^\s,{}"'=]+)=(?:"(?P<double>[^"]*)"|'(?P<single>[^']*)'|(?P<list>\[[^\]]*\])|(?P<plain>[^\s,}]*))"""
    r"""|(?P<word>[^\s,{}]+)"""
)
_DIRECTIVES = frozenset({"code", "code-block", "code-cell", "sourcecode", "literalinclude", "code-file"})
_RANGE = re.compile(r"(\d+):(\d+):(.+)")
_LONGEST_INFO_CHARS = 1_000
_SENTENCE_WORDS = 3

_PATH = re.compile(r"[\w.@~+\-/\\\[\]()$]*[\w\])](?:\.[A-Za-z][\w+-]{0,15})?\Z")
_BARE_NAMES = frozenset({".env", ".gitignore", ".dockerignore", "license", "procfile", "go.mod", "go.sum"})
_PRODUCTS = re.compile(r"(?:node|vue|next|react|express|three|d3|nuxt|chart|asp)\.(?:js|net)", re.IGNORECASE)
_LONGEST_NAME_CHARS = 200
_DECORATION = "*_#`:.,>-\u2013()[]\"' \t"
_NUMBER = re.compile(r"(?:step[ \t]+)?\d{1,3}[.):][ \t]*", re.IGNORECASE)
_SPAN = re.compile(r"[`*\"'(]{1,3}([^\s`*\"'()]{1,200})[`*\"')]{1,3}")
# Words that only announce a file.
_FILE_PHRASES = (
    "a an and as called content contents create created edit file filename for full here here's in into is its let"
    " modify name named new now of path put save saved script source the then this to update updated with write"
)
_FILE_WORDS = frozenset(_FILE_PHRASES.split())
_COMMENT = re.compile(r"[ \t]*(?:#|//|--|;|%|/\*|<!--|\"\"\"|REM\b)[ \t]*(.*?)[ \t]*(?:\*/|-->|\"\"\")?[ \t]*\Z")
_LABEL = re.compile(r"(?:file[ _-]?name|file[ _-]?path|file|path)[ \t]*[:=][ \t]*", re.IGNORECASE)
_ATTRIBUTES = ("title", "filename", "file", "path", "filepath", "file_path", "name")


# --- info strings -----------------------------------------------------------------------------------------------------


class FenceInfo(NamedTuple):
    """A language, "" if none is stated, and the attributes in order; words without a value have ""."""

    language: str
    attributes: tuple[tuple[str, str], ...] = ()


@lru_cache(maxsize=1024)
def parse_info(info: str) -> FenceInfo:
    """The language and the attributes of an info string; never raises."""
    text = unescape(_ESCAPE.sub(r"\1", info[:_LONGEST_INFO_CHARS]))
    attributes = [("lines", lines.replace(" ", "")) for lines in _LINES.findall(text)]
    words: list[str] = []
    for token in _TOKEN.finditer(_LINES.sub(" ", text)):
        if token["word"]:
            words.append(token["word"])
        else:
            value = next(filter(None, token.group("double", "single", "list", "plain")), "")
            attributes.append((token["key"], value))
    return _read_words(words, dict(attributes))


def names_language(info: str) -> bool:
    """Whether an info string states a known language or a file name."""
    parsed = parse_info(info)
    return parsed.language in LANGUAGES or any(key == "file" for key, _ in parsed.attributes)


def is_sentence(info: str) -> bool:
    """Whether the words after a fence are prose, so that it is a closing fence with a sentence on its line."""
    words = [word for word in info.split() if word.strip(".,:;!?'\"").isalpha()]
    return len(words) >= _SENTENCE_WORDS and not names_language(info)


def _read_words(words: list[str], attributes: dict[str, str]) -> FenceInfo:
    main_word = next((word for word in words if not word.startswith("#")), "")
    words = [word for word in words if word is not main_word]
    first = main_word.removeprefix(".")
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
    return FenceInfo(language, tuple({**attributes, **file}.items()))


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


# --- names of languages and files -------------------------------------------------------------------------------------


def known_language(word: str) -> str:
    """The language that a word names, "" if it names none or plain text."""
    language = language_of(word)
    return language if language in LANGUAGES and language != "text" else ""


def is_file_name(word: str) -> bool:
    """Whether a word is clearly the name of a file: `src/app.py`, `Dockerfile`, but not `os.path` or `Node.js`."""
    if not word or len(word) > _LONGEST_NAME_CHARS or not _PATH.match(word) or _PRODUCTS.fullmatch(word):
        return False
    return bool(language_of_file(word)) or re.split(r"[/\\]", word.lower())[-1] in _BARE_NAMES


def file_in_attributes(attributes: dict[str, str]) -> str | None:
    """The file name among the attributes of an info string or of a tag."""
    names = (attributes[key] for key in _ATTRIBUTES if key in attributes)
    return next((name for name in names if is_file_name(name)), None)


def file_above(line: str) -> str | None:
    """The file name in the line above a block: `**x.py**`, `### 2. src/x.py`, `Create x.py:`; None for a sentence."""
    if not line or len(line) > _LONGEST_NAME_CHARS:
        return None
    text = _NUMBER.sub("", line.strip(_DECORATION), count=1).strip(_DECORATION)
    if is_file_name(text):
        return text
    spans = [span for span in _SPAN.findall(line) if is_file_name(span.strip(_DECORATION))]
    names = spans or [word for word in text.split() if is_file_name(word.strip(_DECORATION))]
    if len(names) != 1:
        return None
    name = names[0].strip(_DECORATION)
    is_heading = bool(spans) and line.lstrip(" \t>0123456789.)").startswith(("#", "**"))
    others = {word.strip(_DECORATION).lower() for word in text.replace(name, " ").split()} - {""}
    return name if is_heading or others <= _FILE_WORDS else None


def file_in_first_line(code: str) -> str | None:
    """The file name in a comment on the code's first line: `# filename: x.py`, `// src/x.js`."""
    line = code[: _LONGEST_NAME_CHARS * 2].lstrip("\n").partition("\n")[0]
    comment = _COMMENT.match(line)
    if not comment or not comment[1] or line.startswith("#!"):
        return None
    label = _LABEL.match(comment[1])
    name = comment[1][label.end() :] if label else comment[1]
    return name if is_file_name(name) or (label and _PATH.match(name)) else None


def language_above(line: str) -> str:
    """The language if the line above a block names just that: `**Python:**`, `### SQL`; else ""."""
    if not line or len(line) > _LONGEST_NAME_CHARS:
        return ""
    return known_language(_NUMBER.sub("", line.strip(_DECORATION), count=1).strip(_DECORATION))

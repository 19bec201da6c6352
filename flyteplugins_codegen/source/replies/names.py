"""What a reply calls the language and the file of a block of code."""

from __future__ import annotations

import re

from flyteplugins_codegen.source.language_names import LANGUAGES, language_of, language_of_file

_PATH = re.compile(r"[\w.@~+\-/\\\[\]()$]*[\w\])](?:\.[A-Za-z][\w+-]{0,15})?\Z")
_BARE_NAMES = frozenset({".env", ".gitignore", ".dockerignore", "license", "procfile", "go.mod", "go.sum"})
_PRODUCTS = re.compile(r"(?:node|vue|next|react|express|three|d3|nuxt|chart|asp)\.(?:js|net)", re.IGNORECASE)
_LONGEST = 200
_DECORATION = "*_#`:.,>-\u2013()[]\"' \t"
_NUMBER = re.compile(r"(?:step[ \t]+)?\d{1,3}[.):][ \t]*", re.IGNORECASE)
_SPAN = re.compile(r"[`*\"'(]{1,3}([^\s`*\"'()]{1,200})[`*\"')]{1,3}")
# Words that say no more than that a file follows.
_FILING = (
    "a an and as called content contents create created edit file filename for full here here's in into is its let"
    " modify name named new now of path put save saved script source the then this to update updated with write"
)
_FILING_WORDS = frozenset(_FILING.split())
_COMMENT = re.compile(r"[ \t]*(?:#|//|--|;|%|/\*|<!--|\"\"\"|REM\b)[ \t]*(.*?)[ \t]*(?:\*/|-->|\"\"\")?[ \t]*\Z")
_LABEL = re.compile(r"(?:file[ _-]?name|file[ _-]?path|file|path)[ \t]*[:=][ \t]*", re.IGNORECASE)
_ATTRIBUTES = ("title", "filename", "file", "path", "filepath", "file_path", "name")


def known_language(word: str) -> str:
    """The language that a word names; "" if it names none that is code."""
    language = language_of(word)
    return language if language in LANGUAGES and language != "text" else ""


def is_file_name(word: str) -> bool:
    """Whether a word can only be the name of a file: `src/app.py`, `Dockerfile`; not `os.path`, not `Node.js`."""
    if not word or len(word) > _LONGEST or not _PATH.match(word) or _PRODUCTS.fullmatch(word):
        return False
    return bool(language_of_file(word)) or re.split(r"[/\\]", word.lower())[-1] in _BARE_NAMES


def file_in_attributes(attributes: dict[str, str]) -> str | None:
    """The file name among the attributes of an info string or of a tag."""
    named = (attributes[key] for key in _ATTRIBUTES if key in attributes)
    return next((name for name in named if is_file_name(name)), None)


def file_above(line: str) -> str | None:
    """The file name that the line over a block is: `**x.py**`, `### 2. src/x.py`, `Create x.py:`; not a sentence's."""
    if not line or len(line) > _LONGEST:
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
    return name if is_heading or others <= _FILING_WORDS else None


def file_in_first_line(code: str) -> str | None:
    """The file name that the code's first line is a comment of: `# filename: x.py`, `// src/x.js`."""
    line = code[: _LONGEST * 2].lstrip("\n").partition("\n")[0]
    comment = _COMMENT.match(line)
    if not comment or not comment[1] or line.startswith("#!"):
        return None
    label = _LABEL.match(comment[1])
    name = comment[1][label.end() :] if label else comment[1]
    return name if is_file_name(name) or (label and _PATH.match(name)) else None


def language_above(line: str) -> str:
    """The language that the line over a block names and nothing else: `**Python:**`, `### SQL`; else ""."""
    if not line or len(line) > _LONGEST:
        return ""
    return known_language(_NUMBER.sub("", line.strip(_DECORATION), count=1).strip(_DECORATION))

"""What a passage of a reply is: its language, its file, its kind, and its code as it was meant."""

from __future__ import annotations

import re
from html import unescape

from flyteplugins_codegen.source.code_block import CodeBlock
from flyteplugins_codegen.source.infer_lang import infer_lang
from flyteplugins_codegen.source.language_names import language_of_file
from flyteplugins_codegen.source.python_syntax import is_python
from flyteplugins_codegen.source.replies.loose_edits import kind_of, search_and_replace_text
from flyteplugins_codegen.source.replies.names import (
    file_above,
    file_in_attributes,
    file_in_first_line,
    language_above,
)
from flyteplugins_codegen.source.replies.passage import Passage

_ENTITY = re.compile(r"&(?:lt|gt|amp|quot|apos|#39|#x27|#34);")
# Where an escape is a part of the language.
_MARKUP = frozenset({"html", "xml", "markdown", "text", "unknown"})


def block_of(passage: Passage) -> CodeBlock:
    """The passage as a block; what the reply says of it counts before what its code looks like."""
    attributes = dict(passage.attributes)
    file = file_in_attributes(attributes) or file_above(passage.above) or file_in_first_line(passage.code)
    said = passage.language or language_of_file(file or "") or language_above(passage.above)
    code, language = (passage.code, said) if said else _inferred(passage.code)
    code = _without_escapes(code, language)
    return CodeBlock(
        language=language,
        code=code,
        attributes=attributes,
        file_name=file,
        first_line=passage.first + 1,
        last_line=passage.last + 1,
        closed=passage.closed,
        kind=kind_of(code, language),
    )


def _inferred(code: str) -> tuple[str, str]:
    """The code and the language that it looks like; a first line that only names that language is no code."""
    first, _, rest = code.partition("\n")
    named = language_above(first)
    if named and infer_lang(rest) == named:
        return rest, named
    is_edit = kind_of(code, "") == "search_replace"
    return code, infer_lang(search_and_replace_text(code) if is_edit else code)


def _without_escapes(code: str, language: str) -> str:
    """The code without HTML's escapes, where they cannot be meant: a page's source was copied."""
    if language in _MARKUP or not _ENTITY.search(code):
        return code
    plain = unescape(code)
    if language == "python":
        return plain if not is_python(code) and is_python(plain) else code
    was_escaped = "<" not in code and ">" not in code and ("<" in plain or ">" in plain)
    return plain if was_escaped else code

"""What extraction does with any text at all."""

from __future__ import annotations

import time
from html import unescape
from itertools import pairwise

import pytest
from hypothesis import given
from hypothesis import strategies as st
from markdown_it import MarkdownIt

from flyteplugins_codegen.source.extraction.blocks import extract_blocks, extract_code

PIECES = [
    "```",
    "```python",
    "~~~ js",
    "````",
    "> ```",
    "- ```sh",
    "  ```",
    "Here:```py",
    "x = 1```",
    "```ls -l```",
    "``",
    "def f():",
    '    """',
    "    return 1",
    "",
    "Here is the code:",
    "<code>",
    "</code>",
    '<file path="x.py">',
    "[PYTHON]",
    '{"code": "',
    "<think>",
    "</think>",
    "<<<<<<< SEARCH",
    "=======",
    ">>>>>>> REPLACE",
    "--- a/x.py",
    "@@ -1 +1 @@",
    "+x",
    "**x.py**",
    "Use `x` or ``y``.",
    "\ud800",
    "\x00",
]
replies = st.lists(st.one_of(st.sampled_from(PIECES), st.text(max_size=20)), max_size=14).map("\n".join)
plain_replies = replies.map(lambda text: text.replace("\\", "").replace("&", ""))


def normalised(text: str) -> str:
    return text.replace("\r\n", "\n").replace("\r", "\n")


@given(text=st.one_of(st.text(), replies), with_spans=st.booleans())
def test_any_text_gives_code_and_its_language(text: str, *, with_spans: bool) -> None:
    found = extract_code(text, detect_single_line_code=with_spans)
    assert found
    assert all(isinstance(language, str) and isinstance(code, str) for language, code in found)


@given(plain_replies)
def test_every_line_of_the_code_is_a_line_of_the_text(text: str) -> None:
    lines = {line.strip() for block in extract_blocks(text) for line in block.code.split("\n")}
    whole = normalised(text)
    assert all(line in whole for line in lines)


@given(replies)
def test_blocks_lie_within_the_text_one_after_the_other(text: str) -> None:
    blocks = extract_blocks(text)
    total = normalised(text).count("\n") + 1
    assert all(1 <= block.first_line <= block.last_line <= total for block in blocks)
    if not text.lstrip().startswith(("{", "[", '"')):
        assert all(one.last_line < other.first_line for one, other in pairwise(blocks))


@given(replies)
def test_the_pairs_are_the_blocks(text: str) -> None:
    pairs = [(block.language, block.code) for block in extract_blocks(text)]
    assert extract_code(text) == (pairs or [("unknown", text)])


plain_lines = st.sampled_from(["FENCE", "FENCE zz", "aaa", " bbb", "> FENCE", "> aaa", ">", "  FENCE", ""])


@pytest.mark.parametrize("mark", ["```", "~~~", "`````"])
@given(lines=st.lists(plain_lines, max_size=16))
def test_plain_fences_are_read_as_a_commonmark_parser_reads_them(mark: str, lines: list[str]) -> None:
    text = "\n".join(lines).replace("FENCE", mark)
    tokens = MarkdownIt("commonmark").disable(["inline", "reference"]).parse(text)
    fenced = [token.content.rstrip() for token in tokens if token.type == "fence" and token.content.strip()]
    ours = [block.code.rstrip() for block in extract_blocks(text) if block.code.strip()]
    # A last fence that nothing closes, with nothing but prose after it, is taken for one too many.
    assert not fenced or ours in (fenced, fenced[:-1])


HOSTILE = [
    *(" ", "`", "``", "```\n", "~~~\n", "x```\n", "```a", "``` ", "```x```\n\n", "\\`", "`a` "),
    *(">", "> ", "> ```\n", "- ", "- ```\n", "- a\n", "1. ", "\t", "\n", "\r"),
    *("```py\n'''\n", "```markdown\n```py\n", "- ```sh\n  cat <<A\nx\n", "``py\n", "**x.py**\n"),
    *("<code>", "<code>\n", "<answer>\n", "<pre><code>\n", "[PYTHON]\n", "<a href=", "<think>", "</think>\n", "<|a|>"),
    *("[", "{", '"a": "', '{"code": "', "\\", "&lt;", "<<<<<<< SEARCH\n", "--- a\n", "--- a\n@@ -1 +1 @@\n+x\n\n"),
    *("The cat is on the mat.\n", "a: b\n", "    x = 1\n\n", "(", "'", '"', "#", "| a |\n", "\x00", "\ud800"),
]


@pytest.mark.parametrize("unit", HOSTILE)
@pytest.mark.parametrize("end", ["", "\n```python\nx = 1"], ids=["alone", "before a fence"])
def test_a_quarter_megabyte_of_anything_is_read_in_seconds(unit: str, end: str) -> None:
    # What is quadratic takes minutes to hours for as much.
    started = time.process_time()
    extract_code(unit * (250_000 // len(unit)) + end, detect_single_line_code=True)
    assert time.process_time() - started < 15


def test_ten_megabytes_of_a_long_reply_are_read_in_seconds() -> None:
    turn = "Some prose about the code.\n\n1. Do:\n   ```python\n   print(1)\n   ```\n\n> quoted\n\n"
    started = time.process_time()
    blocks = extract_blocks(turn * (10_000_000 // len(turn)))
    assert len(blocks) == 10_000_000 // len(turn)
    assert time.process_time() - started < 120


def test_escapes_of_a_copied_page_are_undone() -> None:
    reply = "```cpp\nstd::vector&lt;int&gt; v;\n```"
    assert extract_code(reply) == [("cpp", unescape("std::vector&lt;int&gt; v;"))]

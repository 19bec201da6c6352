"""What a block tells besides its code, inline code, patterns, bad input."""

from __future__ import annotations

import dataclasses
import pickle

import pytest

from flyteplugins_codegen import CodeBlock, extract_blocks, extract_code
from flyteplugins_codegen.errors import ArgumentTypeError, RequestError

AUTOGEN_PATTERN = r"```[ \t]*(\w+)?[ \t]*\r?\n(.*?)\r?\n[ \t]*```"


def only(text: str) -> CodeBlock:
    (block,) = extract_blocks(text)
    return block


def test_a_block_knows_its_lines_fences_included() -> None:
    blocks = extract_blocks("Hi.\n\n```py\nx = 1\n```\r\n\r\n~~~sh\nls\n")
    assert [(block.first_line, block.last_line, block.closed) for block in blocks] == [(3, 5, True), (7, 9, False)]


def test_blocks_of_json_have_all_of_its_lines_and_a_cut_off_one_is_not_closed() -> None:
    block = only('\n{\n"code": "x = 1\\ny = 2"\n}\n')
    assert (block.code, block.first_line, block.last_line) == ("x = 1\ny = 2", 1, 5)
    assert not only('{"code": "x = 1\\ny').closed


def test_thinking_before_a_reply_does_not_move_its_lines() -> None:
    assert only("<think>\n```py\nx\n</think>\n```py\ny = 1\n```").first_line == 5


def test_a_block_is_frozen_hashable_and_picklable() -> None:
    block = only('```python title="x.py"\nx = 1\n```')
    with pytest.raises(dataclasses.FrozenInstanceError):
        block.code = "y"
    copied = pickle.loads(pickle.dumps(block))  # noqa: S301 - our own
    assert (copied, hash(copied)) == (block, hash(block))


@pytest.mark.parametrize(
    ("info", "language", "attributes"),
    [
        ("python", "python", {}),
        ('python title="my file.py"', "python", {"title": "my file.py"}),
        ("python title=x.py", "python", {"title": "x.py"}),
        (
            "{.python title='x.py' .numberLines #main}",
            "python",
            {"title": "x.py", "class": "numberLines", "id": "main"},
        ),
        ("{python}", "python", {}),
        ("{r, echo=FALSE, fig.cap='A plot'}", "r", {"echo": "FALSE", "fig.cap": "A plot"}),
        ("python {linenos=true, hl_lines=[1,3]}", "python", {"linenos": "true", "hl_lines": "[1,3]"}),
        ("tsx {1,3-5} showLineNumbers", "typescript", {"lines": "1,3-5", "showLineNumbers": ""}),
        ("rust,ignore", "rust", {"ignore": ""}),
        ("{code-block} python", "python", {}),
        ("python:src/app.py", "python", {"file": "src/app.py"}),
        ("12:14:src/app.py", "python", {"file": "src/app.py", "lines": "12-14"}),
        ("src/App.tsx", "typescript", {"file": "src/App.tsx"}),
        ("python main.py", "python", {"file": "main.py"}),
        ("mermaid", "mermaid", {}),
    ],
)
def test_an_info_string_is_taken_apart(info: str, language: str, attributes: dict[str, str]) -> None:
    block = only(f"~~~{info}\nx\n~~~")
    assert (block.language, block.attributes) == (language, attributes)


@pytest.mark.parametrize(
    ("reply", "file_name"),
    [
        ('```python title="src/x.py"\nx = 1\n```', "src/x.py"),
        ("```\n# filename: x.py\nx = 1\n```", "x.py"),
        ("```js\n// src/x.js\nlet x = 1;\n```", "src/x.js"),
        ("```html\n<!-- index.html -->\n<p>x</p>\n```", "index.html"),
        ("```\n#!/usr/bin/env python3\nx = 1\n```", None),
        ("```python\n# Load os.path and so on\nx = 1\n```", None),
        ("**x.py**\n```\nx = 1\n```", "x.py"),
        ("### 2. `src/x.py`\n\n```\nx = 1\n```", "src/x.py"),
        ("Create `src/x.py` with this content:\n```\nx = 1\n```", "src/x.py"),
        ("**Server (`server.py`)**\n```\nx = 1\n```", "server.py"),
        ("Run `main.py` with this command:\n```\npython main.py\n```", None),
        ("Look at x.py, it is long and does a lot.\n```\nx = 1\n```", None),
        ("### Node.js\n```\nlet x = 1;\n```", None),
        ("src/x.py\n```python\n<<<<<<< SEARCH\na\n=======\nb\n>>>>>>> REPLACE\n```", "src/x.py"),
        ('<file path="../../x.py">\nx = 1\n</file>', "../../x.py"),
        ('{"files": [{"path": "x.py", "content": "x = 1"}]}', "x.py"),
        ("```python\nx = 1\n```", None),
    ],
)
def test_a_file_is_called_what_the_reply_calls_it(reply: str, file_name: str | None) -> None:
    assert only(reply).file_name == file_name


@pytest.mark.parametrize(
    ("reply", "kind"),
    [
        ("```python\nx = 1\n```", "code"),
        ("```diff\n-a\n+b\n```", "diff"),
        ("```python\n--- a/x.py\n+++ b/x.py\n@@ -1 +1 @@\n-a\n+b\n```", "diff"),
        ("--- a/x.py\n+++ b/x.py\n@@ -1 +1 @@\n-a\n+b\n", "diff"),
        ("```python\n<<<<<<< SEARCH\na\n=======\nb\n>>>>>>> REPLACE\n```", "search_replace"),
        ("```python\nprint('<<<<<<< SEARCH')\n```", "code"),
    ],
)
def test_the_kind_of_a_block_is_told_by_its_marks(reply: str, kind: str) -> None:
    assert only(reply).kind == kind


def test_code_spans_count_where_they_are_asked_for_in_order_and_without_a_language() -> None:
    text = "Run `source setup.sh`, then ``a `b` c``:\n```sh\nls `pwd`\n```\nor\n\\`not this\\` but ` that `."
    assert extract_code(text, detect_single_line_code=True) == [
        ("", "source setup.sh"),
        ("", "a `b` c"),
        ("sh", "ls `pwd`"),
        ("", "that"),
    ]


def test_a_code_span_ends_with_its_paragraph_and_not_with_its_line() -> None:
    text = "One `a\nb` two `c\n\nd` three"
    assert extract_code(text, detect_single_line_code=True) == [("", "a b")]


def test_a_reply_without_code_comes_back_whole_with_code_spans_asked_for_or_not() -> None:
    assert extract_code("no code", detect_single_line_code=True) == [("unknown", "no code")]
    assert extract_code("no `code`") == [("unknown", "no `code`")]
    assert extract_blocks("no code") == ()


def test_a_message_in_parts_is_read_as_one_text() -> None:
    parts = [{"type": "text", "text": "```py\nx = 1"}, {"type": "text", "text": "\n```"}]
    assert extract_code(parts) == [("python", "x = 1")]
    assert extract_code(None) == [("unknown", "")]


@pytest.mark.parametrize(
    ("pattern", "text", "found"),
    [
        (AUTOGEN_PATTERN, "```Py\nx = 1\n```", [("Py", "x = 1")]),
        (AUTOGEN_PATTERN, "```\nx = 1\n```", [("", "x = 1")]),
        (AUTOGEN_PATTERN, "no code", [("unknown", "no code")]),
        (r"<c>(.*?)</c>", "<c>import os\nos.getcwd()</c>", [("python", "import os\nos.getcwd()")]),
        (r"import \w+", "do import os and import re", [("python", "import os"), ("python", "import re")]),
    ],
)
def test_a_pattern_replaces_the_rules(pattern: str, text: str, found: list[tuple[str, str]]) -> None:
    assert extract_code(text, pattern) == found


def test_a_pattern_and_code_spans_go_together() -> None:
    text = "`a` ```py\nx = 1\n``` `b`"
    assert extract_code(text, AUTOGEN_PATTERN, detect_single_line_code=True) == [("", "a"), ("py", "x = 1"), ("", "b")]


@pytest.mark.parametrize(
    ("pattern", "told"),
    [("(", "no regular expression: '\\('"), ("(a)(b)(c)", "has 3 groups"), ("a{99999999999}", "no regular expression")],
)
def test_a_pattern_that_cannot_be_used_is_named_with_the_remedy(pattern: str, told: str) -> None:
    with pytest.raises(RequestError, match=f"{told}.*pass a regular expression of two groups"):
        extract_code("x", pattern)


def test_what_is_no_text_is_refused_by_its_type() -> None:
    with pytest.raises(ArgumentTypeError, match="the text of a reply is int"):
        extract_blocks(5)
    with pytest.raises(ArgumentTypeError, match="wrong content format: int"):
        extract_code(5)
    with pytest.raises(ArgumentTypeError, match="the pattern for code is bytes"):
        extract_code("x", b"x")


def test_escapes_of_a_copied_page_are_undone_only_where_they_cannot_be_meant() -> None:
    assert only("```python\nif a &lt; b: pass\n```").code == "if a < b: pass"
    assert only('```python\na = "&lt;"\n```').code == 'a = "&lt;"'
    assert only("```js\nif (a < b) c = '&gt;';\n```").code == "if (a < b) c = '&gt;';"

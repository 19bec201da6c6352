"""What the pure functions do with any input at all: no surprise, no more time than its length asks for."""

from __future__ import annotations

import json
import time

import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from flyteplugins_codegen import content_str, extract_blocks, extract_code, infer_lang
from flyteplugins_codegen.errors import RequestError

ODD = "\0\ud800\udfff\ufeff\u2028\x0b\r\n\t `~>#-*1.<{[\"'\\&;xé"
texts = st.text(alphabet=st.characters()) | st.text(alphabet=ODD, max_size=200)
# Backslashes and ampersands are undone where a reply is written in JSON or HTML.
unescaped = st.text(alphabet=st.characters(exclude_characters="\\&"))
units = st.text(alphabet=ODD, min_size=1, max_size=12)
values = st.recursive(
    st.none() | st.booleans() | st.integers() | st.text() | st.sampled_from(["text", "image_url", "type"]),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.sampled_from(["type", "text", "x"]), inner),
    max_leaves=8,
)


@given(text=texts, with_spans=st.booleans())
@example(text="```\ud800\n\0\n```", with_spans=True)
@example(text="`\ud800`", with_spans=True)
@example(text='{"code": "\\ud800"}', with_spans=False)
def test_extraction_never_raises_and_is_the_same_again(text: str, *, with_spans: bool) -> None:
    found = extract_code(text, detect_single_line_code=with_spans)
    assert found
    assert found == extract_code(text, detect_single_line_code=with_spans)


@given(text=unescaped, with_spans=st.booleans())
def test_what_is_extracted_occurs_in_the_text(text: str, *, with_spans: bool) -> None:
    whole = "".join(text.split())
    for _, code in extract_code(text, detect_single_line_code=with_spans):
        assert all("".join(line.split()) in whole for line in code.split("\n"))


@settings(max_examples=25, deadline=None)
@given(unit=units, marks=st.sampled_from(["", "```py\n", "<code>", '{"code": "', "> ", "- "]))
@example(unit=" ", marks="")
@example(unit="`` ", marks="```py\n")
def test_the_time_of_extraction_is_linear_in_the_length(unit: str, marks: str) -> None:
    def duration(length: int) -> float:
        begun = time.process_time()
        extract_code(marks + unit * (length // len(unit)), detect_single_line_code=True)
        return time.process_time() - begun

    duration(100)
    short, long = duration(16_000), duration(96_000)
    # Six times as long: what is quadratic takes 36 times as much.
    assert long < 6 * 3 * short + 1


@given(values)
def test_the_content_of_a_message_is_text_or_refused_with_what_to_pass(content: object) -> None:
    try:
        text = content_str(content)  # type: ignore[arg-type]  # anything at all is the point
    except RequestError as error:
        assert "wrong content format" in str(error)  # noqa: PT017 - not every value raises
        assert "; pass " in str(error)  # noqa: PT017 - the same
    else:
        assert isinstance(text, str)


@given(st.lists(texts, max_size=5))
def test_text_in_parts_is_the_text(parts: list[str]) -> None:
    assert content_str([{"type": "text", "text": part} for part in parts]) == "".join(parts)


@pytest.mark.parametrize("function", [content_str, extract_code, extract_blocks, infer_lang])
@pytest.mark.parametrize(
    "text",
    ["", "\0", "\ud800", "\0" * 10_000_000, "é" * 5_000_000],
    ids=["empty", "NUL", "half of a pair", "10 MB of NUL", "10 MB of letters"],
)
def test_texts_of_no_use_are_read_in_seconds(function, text: str) -> None:
    begun = time.process_time()
    function(text)
    assert time.process_time() - begun < 20


@given(st.lists(st.tuples(st.sampled_from(["python", "sh", "js"]), st.text(alphabet="xyz=1 ()\n", max_size=30))))
def test_code_that_is_put_into_fences_comes_out_as_it_was(blocks: list[tuple[str, str]]) -> None:
    reply = "\n\n".join(f"Some words.\n\n````{language}\n{code}\n````" for language, code in blocks)
    expected = [("javascript" if language == "js" else language, code) for language, code in blocks]
    assert [(block.language, block.code.rstrip("\n")) for block in extract_blocks(reply)] == [
        (language, code.rstrip("\n")) for language, code in expected
    ]


@given(st.text(alphabet=st.characters(exclude_categories=["Cs"]), min_size=1))
def test_code_in_a_field_of_json_comes_out_as_it_was(text: str) -> None:
    code = "import os\n" + "".join(text.split("\r"))
    (found,) = extract_code(json.dumps({"code": code}))
    assert found[1].split() == code.split()

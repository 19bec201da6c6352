"""Search and replace edits."""

from __future__ import annotations

from functools import reduce

import pytest
from hypothesis import assume, given
from hypothesis import strategies as st

from flyteplugins_codegen.source.edits import EditError, apply_edits

CODE = """\
def total(rows):
    result = 0
    for row in rows:
        result += row.price
    return result


def main():
    print(total([]))
"""


def test_edits_apply_in_order_each_to_the_result_of_the_last() -> None:
    edits = [("row.price", "row.price * row.count"), ("row.price * row.count", "cost(row)")]
    assert "result += cost(row)\n" in apply_edits(CODE, edits)


def test_no_edits_change_nothing() -> None:
    assert apply_edits(CODE, []) == CODE


def test_an_empty_replacement_deletes() -> None:
    assert apply_edits("a\nb\nc\n", [("b\n", "")]) == "a\nc\n"


def test_a_search_text_that_occurs_twice_is_refused_with_the_number_of_places() -> None:
    with pytest.raises(EditError, match="edit 2: ambiguous with 4 places: 'result'") as caught:
        apply_edits(CODE + "# result\n", [("main", "run"), ("result", "sum")])
    assert (caught.value.number, caught.value.search) == (2, "result")


def test_overlapping_occurrences_are_ambiguous_too() -> None:
    with pytest.raises(EditError, match="ambiguous"):
        apply_edits("aaa", [("aa", "b")])


def test_a_search_text_that_does_not_occur_is_refused() -> None:
    with pytest.raises(EditError, match=r"edit 1: not found: 'x = 1 \(\+1 lines\)'; copy the search text"):
        apply_edits(CODE, [("x = 1\ny = 2", "")])


def test_a_failing_last_edit_leaves_no_trace_of_the_first() -> None:
    with pytest.raises(ValueError, match="edit 2"):
        apply_edits(CODE, [("result = 0", "result = 1"), ("nowhere to be found", "")])


def test_lines_without_their_indentation_are_found_and_the_replacement_is_indented() -> None:
    edited = apply_edits(
        CODE, [("for row in rows:\n    result += row.price", "for row in rows:\n    if row:\n        result += 1")]
    )
    assert "    for row in rows:\n        if row:\n            result += 1\n    return result\n" in edited


def test_lines_indented_too_deep_move_out() -> None:
    edited = apply_edits(CODE, [("            result = 0\n", "            result = 0\n            seen = []\n")])
    assert "    result = 0\n    seen = []\n    for row" in edited


def test_two_blanks_in_the_search_text_stand_for_four_in_the_file() -> None:
    edited = apply_edits(
        "def f():\n    if x:\n        y()\n", [("def f():\n  if x:\n    y()", "def f():\n  if x:\n    z()\n  w()")]
    )
    assert edited == "def f():\n    if x:\n        z()\n    w()\n"


def test_blanks_in_the_search_text_stand_for_tabs_in_the_file() -> None:
    assert apply_edits("if x:\n\ty()\n", [("if x:\n    y()", "if x:\n    z()")]) == "if x:\n\tz()\n"


def test_how_many_blanks_stand_between_words_does_not_matter() -> None:
    assert apply_edits("x  =  1   # one\ny = 2\n", [("x = 1 # one", "x = 3")]) == "x = 3\ny = 2\n"


def test_trailing_blanks_do_not_matter() -> None:
    assert apply_edits("a = 1  \nb = 2\n", [("a = 1\nb = 2 ", "a = 3\nb = 4")]) == "a = 3\nb = 4\n"


def test_a_file_with_windows_line_ends_keeps_them() -> None:
    code = "a = 1\r\nb = 2\r\nc = 3\r\n"
    assert apply_edits(code, [("a = 1\nb = 2\n", "a = 4\nb = 5\n")]) == "a = 4\r\nb = 5\r\nc = 3\r\n"
    assert apply_edits(code, [("b = 2", "b = 5\nd = 6")]) == "a = 1\r\nb = 5\r\nd = 6\r\nc = 3\r\n"


def test_lines_with_another_nesting_than_the_search_text_do_not_match() -> None:
    with pytest.raises(EditError, match="not found"):
        apply_edits(CODE, [("for row in rows:\nresult += row.price", "pass")])


def test_two_places_that_differ_in_indentation_only_are_ambiguous() -> None:
    with pytest.raises(EditError, match="ambiguous with 2 places"):
        apply_edits("if x:\n    y()\n    z()\nelse:\n        y()\n        z()\n", [(" y()\n z()", "w()")])


def test_blank_lines_around_the_search_text_do_not_matter() -> None:
    edited = apply_edits(CODE, [("\n\nresult = 0 \n\n", "\n\nresult = 1\n\n")])
    assert edited == CODE.replace("result = 0", "result = 1")


def test_an_empty_search_text_fills_an_empty_file_only() -> None:
    assert apply_edits("\n", [("", "x = 1\n")]) == "x = 1\n"
    with pytest.raises(EditError, match="empty search text in a file that is not empty"):
        apply_edits("x = 1\n", [("", "y = 2\n")])


def test_the_last_line_without_a_newline_can_be_replaced() -> None:
    assert apply_edits("a\r\nb", [(" b ", "c")]) == "a\r\nc"
    assert apply_edits("a\nb", [(" b ", "c")]) == "a\nc"


texts = st.text(alphabet="ab \n", max_size=30)
edit_lists = st.lists(st.tuples(texts, texts), max_size=4)


@given(texts, edit_lists)
def test_the_result_is_that_of_every_edit_alone_one_after_the_other(code: str, edits: list[tuple[str, str]]) -> None:
    try:
        expected = reduce(lambda edited, edit: apply_edits(edited, [edit]), edits, code)
    except EditError:
        expected = None
    if expected is None:
        with pytest.raises(EditError):
            apply_edits(code, edits)
    else:
        assert apply_edits(code, edits) == expected


@given(texts, texts, texts, texts)
def test_a_search_text_that_occurs_once_is_replaced_and_nothing_else(
    before: str, search: str, after: str, replace: str
) -> None:
    code = before + search + after
    assume(search.strip() and code.find(search) == code.rfind(search))
    assert apply_edits(code, [(search, replace)]) == before + replace + after


@given(st.lists(st.sampled_from(["a = 1", "    b = 2", "\tc = 3", "", "        d = 4"]), max_size=8), texts, texts)
def test_an_edit_of_whole_lines_keeps_every_other_line_in_its_order(
    lines: list[str], search: str, replace: str
) -> None:
    code = "\n".join(lines)
    assume(search not in code)
    try:
        edited = apply_edits(code, [(search, replace)])
    except EditError:
        return
    wanted = [line.strip() for line in search.strip().split("\n")]
    left = iter(edited.split("\n"))
    assert all(line in left for line in lines if line.strip() not in wanted)

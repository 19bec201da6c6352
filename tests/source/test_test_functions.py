"""Removing test functions from a module, and reading from a test's text how it calls the script."""

from __future__ import annotations

import ast

import pytest
from hypothesis import given
from hypothesis import strategies as st

from flyteplugins_codegen.source.tests import find_test_functions, function_of, read_call, source_of, without_tests

SOURCE = """\
import pytest

# about a
@pytest.mark.parametrize(
    "x", [1, 2]
)
def test_a(x):
    assert x


class TestB:
    def test_c(self):
        assert 1

    def test_d(self): assert 2


if True:
    def test_e():
        text = '''
def test_f():
'''
        assert text
else:
    pass


def helper():
    return 1
"""


def test_functions_are_found_wherever_pytest_finds_them_and_nowhere_else():
    found = [function.name for function in find_test_functions(SOURCE)]
    assert found == ["test_a", "TestB::test_c", "TestB::test_d", "test_e"]


def test_the_function_of_a_case_is_its_name_without_brackets():
    assert function_of("TestB::test_c[1-x]") == "TestB::test_c"


def test_the_source_of_a_function_includes_its_decorators():
    assert source_of(SOURCE, find_test_functions(SOURCE)[0]).startswith("@pytest.mark")


def test_a_function_is_removed_with_its_decorators_and_all_other_lines_stay():
    left = without_tests(SOURCE, ["test_a"])
    assert left == SOURCE[: SOURCE.index("@pytest")] + SOURCE[SOURCE.index("class TestB") :]


def test_a_block_that_would_be_empty_is_kept():
    left = without_tests(SOURCE, ["TestB::test_c", "TestB::test_d", "test_e"])
    assert "class TestB:\n    pass\n" in left
    assert "if True:\n    pass\nelse" in left
    assert [function.name for function in find_test_functions(left)] == ["test_a"]


def test_a_name_that_is_not_there_changes_nothing():
    assert without_tests(SOURCE, ["test_nowhere"]) == SOURCE


NAMES = [function.name for function in find_test_functions(SOURCE)]


@given(gone=st.sets(st.sampled_from(NAMES)), line_end=st.sampled_from(["\n", "\r\n"]))
def test_the_rest_is_python_with_all_other_functions(gone, line_end):
    left = without_tests(SOURCE.replace("\n", line_end), gone)
    ast.parse(left)
    assert [function.name for function in find_test_functions(left)] == [name for name in NAMES if name not in gone]
    assert "def helper():" in left


def call_of(body):
    return read_call(find_test_functions(f"def test_a(tmp_path):\n    {body}\n")[0].node)


def test_a_call_shows_its_options_files_and_outputs():
    call = call_of(
        'path.write_text("a\\n"); main(["--sales", str(path), "--n", str(3), "--k=v"]); open("/var/outputs/total")'
    )
    assert call.is_single
    assert call.values == {"sales": None, "n": "3", "k": "v"}
    assert call.contents == {"a\n"}
    assert call.outputs == {"total"}


@pytest.mark.parametrize("body", ["main(argv)", 'main(["--a", "1"]); main(["--a", "2"])', "run()"])
def test_a_call_without_a_literal_list_is_not_single(body):
    assert not call_of(body).is_single


def test_content_that_is_computed_is_unknown():
    assert call_of("path.write_text(text)").contents == {None}


def test_a_command_line_without_options_has_none():
    assert call_of("main([])").options == frozenset()

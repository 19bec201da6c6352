"""Functions are written and read by their names; another's pickle is only opened inside the sandbox."""

from __future__ import annotations

import base64
import pickle
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import dill
import merging
import pytest

from flyteplugins_codegen.errors import DecodingError, EncodingError
from flyteplugins_codegen.evaluation.eval_framework.callables import CallableSerializer
from flyteplugins_codegen.evaluation.eval_framework.snippets import (
    ExecutionResult,
    parse_unittest_output,
    unittest_merge_snippets,
)

ALLOWING = CallableSerializer(allowed_modules=("merging",))


def encoded(pickled: bytes) -> str:
    return base64.b64encode(pickled).decode()


@pytest.mark.parametrize("function", [unittest_merge_snippets, parse_unittest_output])
def test_our_functions_are_written_by_their_names_and_read_back(function: Callable[..., Any]) -> None:
    text = CallableSerializer().encode(function)
    assert text == f"flyteplugins_codegen.evaluation.eval_framework.snippets:{function.__name__}"
    assert CallableSerializer().decode(text) is function


def test_a_function_of_an_allowed_module_is_read_back() -> None:
    assert ALLOWING.decode(ALLOWING.encode(merging.line_by_line)) is merging.line_by_line


@pytest.mark.parametrize(
    ("function", "remedy"),
    [
        (lambda code, tests: code + tests, "with `def`"),
        (merging.borrowed, "with `def`"),
        (merging.Author().method, "with `def`"),
        (merging.applied, "with `def`"),
        (len, "with `def`"),
        (base64.b64encode, r"allowed_modules=\('base64',\)"),
    ],
)
def test_what_has_no_name_to_be_read_by_is_refused_with_the_remedy(function: Callable[..., Any], remedy: str) -> None:
    with pytest.raises(EncodingError, match=remedy):
        ALLOWING.encode(function)


def test_a_function_of_the_running_script_is_refused() -> None:
    function = merging.prints_42
    script = type(function)(function.__code__, {"__name__": "__main__"}, "prints_42")
    with pytest.raises(EncodingError, match="move it to a module"):
        ALLOWING.encode(script)


@pytest.mark.parametrize("text", ["os:system", "merging.sub:f", "tests_nowhere:f", "builtins:eval", ":", "merging:"])
def test_nothing_is_imported_from_a_module_that_is_not_allowed(text: str) -> None:
    with pytest.raises(DecodingError):
        ALLOWING.decode(text)
    assert "merging.sub" not in sys.modules


@pytest.mark.parametrize("name", ["system", "Author", "absent", "inner.within", "__builtins__", "ExecutionResult"])
def test_only_functions_that_an_allowed_module_defines_are_read(name: str) -> None:
    with pytest.raises(DecodingError, match="name one of its own"):
        ALLOWING.decode(f"merging:{name}")


@pytest.mark.parametrize("text", ["", "no pickle", "bm8gcGlja2xl", "gASV"])
def test_a_text_that_is_neither_a_name_nor_a_pickle_is_refused(text: str) -> None:
    with pytest.raises(DecodingError):
        CallableSerializer().decode(text)


@pytest.mark.parametrize("pickled", [b"\x80\x02c%s\n%s\nq\x00.", b"\x80\x04\x8c\x1a%s\x94\x8c\x17%s\x94\x93\x94."])
def test_a_pickle_that_only_names_a_function_we_have_is_taken_for_ours(pickled: bytes) -> None:
    # What dill writes for a function of a module that can be imported, by an old protocol and by a newer one.
    text = encoded(pickled % (b"eval_framework.tasks.utils", b"unittest_merge_snippets"))
    assert CallableSerializer().decode(text) is unittest_merge_snippets


class Hostile:
    def __init__(self, marker: Path) -> None:
        self.marker = marker

    def __reduce__(self) -> tuple[Any, ...]:
        return exec, (f"open({str(self.marker)!r}, 'w').close()",)


def test_a_hostile_pickle_does_nothing_to_this_machine(tmp_path: Path) -> None:
    marker = tmp_path / "opened"
    function = CallableSerializer().decode(encoded(pickle.dumps(Hostile(marker))))
    with pytest.raises(DecodingError, match="failed in the sandbox"):
        function("x = 1", "assert x")
    assert not marker.exists()
    pickle.loads(pickle.dumps(Hostile(marker)))  # noqa: S301 - the control: this is what opening it does
    assert marker.exists()  # outside of one it would have


def in_a_script(function: str) -> Callable[..., Any]:
    """A function as one reads it that was pickled with its code, as those of a script or a notebook are."""
    given = eval(function, {"__name__": "__main__"})  # noqa: S307 - a text of this file
    return CallableSerializer().decode(encoded(dill.dumps(given, recurse=True)))


def test_a_pickled_function_of_somebody_elses_works_inside_the_sandbox() -> None:
    merge = in_a_script("lambda code, tests: code + '\\n# and\\n' + tests")
    parse = in_a_script("lambda output: ('42' in output, output.upper())")
    assert merge("x = 1", "assert x") == "x = 1\n# and\nassert x"
    assert parse("the 42nd") == ExecutionResult(success=True, output="THE 42ND")

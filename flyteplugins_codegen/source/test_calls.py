"""How a test calls the script, as far as its text shows: options, their values, files written before, outputs read."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator
from typing import Final, NamedTuple

from flyteplugins_codegen.source.test_functions import FunctionNode

_OUTPUT: Final = re.compile(r"/var/outputs/([A-Za-z0-9_.\-]+)")
_OPTION: Final = re.compile(r"--([A-Za-z_]\w*)(?:=(.*))?\Z", re.DOTALL)
_WRITING: Final = frozenset({"write", "write_text", "write_bytes"})


class ScriptCall(NamedTuple):
    """What a test does with the script. None stands for a text that only running the test would tell.

    `is_single`: the test calls `main` once, with a list that it spells out. `values` are the texts of its `options`,
    `contents` what it writes to files, `outputs` the names below /var/outputs that it speaks of.
    """

    is_single: bool
    options: frozenset[str]
    values: dict[str, str | None]
    contents: frozenset[str | None]
    outputs: frozenset[str]


def read_call(function: FunctionNode) -> ScriptCall:
    """What the text of one test function shows."""
    calls = [node for node in ast.walk(function) if isinstance(node, ast.Call)]
    lists = [call.args[0] for call in calls if _name(call) == "main" and call.args]
    spelt = [argument for argument in lists if isinstance(argument, ast.List)]
    values = dict(_values([_text(element) for element in spelt[0].elts])) if spelt else {}
    constants = [node.value for node in ast.walk(function) if isinstance(node, ast.Constant)]
    return ScriptCall(
        is_single=len(lists) == len(spelt) == 1 and sum(_name(call) == "main" for call in calls) == 1,
        options=frozenset(values),
        values=values,
        contents=frozenset(_text(call.args[0]) for call in calls if _name(call) in _WRITING and call.args),
        outputs=frozenset(name for text in constants if isinstance(text, str) for name in _OUTPUT.findall(text)),
    )


def _values(parts: list[str | None]) -> Iterator[tuple[str, str | None]]:
    for part, following in zip(parts, [*parts[1:], None], strict=True):
        option = _OPTION.match(part or "")
        if option is not None:
            yield option[1], following if option[2] is None else option[2]


def _text(node: ast.expr) -> str | None:
    """The text of a literal, or of `str()` of one."""
    if isinstance(node, ast.Call) and _name(node) == "str" and len(node.args) == 1:
        inner = node.args[0]
        return str(inner.value) if isinstance(inner, ast.Constant) else None
    return node.value if isinstance(node, ast.Constant) and isinstance(node.value, str) else None


def _name(call: ast.Call) -> str:
    function = call.func
    return function.attr if isinstance(function, ast.Attribute) else getattr(function, "id", "")

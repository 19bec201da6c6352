"""Shipping our own programs as the source of `python -c`."""

from __future__ import annotations

from flyteplugins_codegen.sandbox import init
from flyteplugins_codegen.sandbox.payload import compact_source, module_path

PROGRAM = '''"""What it is."""

from __future__ import annotations

import math as m

A = 2  # a comment


def double(x: Unknown, *, by: Unknown = A) -> Unknown:
    """What it does."""
    return x * by


TEXT = "kept"
'''


def test_a_program_is_shortened_and_does_the_same(tmp_path):
    file = tmp_path / "program.py"
    file.write_text(PROGRAM)
    names: dict[str, object] = {}
    exec(compact_source(file), names)  # noqa: S102 - ours
    assert (names["double"](4), names["TEXT"], "__doc__" in names) == (8, "kept", False)
    for left_out in ("What it", "comment", "__future__", "Unknown"):
        assert left_out not in compact_source(file)


def test_the_source_of_init_becomes_half_as_long():
    assert len(compact_source(module_path(init))) < len(module_path(init).read_text()) / 1.5

"""Programs of ours for `python -c`."""

from __future__ import annotations

from pathlib import Path

from flyteplugins_codegen.sandbox import init
from flyteplugins_codegen.sandbox.payload import compact_source

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
    exec(compact_source(str(file)), names)  # noqa: S102 - ours
    assert (names["double"](4), names["TEXT"], "__doc__" in names) == (8, "kept", False)
    for left_out in ("What it", "comment", "__future__", "Unknown"):
        assert left_out not in compact_source(str(file))


def test_the_reapers_source_is_made_half_as_long():
    assert len(compact_source(init.__file__)) < len(Path(init.__file__).read_text()) / 1.5

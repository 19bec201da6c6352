"""What is taken out of a sandbox is what the job wrote into files of its own, whatever it left among them."""

from __future__ import annotations

from pathlib import Path

import pytest
from backends import Warm
from hostile.host import Host
from hostile.leaving import LEAVINGS, Leaving
from hostile.trial import make_job, make_variables
from hostile.unsandboxed import read_carelessly

from flyteplugins_codegen.sandbox import ALL, Execution, Sandbox


@pytest.mark.parametrize("leaving", LEAVINGS, ids=str)
def test_nothing_is_taken_but_plain_files(sandbox: Sandbox, host: Host, leaving: Leaving) -> None:
    before = host.fingerprint()
    execution = sandbox.run(make_job(leaving.code, host, make_variables(host), leaving.limits, ALL))
    assert b"DONE" in execution.stdout, execution
    assert isinstance(sandbox, Warm) == ("warm" in execution.isolation)
    contents = contents_of(execution)
    assert b"LEAK" not in b"".join(contents.values())
    assert all(text.isprintable() for text in (*execution.refused_outputs, *execution.refused_outputs.values()))
    if not leaving.varies:
        assert execution.status == leaving.status, execution
        assert leaving.refused in execution.refused_outputs.get("x", ""), execution
        assert contents == leaving.taken
    assert host.fingerprint() == before


def contents_of(execution: Execution) -> dict[str, bytes]:
    """What was taken of `x`, file by file. Nothing of it may be run by anybody, whatever it could do in the job."""
    taken = execution.outputs.get("x")
    files: dict[str, Path] = dict(taken.files) if taken else {}
    assert not [path for path in files.values() if path.is_symlink() or path.stat().st_mode & 0o6111]
    return {name: path.read_bytes() for name, path in files.items()}


@pytest.mark.parametrize("leaving", [leaving for leaving in LEAVINGS if leaving.fools], ids=str)
def test_a_careless_reader_is_fooled(host: Host, leaving: Leaving) -> None:
    assert b"LEAK" in read_carelessly(leaving, host, make_variables(host))

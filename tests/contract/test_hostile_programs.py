"""No hostile program gets anything, in any sandbox that isolates; without one, each gets what it is after."""

from __future__ import annotations

import os
import platform
from collections.abc import Callable

import pytest
from backends import ISOLATING, UNGROUPED, Warm
from hostile import Control, Program, files, kernel, network, processes, resources, secrecy
from hostile.host import Host
from hostile.trial import Trial, make_variables, try_program, try_together
from hostile.unsandboxed import run_unsandboxed

from flyteplugins_codegen.sandbox import Sandbox

CATEGORIES = {
    each.__name__.rpartition(".")[2]: each for each in (secrecy, files, network, processes, kernel, resources)
}
PROGRAMS = [
    pytest.param(program, id=f"{category}: {program}")
    for category, module in CATEGORIES.items()
    for program in module.PROGRAMS
    if platform.machine() in program.machines
]
CONTROLLED = [each for each in PROGRAMS if isinstance(each.values[0].control, Control)]
TRIALS = [
    *(pytest.param(name, *each.values, id=f"{name}-{each.id}") for name in ISOLATING for each in PROGRAMS),
    # What holds what is used without control groups is another mechanism, and all else the same.
    *(pytest.param(UNGROUPED, program, id=f"{UNGROUPED}-resources: {program}") for program in resources.PROGRAMS),
]


TOGETHER = [tuple(each for each in module.PROGRAMS if each.may_share_a_job()) for module in CATEGORIES.values()]


@pytest.fixture(scope="session")
def try_in_container(host: Host) -> Callable[[Sandbox, Program], Trial]:
    """A container takes longer to start than most programs run: those of a category share one."""
    tried: dict[Program, Trial] = {}

    def try_one(sandbox: Sandbox, program: Program) -> Trial:
        if not program.may_share_a_job():
            return try_program(sandbox, host, program)
        if program not in tried:
            tried.update(try_together(sandbox, host, next(each for each in TOGETHER if program in each)))
        return tried[program]

    return try_one


@pytest.mark.parametrize(("sandbox", "program"), TRIALS, indirect=["sandbox"])
def test_a_sandbox_holds(sandbox: Sandbox, host: Host, program: Program, try_in_container) -> None:
    before = host.fingerprint()
    in_container = sandbox.kind == "container"
    trial = try_in_container(sandbox, program) if in_container else try_program(sandbox, host, program)
    assert not trial.leaks
    assert trial.execution.status in program.ends, trial.execution
    assert isinstance(sandbox, Warm) == ("warm" in trial.execution.isolation)
    assert trial.has_come_to_its_point(), trial.execution
    assert not trial.left_behind()
    assert host.fingerprint() == before
    assert host.is_alive()


@pytest.mark.parametrize("program", CONTROLLED)
def test_unsandboxed_succeeds(host: Host, program: Program) -> None:
    if program.control is Control.ROOT and os.geteuid() != 0:
        pytest.skip("only root can show that this would succeed")
    outcome = run_unsandboxed(program, host, make_variables(host))
    refusals = {line.split()[1] for line in outcome.said if line.startswith("REFUSED")}
    lacking = refusals and refusals <= set(program.missing)
    stayed = program.control is Control.STAYS and outcome.staying
    assert [line for line in outcome.said if line.startswith("LEAK")] or stayed or lacking, outcome
    (host.folder / "left").unlink(missing_ok=True)

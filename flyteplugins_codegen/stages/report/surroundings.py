"""What the solution needs installed, with sizes, and how it is run."""

from __future__ import annotations

import re
from typing import Final

from flyteplugins_codegen.environment.layers import installed_sizes
from flyteplugins_codegen.errors import CodegenError
from flyteplugins_codegen.models.environment import EnvironmentLock
from flyteplugins_codegen.models.request import Request
from flyteplugins_codegen.stages.report.code import python_code, shell_code
from flyteplugins_codegen.stages.report.markup import facts, fitting, size, table, text

_PIN: Final = re.compile(r"^([A-Za-z0-9._-]+)==([^\s\\;]+)", re.MULTILINE)
_MOST_PINS: Final = 300


def render_environment(lock: EnvironmentLock, image: str | None) -> str:
    """The locked distributions with what they take on this machine's disk, and the name of the image."""
    sizes = _sizes(lock)
    about = facts(
        (
            ("Python", text(lock.python)),
            ("Platform", text(lock.platform)),
            ("Debian packages", fitting(", ".join(lock.system_packages), 400)),
            ("Image", f"<code>{fitting(image, 300)}</code>" if image else ""),
            ("Installed", size(sum(sizes.values())) if sizes else ""),
        )
    )
    pins = _PIN.findall(lock.requirements)[:_MOST_PINS]
    if not pins:
        return f"<p>The standard library alone.</p>{about}"
    asked = {re.split(r"[^A-Za-z0-9._-]", name, maxsplit=1)[0].lower() for name in lock.packages}
    rows = [
        (_name(name, is_asked_for=name.lower() in asked), text(version), _size(sizes.get(name)))
        for name, version in pins
    ]
    return about + table(("distribution", "version", "installed"), rows)


def _sizes(lock: EnvironmentLock) -> dict[str, int]:
    try:
        return installed_sizes(lock)
    except (OSError, CodegenError):  # the page tells what is known; nothing of a run depends on it
        return {}


def _name(name: str, *, is_asked_for: bool) -> str:
    return f"<b>{text(name)}</b>" if is_asked_for else text(name)


def _size(size_bytes: int | None) -> str:
    return "" if size_bytes is None else size(size_bytes)


def render_commands(task_name: str, request: Request) -> str:
    """What to type in the solution folder, and in Python."""
    options = "".join(f" --{each} {kind.upper()}" for each, kind in request.inputs.items())
    given = ", ".join(f"{each}=..." for each in request.inputs)
    outputs = ", ".join(request.outputs) or "nothing"
    shell = f"pyflyte run task.py {task_name}{options}\npyflyte register task.py"
    python = (
        "from flyteplugins_codegen import CodeGenEvalResult\n\n"
        'result = CodeGenEvalResult.load(".")  # the folder that this page is in\n'
        f"{outputs}{',' if len(request.outputs) == 1 else ''} = result.run({given})"
    )
    return (
        "<p>In the solution folder (<code>result.save(folder)</code> writes it), without any model:</p>"
        f"{shell_code(shell)}<p>From Python; an input left out takes the sample:</p>{python_code(python)}"
    )

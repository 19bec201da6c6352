"""The sections about the job: what was asked for, which model calls it took, and what the solution needs to run."""

from __future__ import annotations

import json
import re
from collections.abc import Sequence
from typing import Any, Final

from flyteplugins_codegen.errors import CodegenError
from flyteplugins_codegen.html.code import python_code, shell_code
from flyteplugins_codegen.html.kit import (
    badge,
    bullets,
    dollars,
    facts,
    fitting,
    folded,
    log,
    paragraphs,
    seconds,
    size,
    table,
    text,
)
from flyteplugins_codegen.llm.budget import total_cost_usd
from flyteplugins_codegen.models.data import AppliedConstraint
from flyteplugins_codegen.models.environment import EnvironmentLock
from flyteplugins_codegen.models.job import CodePlan, Example, Request, TestCase
from flyteplugins_codegen.models.run import Run
from flyteplugins_codegen.models.spending import ModelCall, Usage
from flyteplugins_codegen.packages.install import installed_sizes

_PROMPT_CHARS: Final = 20_000
_MOST_NAMES: Final = 60
_MOST_EXAMPLES: Final = 20
_MOST_CONSTRAINTS: Final = 60
_MOST_LISTED: Final = 60
_LISTED_CHARS: Final = 600
_MOST_CALLS: Final = 300
_MOST_PINS: Final = 300
_PIN: Final = re.compile(r"^([A-Za-z0-9._-]+)==([^\s\\;]+)", re.MULTILINE)
_CALLS_HEAD: Final = ("", "for", "model", "input", "of it cached", "output", "of it reasoning", "cost", "time")


def render_job(run: Run) -> str:
    """The request: the prompt, inputs and outputs, constraints, examples, the user's tests."""
    request = run.request
    parts = [
        paragraphs(request.prompt, _PROMPT_CHARS),
        facts((("Inputs", _names(request.inputs)), ("Outputs", _names(request.outputs)))),
        _titled("Constraints", _constraints(run)),
        _titled("Examples that must hold", bullets(_example(case) for case in request.examples[:_MOST_EXAMPLES])),
        folded("Formats and structures, as they were told", log(request.schema_text or "", _PROMPT_CHARS)),
        folded("Your tests", python_code(request.tests) if request.tests else ""),
    ]
    return "".join(parts)


def render_plan(plan: CodePlan) -> str:
    """What the solution does and how, as the model describes it, and what it assumed."""
    assumed = bullets(fitting(assumption, _LISTED_CHARS) for assumption in plan.assumptions[:_MOST_LISTED])
    told = paragraphs(plan.description, _PROMPT_CHARS) + paragraphs(plan.approach, _PROMPT_CHARS)
    return told + _titled("Assumed, where the request leaves it open", assumed)


def render_cases(cases: Sequence[TestCase]) -> str:
    """A table of the cases that the tests were written from."""
    rows = [
        tuple(fitting(told, _LISTED_CHARS) for told in (case.input, case.expected, case.why))
        for case in cases[:_MOST_LISTED]
    ]
    return table(("input", "expected", "why"), rows) if rows else ""


def _titled(title: str, body: str) -> str:
    return f"<h3>{title}</h3>{body}" if body else ""


def _names(declared: dict[str, Any]) -> str:
    names = [f"<code>{text(name)}</code> {badge(str(kind))}" for name, kind in list(declared.items())[:_MOST_NAMES]]
    return '<span class="names">' + " ".join(f"<span>{name}</span>" for name in names) + "</span>" if names else "none"


def _constraints(run: Run) -> str:
    applied = {constraint.text: constraint for constraint in run.constraints}
    sentences = dict.fromkeys([*run.request.constraints, *applied])
    return bullets(_constraint(sentence, applied.get(sentence)) for sentence in list(sentences)[:_MOST_CONSTRAINTS])


def _constraint(sentence: str, applied: AppliedConstraint | None) -> str:
    shown = fitting(sentence, 600)
    if applied is None:
        return shown
    if not applied.rules:
        return f'{shown} <span class="muted">told to the model, not checked: {fitting(applied.reason, 300)}</span>'
    rules = "; ".join(f"{rule.column} {rule.text}" for rule in applied.rules[:10])
    reading = " (as the model reads it)" if applied.read_by == "model" else ""
    notes = "".join(f"; {note}" for note in (applied.on_sample, applied.reason) if note)
    checked = f"checked on {text(applied.table)}: {fitting(rules, 400)}{reading}{fitting(notes, 300)}"
    return f'{shown} <span class="muted">{checked}</span>'


def _example(case: Example) -> str:
    inputs = ", ".join(f"{name} = {_value(value)}" for name, value in case.inputs.items()) or "the samples"
    outputs = ", ".join(f"{name} = {_value(value)}" for name, value in case.outputs.items())
    return f"{fitting(inputs, 400)} → {fitting(outputs, 400)}"


def _value(value: Any) -> str:
    return json.dumps(value, ensure_ascii=False, default=str)


# --- model calls ---


def render_spending(calls: Sequence[ModelCall]) -> str:
    """A table with a row for each model call, and their sum."""
    if not calls:
        return '<p class="muted">No model was asked.</p>'
    rows = [(str(number), *_row(call)) for number, call in enumerate(calls[:_MOST_CALLS], 1)]
    hidden = f"<p>{len(calls) - _MOST_CALLS} more calls</p>" if len(calls) > _MOST_CALLS else ""
    return table(_CALLS_HEAD, rows, _total(calls)) + hidden


def _row(call: ModelCall) -> tuple[str, ...]:
    took = "kept from an earlier run" if call.is_reused else seconds(call.wall_s)
    cost = dollars(call.cost_usd)
    return (text(call.purpose.replace("_", " ")), fitting(call.model, 120), *_tokens(call.usage), cost, took)


def _total(calls: Sequence[ModelCall]) -> tuple[str, ...]:
    used = sum((call.usage for call in calls), Usage())
    wall_s = sum(call.wall_s for call in calls if not call.is_reused)
    return ("", "all", "", *_tokens(used), dollars(total_cost_usd(calls)), seconds(wall_s))


def _tokens(usage: Usage) -> tuple[str, ...]:
    counts = (usage.input_tokens, usage.cached_tokens, usage.output_tokens, usage.reasoning_tokens)
    return tuple(f"{count:,}" for count in counts)


# --- environment and commands ---


def render_environment(lock: EnvironmentLock, image: str | None) -> str:
    """The locked distributions with their installed sizes on this machine, and the name of the image."""
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
    requested = {re.split(r"[^A-Za-z0-9._-]", name, maxsplit=1)[0].lower() for name in lock.packages}
    rows = [
        (_name(name, is_requested=name.lower() in requested), text(version), _size(sizes.get(name)))
        for name, version in pins
    ]
    return about + table(("distribution", "version", "installed"), rows)


def _sizes(lock: EnvironmentLock) -> dict[str, int]:
    try:
        return installed_sizes(lock)
    except (OSError, CodegenError):  # the sizes are only for information
        return {}


def _name(name: str, *, is_requested: bool) -> str:
    return f"<b>{text(name)}</b>" if is_requested else text(name)


def _size(size_bytes: int | None) -> str:
    return "" if size_bytes is None else size(size_bytes)


def render_commands(task_name: str, request: Request) -> str:
    """The commands that run the solution, in its folder and from Python."""
    options = "".join(f" --{name} {kind.upper()}" for name, kind in request.inputs.items())
    arguments = ", ".join(f"{name}=..." for name in request.inputs)
    outputs = ", ".join(request.outputs) or "nothing"
    shell = f"pyflyte run task.py {task_name}{options}\npyflyte register task.py"
    python = (
        "from flyteplugins_codegen import CodeGenEvalResult\n\n"
        'result = CodeGenEvalResult.load(".")  # the folder that this page is in\n'
        f"{outputs}{',' if len(request.outputs) == 1 else ''} = result.run({arguments})"
    )
    return (
        "<p>In the solution folder (<code>result.save(folder)</code> writes it), without any model:</p>"
        f"{shell_code(shell)}<p>From Python; an input left out takes the sample:</p>{python_code(python)}"
    )

"""What was asked for: the prompt, inputs and outputs, constraints, examples."""

from __future__ import annotations

import json
from typing import Any, Final

from flyteplugins_codegen.models.candidate import CodePlan
from flyteplugins_codegen.models.request import Example
from flyteplugins_codegen.models.rules import AppliedConstraint
from flyteplugins_codegen.models.run import Run
from flyteplugins_codegen.stages.report.code import python_code
from flyteplugins_codegen.stages.report.markup import badge, bullets, facts, fitting, folded, log, paragraphs, text

_PROMPT_CHARS: Final = 20_000
_MOST_NAMES: Final = 60
_MOST_EXAMPLES: Final = 20
_MOST_CONSTRAINTS: Final = 60


def render_job(run: Run) -> str:
    """The request of a run."""
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
    """What the solution does and how, in the words of the model."""
    return paragraphs(plan.description, _PROMPT_CHARS) + paragraphs(plan.approach, _PROMPT_CHARS)


def _titled(title: str, body: str) -> str:
    return f"<h3>{title}</h3>{body}" if body else ""


def _names(declared: dict[str, Any]) -> str:
    shown = [f"<code>{text(name)}</code> {badge(str(kind))}" for name, kind in list(declared.items())[:_MOST_NAMES]]
    return '<span class="names">' + " ".join(f"<span>{name}</span>" for name in shown) + "</span>" if shown else "none"


def _constraints(run: Run) -> str:
    applied = {constraint.text: constraint for constraint in run.constraints}
    told = dict.fromkeys([*run.request.constraints, *applied])
    return bullets(_constraint(sentence, applied.get(sentence)) for sentence in list(told)[:_MOST_CONSTRAINTS])


def _constraint(sentence: str, applied: AppliedConstraint | None) -> str:
    shown = fitting(sentence, 600)
    if applied is None:
        return shown
    if not applied.rules:
        return f'{shown} <span class="muted">told to the model, not checked: {fitting(applied.reason, 300)}</span>'
    rules = "; ".join(f"{rule.column} {rule.text}" for rule in applied.rules[:10])
    return f'{shown} <span class="muted">checked on {text(applied.table)}: {fitting(rules, 400)}</span>'


def _example(case: Example) -> str:
    given = ", ".join(f"{name} = {_value(value)}" for name, value in case.inputs.items()) or "the samples"
    wanted = ", ".join(f"{name} = {_value(value)}" for name, value in case.outputs.items())
    return f"{fitting(given, 400)} → {fitting(wanted, 400)}"


def _value(value: Any) -> str:
    return json.dumps(value, ensure_ascii=False, default=str)

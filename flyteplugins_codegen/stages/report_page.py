"""The report of a run as one HTML page: self-contained, every string of a model or of data escaped."""

from __future__ import annotations

import difflib
import json
from collections.abc import Sequence
from html import escape

from pydantic import JsonValue

from flyteplugins_codegen.models.conversation import ModelCall
from flyteplugins_codegen.models.report import SAMPLES_CASE, ScriptRun, SuiteReport, TestReport
from flyteplugins_codegen.models.run import Attempt
from flyteplugins_codegen.models.settings import Settings
from flyteplugins_codegen.stages.outcome import best_attempt

_STYLE = """
:root { color-scheme: light dark; --good: #1a7f37; --bad: #cf222e }
:root { --line: color-mix(in srgb, currentColor 20%, transparent) }
@media (prefers-color-scheme: dark) { :root { --good: #3fb950; --bad: #f85149 } }
body { font: 15px/1.5 system-ui, sans-serif; max-width: 60rem; margin: 0 auto; padding: 1rem }
pre { overflow-x: auto; border: 1px solid var(--line); border-radius: 6px; padding: .7rem; font-size: 13px }
table { border-collapse: collapse } td { padding: .15rem 1rem .15rem 0; vertical-align: top; white-space: nowrap }
ul { list-style: none; padding: 0 } li { margin: .3rem 0; overflow-wrap: anywhere } small { opacity: .7 }
.wide { overflow-x: auto }
details { border-left: 3px solid var(--line); padding-left: .8rem; margin: .8rem 0 } summary { cursor: pointer }
.good { color: var(--good) } .bad { color: var(--bad) } .add { color: var(--good) } .del { color: var(--bad) }
"""

_HEAD_LINES = 5


def render_report(
    settings: Settings, prompt: str, attempts: Sequence[Attempt], calls: Sequence[ModelCall], *, error: str | None
) -> str:
    """One page: the request, each attempt with its cause and its change, the calls, the final code."""
    verdict = _mark("passed", "failed", good=error is None) + (f": {_text(error)}" if error else "")
    parts = [
        f"<h1>{_text(settings.name)}: {verdict}</h1>",
        f"<p>{_text(prompt)}</p>",
        "<h2>Attempts</h2>",
        *(_attempt(attempt, before) for before, attempt in zip([None, *attempts], attempts, strict=False)),
        "<h2>Model calls</h2>",
        _calls(calls),
    ]
    best = best_attempt(attempts)
    if best is not None:
        parts += ["<h2>Solution</h2>", _code(best.candidate.solution.code)]
        if best.candidate.tests:
            parts += ["<h2>Tests</h2>", _code(best.candidate.tests)]
    return _page(settings.name, "\n".join(parts))


def _page(title: str, body: str) -> str:
    return (
        '<!doctype html>\n<html lang="en"><head><meta charset="utf-8">'
        '<meta name="viewport" content="width=device-width, initial-scale=1">'
        f"<title>{_text(title)}</title><style>{_STYLE}</style></head>\n<body>\n{body}\n</body></html>\n"
    )


def _attempt(attempt: Attempt, before: Attempt | None) -> str:
    passed = attempt.report is not None and attempt.report.passed
    mark = _mark("passed", "failed", good=passed)
    opened = " open" if passed else ""
    parts = [f"<details{opened}><summary>{attempt.number}. {attempt.action.replace('_', ' ')}: {mark}</summary>"]
    parts.append(f"<p>{_text(attempt.reason)}</p>")
    if attempt.environment is not None:
        installed = ", ".join(attempt.environment.packages) or "standard library only"
        parts.append(f"<p>Installed: {_text(installed)}</p>")
    if before is not None:
        parts.append(_difference(before, attempt))
    if attempt.report is not None:
        parts.append(_report(attempt.report))
    return "\n".join([*parts, "</details>"])


def _difference(before: Attempt, attempt: Attempt) -> str:
    old, new = before.candidate, attempt.candidate
    lines = _diff_lines("solution.py", old.solution.code, new.solution.code)
    lines += _diff_lines("test_solution.py", old.tests or "", new.tests or "")
    if not lines:
        return ""
    classes = {"+": "add", "-": "del"}
    shown = [f'<span class="{classes.get(line[:1], "")}">{_text(line)}</span>' for line in lines]
    return "<pre>" + "\n".join(shown) + "</pre>"


def _diff_lines(name: str, old: str, new: str) -> list[str]:
    return list(difflib.unified_diff(old.splitlines(), new.splitlines(), name, name, lineterm=""))


def _mark(yes: str, no: str, *, good: bool) -> str:
    return f'<span class="good">{yes}</span>' if good else f'<span class="bad">{no}</span>'


def _report(report: TestReport) -> str:
    rows = [_run_row(run) for run in report.runs]
    for suite in report.suites:
        rows += _suite_rows(suite)
    cause = f"<pre>{_text(report.build_cause.message)}</pre>" if report.build_cause else ""
    isolation = f"<p><small>Isolation: {_text(', '.join(report.isolation))}</small></p>" if report.isolation else ""
    return f"{cause}<ul>{''.join(rows)}</ul>{isolation}"


def _run_row(run: ScriptRun) -> str:
    where = "the samples" if run.case == SAMPLES_CASE else run.case
    told = _excerpt(run.cause.message) if run.cause else "".join(_output(*item) for item in run.outputs.items())
    return _row(f"script on {where}", run.wall_s, told, passed=run.passed)


def _output(name: str, value: JsonValue) -> str:
    """A simple output as it is, a file by its size and its first lines, a folder by its files."""
    if not isinstance(value, dict):
        return f"<div>{_text(name)} = {_text(str(value))}</div>"
    if "files" in value:
        return f"<div>{_text(name)}: {_text(json.dumps(value['files']))}</div>"
    head = str(value.get("head", "")).splitlines()[:_HEAD_LINES]
    return f"<div>{_text(name)}: {value.get('size_bytes')} bytes</div>" + _excerpt("\n".join(head))


def _suite_rows(suite: SuiteReport) -> list[str]:
    rows = [
        _row(test.name, test.duration_s, _excerpt(test.message), passed=test.outcome == "passed")
        for test in suite.tests
    ]
    if suite.cause is not None and not any(test.outcome in {"failed", "error"} for test in suite.tests):
        rows.append(_row(f"{suite.origin} tests", suite.wall_s, _excerpt(suite.cause.message), passed=False))
    return rows


def _row(name: str, wall_s: float, told: str, *, passed: bool) -> str:
    return f"<li>{_mark('✓', '✗', good=passed)} {_text(name)} <small>{wall_s:.2f} s</small>{told}</li>"


def _excerpt(text: str) -> str:
    return f"<pre>{_text(text)}</pre>" if text.strip() else ""


def _calls(calls: Sequence[ModelCall]) -> str:
    return f'<div class="wide"><table>{"".join(_call_row(call) for call in calls)}</table></div>'


def _call_row(call: ModelCall) -> str:
    tokens = f"<td>{call.usage.input_tokens:,} in</td><td>{call.usage.output_tokens:,} out</td>"
    took = "reused" if call.is_reused else f"{call.wall_s:.2f} s"
    return f"<tr><td>{call.purpose}</td><td>{_text(call.model)}</td>{tokens}<td>{took}</td></tr>"


def _code(text: str) -> str:
    return f"<pre><code>{_text(text)}</code></pre>"


def _text(text: str) -> str:
    return escape(text, quote=True)

"""Puts the report together and writes it."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from functools import cache
from pathlib import Path

from flyteplugins_codegen.evaluation.findings import Findings
from flyteplugins_codegen.evaluation.pairing import pair
from flyteplugins_codegen.evaluation.report.browsing import render_data
from flyteplugins_codegen.evaluation.report.markup import text, words
from flyteplugins_codegen.evaluation.report.problems import render_comparison, render_matrix, render_slowest
from flyteplugins_codegen.evaluation.report.summary import render_summary
from flyteplugins_codegen.evaluation.values import Sample
from flyteplugins_codegen.store import write_atomically

# Even a string that got through unescaped could not reach the network.
_POLICY = "default-src 'none'; style-src 'unsafe-inline'; script-src 'unsafe-inline'"


def write_report(
    findings: Findings, path: Path, *, samples: Iterable[Sample] | None, before: Findings | None, title: str
) -> Path:
    """Write the page whole or not at all. Raises RequestError for what is of other problems, OSError."""
    page = render_page(findings, samples=samples, before=before, title=title)
    write_atomically(path, page.encode(errors="backslashreplace"))
    return path


def render_page(findings: Findings, *, samples: Iterable[Sample] | None, before: Findings | None, title: str) -> str:
    """The whole page as text."""
    sections = "\n".join(
        f"<section><h2>{name}</h2>{body}</section>" for name, body in _sections(findings, before) if body
    )
    return (
        '<!doctype html>\n<html lang="en"><head><meta charset="utf-8">'
        f'<meta http-equiv="Content-Security-Policy" content="{_POLICY}">'
        '<meta name="viewport" content="width=device-width, initial-scale=1">'
        f"<title>{text(title)}</title><style>{_beside('report.css')}</style></head>\n"
        f"<body>\n<h1>{text(title)}</h1>\n<p>{_told(findings)}</p>\n{sections}\n{_browser(findings)}\n"
        f'<script type="application/json" id="data">{render_data(findings, samples)}</script>\n'
        f"<script>{_beside('report.js')}</script>\n</body></html>\n"
    )


def _sections(findings: Findings, before: Findings | None) -> Iterator[tuple[str, str]]:
    yield "Scores", render_summary(findings)
    if before is not None:
        yield "Against the earlier run", render_comparison(before, findings, pair(before, findings))
    yield "Problems", render_matrix(findings)
    yield "Slowest samples", render_slowest(findings)


def _told(findings: Findings) -> str:
    left_out = findings.counts["infrastructure"]
    told = f"{len(findings.samples):,} samples of {len(findings.scores):,} problems"
    return f"{told}; {left_out:,} that the machine failed are not counted" if left_out else told


def _browser(findings: Findings) -> str:
    options = "".join(
        f'<option value="{outcome}">{words(outcome)} ({count:,})</option>'
        for outcome, count in findings.counts.items()
        if count
    )
    return (
        '<section id="samples"><h2>Samples</h2><noscript><p>Showing samples takes JavaScript.</p></noscript>'
        '<form><label>Problem <input type="search" id="task" placeholder="part of its name"></label>'
        f'<label>End <select id="outcome"><option value="">all</option>{options}</select></label></form>'
        '<p id="found" role="status"></p><div id="list"></div>'
        '<p class="pages"><button id="previous">Previous</button> <button id="next">Next</button></p></section>'
    )


@cache
def _beside(name: str) -> str:
    return Path(__file__).with_name(name).read_text(encoding="utf-8")

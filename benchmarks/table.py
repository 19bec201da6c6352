"""The figures as a table in Markdown, and as JSON."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import asdict
from typing import Any

from benchmarks.figures import Figure

HEADINGS = ("", "peer", "ours", "ratio", "target", "met")


def render_table(figures: Sequence[Figure]) -> str:
    """One line a figure, in columns."""
    rows = [HEADINGS, *(_row(figure) for figure in figures)]
    widths = [max(len(row[column]) for row in rows) for column in range(len(HEADINGS))]
    lines = [
        "| " + " | ".join(cell.ljust(width) for cell, width in zip(row, widths, strict=True)) + " |" for row in rows
    ]
    rule = "|" + "|".join("-" * (width + 2) for width in widths) + "|"
    return "\n".join([lines[0], rule, *lines[1:]])


def _row(figure: Figure) -> tuple[str, ...]:
    ratio = "" if figure.ratio is None else f"{figure.ratio:.2f}"
    target = figure.target.text if figure.target else ""
    met = {None: "", True: "yes", False: "NO"}[figure.is_met]
    return (figure.name, _quantity(figure.peer, figure.unit), _quantity(figure.ours, figure.unit), ratio, target, met)


def _quantity(value: float, unit: str) -> str:
    number = f"{value:.3f}" if unit == "s" else f"{value:,.0f}"
    return f"{number} {unit}".strip()


def render_json(figures: Sequence[Figure], machine: Mapping[str, Any]) -> str:
    """The same with every digit, and what machine it was."""
    lines = [{**asdict(figure), "ratio": figure.ratio, "is_met": figure.is_met} for figure in figures]
    return json.dumps({"machine": dict(machine), "figures": lines}, indent=2) + "\n"

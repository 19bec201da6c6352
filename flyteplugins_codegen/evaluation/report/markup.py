"""Small pieces of HTML. Whatever comes from a model, a benchmark or a file goes through `text`."""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from html import escape

from flyteplugins_codegen.evaluation.values import Outcome


def text(value: str) -> str:
    """The string as HTML shows it; HTML has no zero byte, and gets the sign that stands for what cannot be shown."""
    return escape(value, quote=True).replace("\0", "\ufffd")


def long(value: str) -> str:
    """A string of any length, in a table's cell: it is broken where the cells of figures are not."""
    return f'<span class="long">{text(value)}</span>'


def figure(value: float) -> str:
    """A score or a difference of scores to three digits; a dash for one that too few samples give."""
    return "—" if math.isnan(value) else f"{value:.3f}"


def change(value: float) -> str:
    """A difference with its sign."""
    return "—" if math.isnan(value) else f"{value:+.3f}"


def words(outcome: Outcome) -> str:
    """`wrong answer` of `wrong_answer`."""
    return outcome.replace("_", " ")


def table(head: Sequence[str], rows: Iterable[Sequence[str]]) -> str:
    """A table of cells that are HTML already; it scrolls by itself where the page is too narrow."""
    heads = "".join(f"<th>{cell}</th>" for cell in head)
    lines = "".join(f"<tr>{''.join(f'<td>{cell}</td>' for cell in row)}</tr>" for row in rows)
    return f'<div class="wide"><table><thead><tr>{heads}</tr></thead><tbody>{lines}</tbody></table></div>'

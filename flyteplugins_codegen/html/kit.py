"""Small pieces of HTML. Whatever comes from a model, a user or a file goes through `text`."""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from functools import cache
from html import escape
from pathlib import Path
from typing import Final, NamedTuple

from flyteplugins_codegen.text import shorten_middle

# HTML has no zero byte; marks of direction make code read otherwise than it runs (CVE-2021-42574, "Trojan Source").
_VISIBLE: Final = {0: "\ufffd"} | {
    code: f"[U+{code:04X}]" for code in (0x061C, 0x200E, 0x200F, *range(0x202A, 0x202F), *range(0x2066, 0x206A))
}


class Room(NamedTuple):
    """What there is room for: characters of one text that a program wrote, and rows of one list."""

    chars: int
    rows: int


@cache
def read_asset(name: str) -> str:
    """A style sheet or script of this room, to stand within a page."""
    return Path(__file__).with_name(name).read_text(encoding="utf-8")


def text(value: str) -> str:
    """The string as HTML shows it, in an element or between the quotes of an attribute."""
    return escape(value, quote=True).translate(_VISIBLE)


def fitting(value: str, chars: int) -> str:
    """The string as HTML of about so many characters at most, its middle left out where it is longer."""
    cut = shorten_middle(value, chars)
    shown = text(cut)
    # Escaped, a string may be six times as long.
    return shown if len(shown) <= chars else text(shorten_middle(cut, max(40, chars * len(cut) // len(shown))))


def log(value: str, chars: int) -> str:
    """What a program or a person wrote, its lines broken where the page is too narrow; nothing for nothing."""
    lines = value.rstrip().lstrip("\n")
    return f'<pre class="log">{fitting(lines, chars)}</pre>' if lines else ""


def paragraphs(value: str, chars: int) -> str:
    """Prose with the lines that it has."""
    return f'<p class="prose">{fitting(value.strip(), chars)}</p>' if value.strip() else ""


def badge(word: str, kind: str = "plain") -> str:
    """A word in a box: `kind` is one of good, bad, plain."""
    return f'<span class="badge {kind}">{text(word)}</span>'


def folded(summary: str, body: str, *, is_open: bool = False) -> str:
    """Both are HTML; the body is seen once the summary is clicked, or chosen by the keyboard."""
    return f"<details{' open' if is_open else ''}><summary>{summary}</summary>{body}</details>" if body else ""


def table(head: Sequence[str], rows: Iterable[Sequence[str]], foot: Sequence[str] = ()) -> str:
    """A table of cells that are HTML already; it scrolls by itself where the page is too narrow."""
    heads = "".join(f'<th scope="col">{cell}</th>' for cell in head)
    lines = "".join(_line(row) for row in rows)
    last = f"<tfoot>{_line(foot)}</tfoot>" if foot else ""
    whole = f"<table><thead><tr>{heads}</tr></thead><tbody>{lines}</tbody>{last}</table>"
    return f'<div class="wide" tabindex="0">{whole}</div>'


def _line(cells: Sequence[str]) -> str:
    return f"<tr>{''.join(f'<td>{cell}</td>' for cell in cells)}</tr>"


def facts(pairs: Iterable[tuple[str, str]]) -> str:
    """Names with what they stand for, as HTML; those that stand for nothing are left out."""
    items = "".join(f"<div><dt>{name}</dt><dd>{value}</dd></div>" for name, value in pairs if value)
    return f'<dl class="facts">{items}</dl>' if items else ""


def bullets(items: Iterable[str], kind: str = "") -> str:
    """A list of items that are HTML already; nothing for none."""
    lines = "".join(f"<li>{item}</li>" for item in items)
    return f'<ul class="{kind}">{lines}</ul>' if lines else ""


def size(size_bytes: float) -> str:
    """`1.2 MB`: powers of 1,000, as disks have them."""
    for unit in ("bytes", "kB", "MB"):
        if size_bytes < 1000:  # noqa: PLR2004 - the step between units
            return f"{size_bytes:.0f} bytes" if unit == "bytes" else f"{size_bytes:.3g} {unit}"
        size_bytes /= 1000
    return f"{size_bytes:,.3g} GB"


def seconds(wall_s: float) -> str:
    """`0.42 s`, `3 min 20 s`."""
    if wall_s < 60:  # noqa: PLR2004 - of a minute
        return f"{wall_s:.2f} s"
    minutes, left_s = divmod(round(wall_s), 60)
    return f"{minutes} min {left_s} s"


def dollars(cost_usd: float | None) -> str:
    """The price, or that it is not known: never 0 for what nobody has a price of."""
    if cost_usd is None:
        return "unknown"
    return f"${cost_usd:.4f}" if cost_usd < 1 else f"${cost_usd:,.2f}"


# Small pieces of HTML. Whatever comes from a model, a benchmark or a file goes through `text`.


def long(value: str) -> str:
    """A string of any length, in a table's cell: it is broken where the cells of figures are not."""
    return f'<span class="long">{text(value)}</span>'


def figure(value: float) -> str:
    """A score or a difference of scores to three digits; a dash for one that too few samples give."""
    return "—" if math.isnan(value) else f"{value:.3f}"


def change(value: float) -> str:
    """A difference with its sign."""
    return "—" if math.isnan(value) else f"{value:+.3f}"


def words(outcome: str) -> str:
    """`wrong answer` of `wrong_answer`."""
    return outcome.replace("_", " ")

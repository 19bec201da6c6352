"""The HTML kit: pages, and the elements that they are made of.

Every function returns HTML. Text from a model, a user or a file is a `str` that goes through `text`, `fitting` or
another function that escapes it; a parameter that takes HTML says so.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from functools import cache
from html import escape
from pathlib import Path
from typing import Final, NamedTuple

from flyteplugins_codegen.text import shorten_middle

# Marks of direction make code read otherwise than it runs (CVE-2021-42574, "Trojan Source").
_DIRECTION_MARKS: Final = {
    code: f"[U+{code:04X}]" for code in (0x061C, 0x200E, 0x200F, *range(0x202A, 0x202F), *range(0x2066, 0x206A))
}
_VISIBLE: Final = {0: "\ufffd"} | _DIRECTION_MARKS  # HTML has no zero byte
# Even a string that was not escaped could not reach the network, and no script runs unless the page has its own.
_POLICY: Final = "default-src 'none'; style-src 'unsafe-inline'"
_SCRIPT_POLICY: Final = f"{_POLICY}; script-src 'unsafe-inline'"


class Room(NamedTuple):
    """Size limits: characters of one text that a program wrote, and rows of one list."""

    chars: int
    rows: int


# --- pages ---


def render_document(
    title: str, head: str, sections: Iterable[tuple[str, str]], *, kind: str = "", footer: str = "", scripts: str = ""
) -> str:
    """A page that loads nothing: a head, then sections by their titles. All arguments are HTML.

    Sections without a body are left out; `footer` follows the sections. `kind` is the class of the page's own part of
    the style sheet. A page runs no script unless `scripts` holds script elements.
    """
    bodies = "\n".join(f"<section><h2>{name}</h2>{body}</section>" for name, body in sections if body)
    opening = f'<main class="{kind}">' if kind else "<main>"
    page = (
        '<!doctype html>\n<html lang="en"><head><meta charset="utf-8">'
        f'<meta http-equiv="Content-Security-Policy" content="{_SCRIPT_POLICY if scripts else _POLICY}">'
        '<meta name="viewport" content="width=device-width, initial-scale=1">'
        f"<title>{title}</title><style>{read_asset('kit.css')}</style></head>\n"
        f"<body>{opening}\n{head}\n{bodies}\n{footer}</main>{scripts}</body></html>\n"
    )
    return page.encode(errors="backslashreplace").decode()


@cache
def read_asset(name: str) -> str:
    """The text of a style sheet or script beside this module."""
    return Path(__file__).with_name(name).read_text(encoding="utf-8")


# --- text ---


def text(value: str) -> str:
    """The string as HTML, for an element or for the quotes of an attribute. Marks of direction become visible."""
    return escape(value, quote=True).translate(_VISIBLE)


def visible(value: str) -> str:
    """The string with its marks of direction made visible, not escaped: for a script that sets it as text."""
    return value.translate(_DIRECTION_MARKS)


def fitting(value: str, chars: int) -> str:
    """The string as HTML of about `chars` characters at most; the middle of a longer one is left out."""
    cut = shorten_middle(value, chars)
    escaped = text(cut)
    # Escaping can make a string six times as long.
    return escaped if len(escaped) <= chars else text(shorten_middle(cut, max(40, chars * len(cut) // len(escaped))))


def wrapped(value: str) -> str:
    """A string of any length in a table's cell; unlike other cells, it wraps."""
    return f'<span class="long">{text(value)}</span>'


def words(name: str) -> str:
    """`wrong answer` for `wrong_answer`."""
    return name.replace("_", " ")


# --- elements ---


def log(value: str, chars: int) -> str:
    """Output of a program or of a person, with long lines wrapped; nothing for an empty text."""
    lines = value.rstrip().lstrip("\n")
    return f'<pre class="log">{fitting(lines, chars)}</pre>' if lines else ""


def paragraphs(value: str, chars: int) -> str:
    """Prose with its own line breaks; nothing for an empty text."""
    return f'<p class="prose">{fitting(value.strip(), chars)}</p>' if value.strip() else ""


def badge(word: str, kind: str = "plain") -> str:
    """A word in a box: `kind` is one of good, bad, plain."""
    return f'<span class="badge {kind}">{text(word)}</span>'


def folded(summary: str, body: str, *, is_open: bool = False) -> str:
    """A body that opens when its summary is clicked, or chosen by the keyboard. Both are HTML; nothing for no body."""
    return f"<details{' open' if is_open else ''}><summary>{summary}</summary>{body}</details>" if body else ""


def table(head: Sequence[str], rows: Iterable[Sequence[str]], foot: Sequence[str] = ()) -> str:
    """A table of cells that are HTML; it scrolls by itself on a narrow page."""
    headings = "".join(f'<th scope="col">{cell}</th>' for cell in head)
    body = "".join(_table_row(row) for row in rows)
    footer = f"<tfoot>{_table_row(foot)}</tfoot>" if foot else ""
    whole = f"<table><thead><tr>{headings}</tr></thead><tbody>{body}</tbody>{footer}</table>"
    return f'<div class="wide" tabindex="0">{whole}</div>'


def _table_row(cells: Sequence[str]) -> str:
    return f"<tr>{''.join(f'<td>{cell}</td>' for cell in cells)}</tr>"


def facts(pairs: Iterable[tuple[str, str]]) -> str:
    """Names with their values, as HTML; names without a value are left out."""
    items = "".join(f"<div><dt>{name}</dt><dd>{value}</dd></div>" for name, value in pairs if value)
    return f'<dl class="facts">{items}</dl>' if items else ""


def bullets(items: Iterable[str], kind: str = "") -> str:
    """A list of items that are HTML; nothing for no items."""
    lines = "".join(f"<li>{item}</li>" for item in items)
    return f'<ul class="{kind}">{lines}</ul>' if lines else ""


# --- numbers ---


def figure(value: float) -> str:
    """A score with three digits; a dash for NaN, the score of too few samples."""
    return "—" if math.isnan(value) else f"{value:.3f}"


def signed_figure(value: float) -> str:
    """A difference of scores with its sign and three digits; a dash for NaN."""
    return "—" if math.isnan(value) else f"{value:+.3f}"


def size(size_bytes: float) -> str:
    """`1.2 MB`: in powers of 1,000, as for disks."""
    for unit in ("bytes", "kB", "MB"):
        if size_bytes < 1000:  # noqa: PLR2004 - the step between units
            return f"{size_bytes:.0f} bytes" if unit == "bytes" else f"{size_bytes:.3g} {unit}"
        size_bytes /= 1000
    return f"{size_bytes:,.3g} GB"


def seconds(wall_s: float) -> str:
    """`0.42 s`, `3 min 20 s`."""
    if wall_s < 60:  # noqa: PLR2004 - of a minute
        return f"{wall_s:.2f} s"
    minutes, remaining_s = divmod(round(wall_s), 60)
    return f"{minutes} min {remaining_s} s"


def dollars(cost_usd: float | None) -> str:
    """The price, or `unknown` for None: a price that nobody knows is not 0."""
    if cost_usd is None:
        return "unknown"
    return f"${cost_usd:.4f}" if cost_usd < 1 else f"${cost_usd:,.2f}"

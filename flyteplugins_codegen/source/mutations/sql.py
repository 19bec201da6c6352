"""Changes of queries: SQL in a string, as DuckDB, SQLite and pandas take it. It is changed as text, word by word.

A query is a string that begins with `SELECT` or `WITH` and has a `FROM`. Group keys stay: without one, a query fails in
every run, which tells nothing of the tests.
"""

from __future__ import annotations

import ast
import re
from collections.abc import Callable, Iterator
from typing import Final, NamedTuple

from flyteplugins_codegen.source.mutations.change import Change, MutationKind, Place, SourceSpan, padded, span_of

_QUERY: Final = re.compile(r"(?is)^[rbuf]*[\"'\s(]*(select|with)\b.*\bfrom\b")
_AGGREGATES: Final = {"sum": "max", "avg": "max", "min": "max", "max": "min", "median": "avg", "mean": "max"}
_SIGNS: Final = {"<": "<=", "<=": "<", ">": ">=", ">=": ">"}
_COLUMN: Final = re.compile(r"(?i)\b(?:sum|avg|min|max|median)\s*\(\s*((?:\w+\.)?[a-z_]\w*)\s*\)")
_EXCERPT_CHARS: Final = 40


class _Rule(NamedTuple):
    kind: MutationKind
    pattern: re.Pattern[str]
    replacement: Callable[[re.Match[str]], str]


def _rule(kind: MutationKind, pattern: str, replacement: str | Callable[[re.Match[str]], str]) -> _Rule:
    by = replacement if callable(replacement) else lambda match: match.expand(replacement)
    return _Rule(kind, re.compile(f"(?i){pattern}"), by)


_RULES: Final = (
    _rule("filter", r"\b(where|having)\s", r"\1 1 = 1 or "),
    _rule("filter", r"([=<>]\s*)(\d+)\b(?!\s*=\s*1 or)", lambda match: f"{match[1]}{int(match[2]) + 1}"),
    _rule("filter", r"(=\s*'[^']+)'", r"\1_'"),
    _rule("boundary", r"(?<![<>=])(<=|>=|<(?![>=])|>(?!=))", lambda match: _SIGNS[match[1]]),
    _rule("comparison", r"(?<![<>=!])(=)(?!=)(?=\s*')", "<>"),
    _rule("comparison", r"(?<!\?)\bor\b", "and"),
    _rule("aggregate", r"\b(sum|avg|min|max|median|mean)(?=\s*\()", lambda match: _AGGREGATES[match[1].lower()]),
    _rule("aggregate", r"\bcount\s*\(\s*(?!\*|distinct\b)", "count(distinct "),
    _rule("duplicates", r"\bcount\s*\(\s*distinct\s", "count("),
    _rule("duplicates", r"\bselect\s+distinct\b", "select"),
    _rule("null handling", r"\bis\s+not\s+null\b", "is null"),
    _rule("null handling", r"\b(?:coalesce|ifnull)\s*\(([^(),]+),[^()]+\)", r"(\1)"),
    _rule("join", r"\b(?:left|full|right)(?:\s+outer)?\s+join\b", "inner join"),
    _rule("join", r"(?<!left )(?<!right )(?<!full )(?<!outer )(?<!cross )\b(?:inner\s+)?join\b", "left join"),
    _rule("order", r"\bdesc\b", "asc"),
    _rule("order", r"\border\s+by\s+[\w.]+(?=\s*(?:,|\)|limit\b|[\"';]|\Z))", r"\g<0> desc"),
    _rule("order", r"(\border\s+by\s+[\w.]+\s+)asc\b", r"\1desc"),
    _rule("row", r"(\blimit\s+)(\d+)", lambda match: f"{match[1]}{int(match[2]) + 1}"),
)


def sql_changes(place: Place, node: ast.AST) -> Iterator[Change]:
    """The changes of a string or an f-string that is a query; none for any other node, and none for a docstring."""
    if not isinstance(node, ast.Constant | ast.JoinedStr) or isinstance(place.parent(node), ast.Expr | ast.JoinedStr):
        return
    if isinstance(node, ast.Constant) and not isinstance(node.value, str):
        return
    text = place.text.at(span_of(node))
    if not _QUERY.match(text):
        return
    for rule in _RULES:
        for match in rule.pattern.finditer(text):
            yield _changed(rule.kind, node, text, match.span(), rule.replacement(match))
    names = sorted({match[1] for match in _COLUMN.finditer(text)})
    for match in _COLUMN.finditer(text) if len(names) > 1 else ():
        other = names[(names.index(match[1]) + 1) % len(names)]
        yield _changed("column", node, text, match.span(1), other)


def _changed(kind: MutationKind, node: ast.expr, text: str, at: tuple[int, int], by: str) -> Change:
    before = " ".join(text[at[0] : at[1]].split())
    span = _span_in(node, text, at)
    around = " ".join(text[at[0] : at[1] + _EXCERPT_CHARS].split())[:_EXCERPT_CHARS]
    return Change(kind, span, padded(by, span), f"`{' '.join(by.split())}` for `{before}` in the query at `{around}`")


def _span_in(node: ast.expr, text: str, at: tuple[int, int]) -> SourceSpan:
    """The span of a part of a literal, from its place in the literal's text."""
    first, last = (text[:offset].split("\n") for offset in at)
    columns = [len(lines[-1].encode()) + (node.col_offset if len(lines) == 1 else 0) for lines in (first, last)]
    return node.lineno + len(first) - 1, columns[0], node.lineno + len(last) - 1, columns[1]

"""A change of a piece of code, and what is known of the place where it is made."""

from __future__ import annotations

import ast
from collections.abc import Iterator, Mapping, Sequence
from types import MappingProxyType
from typing import Final, Literal, NamedTuple, TypeAlias

MutationKind = Literal[
    "filter",
    "boundary",
    "aggregate",
    "column",
    "null handling",
    "group key",
    "join",
    "order",
    "row",
    "duplicates",
    "comparison",
    "arithmetic",
    "rounding",
    "constant",
    "deleted statement",
]
SourceSpan: TypeAlias = tuple[int, int, int, int]  # first line, column in bytes, last line, column in bytes

_EXCERPT_CHARS: Final = 60


class Change(NamedTuple):
    """A replacement for a span of the code. `loops` says that the changed program may never end."""

    kind: MutationKind
    span: SourceSpan
    text: str
    description: str
    loops: bool = False


class SourceText:
    """The lines of a source, to read spans from."""

    def __init__(self, source: bytes) -> None:
        self._lines = source.splitlines(keepends=True)

    def at(self, span: SourceSpan) -> str:
        """The text of a span."""
        first, start, last, end = span
        lines = self._lines[first - 1 : last]
        lines[-1] = lines[-1][:end]
        lines[0] = lines[0][start:]
        return b"".join(lines).decode()


class Place(NamedTuple):
    """The region in which changes are looked for: its source, its root node, and the parent of every node below.

    `columns` are the names of the columns in it, by the table and what their values are taken for.
    """

    text: SourceText
    root: ast.AST
    parents: Mapping[ast.AST, ast.AST]
    columns: Mapping[tuple[str, str], Sequence[str]] = MappingProxyType({})

    def parent(self, node: ast.AST) -> ast.AST | None:
        """The node that holds this one; None for the region's root."""
        return self.parents.get(node)

    def above(self, node: ast.AST) -> Iterator[ast.AST]:
        """The nodes that hold this one, from the inside out."""
        above = self.parents.get(node)
        while above is not None:
            yield above
            above = self.parents.get(above)


def place_of(source: bytes, node: ast.AST) -> Place:
    """The place for changes at and below a node of a source in UTF-8."""
    parents = {child: parent for parent in ast.walk(node) for child in ast.iter_child_nodes(parent)}
    return Place(SourceText(source), node, parents)


def span_of(node: ast.expr | ast.stmt) -> SourceSpan:
    """The span of a node."""
    return node.lineno, node.col_offset, node.end_lineno or node.lineno, node.end_col_offset or node.col_offset


def end_of(node: ast.expr | ast.keyword) -> SourceSpan:
    """The empty span at the end of a node."""
    return (node.end_lineno or node.lineno, node.end_col_offset or node.col_offset) * 2


def span_between(first: ast.expr, last: ast.expr) -> SourceSpan:
    """The span from the end of one expression to the end of another that ends later."""
    return first.end_lineno or 0, first.end_col_offset or 0, last.end_lineno or 0, last.end_col_offset or 0


def in_message(place: Place, node: ast.AST) -> bool:
    """Whether a node stands in an f-string or in a `raise`."""
    return any(isinstance(above, ast.JoinedStr | ast.Raise) for above in place.above(node))


def excerpt(node: ast.AST) -> str:
    """The code of a node in one short line."""
    text = " ".join(ast.unparse(node).split())
    return text if len(text) <= _EXCERPT_CHARS else f"{text[: _EXCERPT_CHARS - 3]}..."


def replaced(kind: MutationKind, node: ast.expr, by: str) -> Change:
    """Another text for an expression."""
    return Change(kind, span_of(node), padded(by, span_of(node)), f"`{by}` for `{excerpt(node)}`")


def removed(kind: MutationKind, call: ast.Call, value: ast.expr) -> Change:
    """A method call dropped, so that the value that it is called on stays."""
    span = span_between(value, call)
    dropped = excerpt(call)[len(excerpt(value)) :] if len(ast.unparse(call)) < _EXCERPT_CHARS else f".{_method(call)}()"
    return Change(kind, span, padded("", span), f"without `{dropped}`")


def padded(text: str, span: SourceSpan) -> str:
    """The text with as many line ends as the span has, escaped, so that all lines below keep their numbers."""
    return text + " \\\n" * (span[2] - span[0] - text.count("\n"))


def _method(call: ast.Call) -> str:
    return call.func.attr if isinstance(call.func, ast.Attribute) else ""

"""Why a case failed, in the words that a repair needs: the statement, the call, what it gave, where in the solution.

A part of the program that judges by values: standard library only, it runs inside the sandbox, in the judge.
"""

from __future__ import annotations

from itertools import islice

TYPE_CHECKING = False  # as typing has it; importing typing would cost each start 5 ms
if TYPE_CHECKING:
    from types import FrameType
    from typing import Any, TypeAlias

    from flyteplugins_codegen.sandbox.values import plain_data
    from flyteplugins_codegen.sandbox.values.comparison import Difference
    from flyteplugins_codegen.sandbox.values.exchange import text_of
    from flyteplugins_codegen.sandbox.values.plain_data import Tree
    from flyteplugins_codegen.sandbox.values.stand_ins import Asked, Fault, Judge

    Step: TypeAlias = tuple[FrameType, int, str]  # a frame of the checks', its line and that line's text
    Failure: TypeAlias = tuple[str, str, str, str]  # kind, subject and message of a Cause, and the traceback
else:
    import plain_data
    from exchange import text_of

MAX_CHARS = 300
MAX_ITEMS = 64  # and a quarter of it one level below, and so on
MAX_DEPTH = 4
MAX_FRAMES = 12
MAX_TEXT_CHARS = 2_000
MAX_NAMES = 6
LONGEST_INT_BITS = 1_000


class WrongError(AssertionError):
    """A call did not give what a pair expects of it."""


def explain(peer: Judge, error: BaseException | None, sources: dict[str, str]) -> Failure:
    """Why a case failed. `error` is what it raised, if anything; `sources` are the checks' texts by their names."""
    asked, steps = peer.last, _steps(error, sources)
    fault = peer.ended or peer.fault
    if fault is not None:
        kind, subject, message = fault
        told = f"{call_text(asked)}: {message}" if asked else message
    elif asked is not None and error is asked.error:
        kind, subject, told = raised_fault(asked)
    else:
        kind, subject, told = "test_failed", "", _wrong(error, asked, steps)
    lines = [f"{frame.f_code.co_filename}:{line}: {text}" for frame, line, text in steps[-MAX_FRAMES:]]
    if asked is not None and asked.traceback:
        lines.append(asked.traceback)
    statement = f"{steps[-1][2]}\n" if steps else ""
    return kind, subject, (statement + told)[:MAX_TEXT_CHARS], "\n".join(lines)[:MAX_TEXT_CHARS]


def raised_fault(asked: Asked) -> Fault:
    """What to say where a call raised an exception that no check expected."""
    told = f"{call_text(asked)} raised {asked.raised}: {asked.text}"
    if asked.missing:
        return "missing_module", asked.missing, told
    return "out_of_memory" if asked.raised == "MemoryError" else "exception", asked.raised, told


def wrong_pair(asked: Asked, expected: Any, differing: Difference) -> WrongError:
    """The failure of a pair, with what was expected, and where in it the difference is."""
    place, found, wanted = differing
    told = f"{call_text(asked)} {_outcome(asked)}, expected {shown(expected)}"
    return WrongError(f"{told}; at {place}: {shown(found)}, expected {shown(wanted)}" if place else told)


def call_text(asked: Asked) -> str:
    """A call as Python writes it, with its arguments as they were before it; the import of the solution as that."""
    if asked.is_import:
        return "importing the solution"
    args, kwargs = _arguments(asked, plain_data.Reader(Elsewhere, []))
    given = [shown(arg) for arg in args] + [f"{name}={shown(value)}" for name, value in kwargs.items()]
    return f"{asked.name}({', '.join(given)})"


def _arguments(asked: Asked, reader: plain_data.Reader) -> tuple[list[Any], dict[str, Any]]:
    """Those by position and by name, as they were told."""
    if isinstance(asked.given, bytes):
        return plain_data.read_call(plain_data.read_text(asked.given), Elsewhere)
    args, kwargs = (reader.value(tree) for tree in asked.given)
    return args, kwargs


def _result(asked: Asked) -> Any:
    """What was answered; its tree goes on with the numbers of the arguments', unless those were told with others."""
    reader = plain_data.Reader(Elsewhere, [])
    if not isinstance(asked.given, bytes):
        _arguments(asked, reader)
    return reader.value(asked.result)


class Elsewhere:
    """Shows an object that is on the other side."""

    def __init__(self, tree: Tree) -> None:
        self._text = f"<{tree[3]}>" if len(tree) > 3 else "<an object of the solution's>"  # noqa: PLR2004 - its class

    def __repr__(self) -> str:
        return self._text


def _wrong(error: BaseException | None, asked: Asked | None, steps: list[Step]) -> str:
    """What a statement of a check found."""
    told = []
    if asked is not None and asked.is_answered and not isinstance(error, WrongError):
        told.append(f"{call_text(asked)} {_outcome(asked)}")
    text = text_of(error) if error is not None else ""
    if isinstance(error, WrongError):
        told.append(text)
    elif text or not isinstance(error, AssertionError):
        told.append(f"{type(error).__name__}: {text}")
    return "\n".join([*told, *(_names(*steps[-1]) if steps else ())])


def _outcome(asked: Asked) -> str:
    if asked.raised:
        return f"raised {asked.raised}: {asked.text}"
    return f"returned {shown(_result(asked))}"


def _steps(error: BaseException | None, sources: dict[str, str]) -> list[Step]:
    """Where in the checks an exception passed, the innermost last: its frame, line and text."""
    found: list[Step] = []
    step = error.__traceback__ if error is not None else None
    while step is not None:
        name = step.tb_frame.f_code.co_filename
        if name in sources:
            lines = sources[name].splitlines()
            number = step.tb_lineno or 0
            text = lines[number - 1].strip() if 0 < number <= len(lines) else ""
            found.append((step.tb_frame, number, text[:MAX_CHARS]))
        step = step.tb_next
    return found


def _names(frame: FrameType, _: int, text: str) -> list[str]:
    """The plain values of the names in a statement: what was expected may stand in one."""
    words = "".join(letter if letter.isalnum() or letter == "_" else " " for letter in text).split()
    values = {**frame.f_globals, **frame.f_locals}
    plain = [word for word in dict.fromkeys(words) if word in values and _is_plain(values[word])]
    return [f"{word} = {shown(values[word])}" for word in plain[:MAX_NAMES]]


def _is_plain(value: Any) -> bool:
    name = plain_data.type_name(type(value))
    return (
        type(value) in (type(None), bool, int, float, str) or name in plain_data.MUTABLE or name in plain_data.IMMUTABLE
    )


# --- values as text ---------------------------------------------------------------------------------------------------


def shown(value: Any, depth: int = 0) -> str:
    """A value as Python writes it, shortened where it is long."""
    kind = type(value)
    if kind is int:
        return repr(value) if value.bit_length() < LONGEST_INT_BITS else f"<an int of {value.bit_length()} bits>"
    if kind in (str, bytes, bytearray):
        return repr(value) if len(value) <= MAX_CHARS else f"{value[:MAX_CHARS]!r}... ({len(value)} long)"
    if kind in (list, tuple, set, frozenset, dict):
        return _shown_parts(value, kind, depth + 1) if depth < MAX_DEPTH else f"<{kind.__name__} of {len(value)}>"
    if hasattr(kind, "__len__") and len(value) > MAX_CHARS:
        return f"<{kind.__name__} of {len(value)}>"
    try:
        return repr(value)[:MAX_CHARS]
    except BaseException:  # noqa: BLE001 - an object of the solution's, in a value that is otherwise plain
        return f"<{kind.__name__}>"


def _shown_parts(value: Any, kind: type, depth: int) -> str:
    most = MAX_ITEMS >> 2 * (depth - 1)
    parts = [shown(part, depth) for part in islice(value, most)]
    if kind is dict:
        parts = [f"{key}: {shown(item, depth)}" for key, item in zip(parts, value.values(), strict=False)]
    text = ", ".join(parts) + (f", ... ({len(value)} in all)" if len(value) > most else "")
    if kind is tuple:
        return f"({text},)" if len(value) == 1 else f"({text})"
    if kind is list:
        return f"[{text}]"
    if kind is frozenset:
        return f"frozenset({{{text}}})" if value else "frozenset()"
    return f"{{{text}}}" if value or kind is dict else "set()"

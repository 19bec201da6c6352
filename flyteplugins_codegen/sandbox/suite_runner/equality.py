"""Comparisons of the tests that an object cannot answer by being equal to whatever it is compared with.

Only a comparison in which a class has its own `==`, written in Python and not by a library, is looked at more closely.
Such an object is compared, in random order, with what the test compares it with and with *decoys*, other values of the
same type, surely different, that it cannot tell from the first. What is equal to a decoy is equal to anything. Honest
classes answer no (or raise, which is taken for no).
"""

from __future__ import annotations

from copy import copy
from itertools import islice
from os import urandom
from types import FunctionType, WrapperDescriptorType

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Iterator
    from typing import Any, Final, TypeAlias

    IsTrusted: TypeAlias = Callable[[FunctionType], bool]
    Pair: TypeAlias = tuple[Any, Any]

HEAP_TYPE: Final = 1 << 9  # Py_TPFLAGS_HEAPTYPE
MAX_VISITED, MAX_PAIRS, DECOYS = 2_000, 20, 3
SCALARS: Final = frozenset((int, str, float, bool, bytes, complex, type(None)))
EQUALITIES: Final = ("__eq__", "__ne__")
SEQUENCES: Final = (list, tuple)
COLLECTIONS: Final = (list, tuple, set, frozenset, dict)
_mro_of: Final = vars(type)["__mro__"].__get__
_names_of: Final = vars(type)["__dict__"].__get__
_qualname_of: Final = vars(type)["__qualname__"].__get__
_flags_of: Final = vars(type)["__flags__"].__get__
LETTERS: Final = "abcdefghijklmnopqrstuvwxyz"
TYPES: Final = (complex, bytearray, frozenset, memoryview)


def wrong_with_comparison(left: Any, right: Any, is_trusted: IsTrusted) -> str:
    """What is wrong with comparing the two: an object, or a part of one, that is equal to anything."""
    for suspect, other in _pairs_in(left, right, is_trusted):
        if _answers_anything(suspect, other):
            return f"an object of the class {_name_of(suspect)} is equal to whatever it is compared with"
    return ""


def wrong_with_membership(member: Any, container: Any, is_trusted: IsTrusted) -> str:
    """What is wrong with asking whether the one is in the other."""
    kind = type(container)
    if _has_own(kind, ("__contains__", "__iter__", "__getitem__"), is_trusted) and _holds_anything(container):
        return f"an object of the class {_name_of(container)} contains whatever it is asked for"
    members = list(container) if issubclass(kind, COLLECTIONS) and len(container) < MAX_VISITED else ()
    return next((wrong for each in members if (wrong := wrong_with_comparison(member, each, is_trusted))), "")


def wrong_with_class(value: Any, is_trusted: IsTrusted) -> str:
    """What is wrong with asking of which class a value is."""
    if _has_own(type(value), ("__class__",), is_trusted):
        return f"an object of the class {_name_of(value)} says that it is of another class"
    return ""


def _has_own(kind: type, names: tuple[str, ...], is_trusted: IsTrusted) -> bool:
    """Whether the class has a method of one of these names that neither C code nor trusted code has given it."""
    if not _flags_of(kind) & HEAP_TYPE:
        return False
    for name in names:
        base = next((each for each in _mro_of(kind) if name in _names_of(each)), None)
        if base is not None and _is_own(base, _names_of(base)[name], is_trusted):
            return True
    return False


def _is_own(base: type, method: Any, is_trusted: IsTrusted) -> bool:
    if type(method) is FunctionType:
        return not is_trusted(method)
    if type(method) is WrapperDescriptorType:
        return method.__objclass__ is not base
    return method is not None and _flags_of(base) & HEAP_TYPE != 0


def _name_of(value: Any) -> str:
    name: str = _qualname_of(type(value))
    return name


def _pairs_in(left: Any, right: Any, is_trusted: IsTrusted) -> list[Pair]:
    """Objects to be looked at, each with what it is compared with: the two, or parts of them at the same place."""
    found: list[Pair] = []
    waiting: list[Pair] = [(left, right)]
    visited = 0
    while waiting and visited < MAX_VISITED and len(found) < MAX_PAIRS:
        a, b = waiting.pop()
        visited += 1
        if type(a) in SCALARS and type(b) in SCALARS:
            continue
        if _has_own(type(a), EQUALITIES, is_trusted):
            found.append((a, b))
        elif _has_own(type(b), EQUALITIES, is_trusted):
            found.append((b, a))
        waiting += _parts(a, b)
    return found


def _parts(a: Any, b: Any) -> list[Pair]:
    """The items of two lists or tuples, the values of two dicts, the attributes of two objects of one class."""
    kinds = type(a), type(b)
    if all(issubclass(kind, SEQUENCES) for kind in kinds):
        return list(islice(zip(_items(a), _items(b), strict=False), MAX_VISITED))
    if all(issubclass(kind, dict) for kind in kinds):
        shared = [key for key in dict.keys(a) if type(key) in SCALARS and dict.__contains__(b, key)]
        return [(dict.__getitem__(a, key), dict.__getitem__(b, key)) for key in shared[:MAX_VISITED]]
    if kinds[0] is kinds[1] and _flags_of(kinds[0]) & HEAP_TYPE and kinds[0] is not type:
        return _parts(_attributes(a), _attributes(b))
    return []


def _items(sequence: Any) -> Iterator[Any]:
    return list.__iter__(sequence) if isinstance(sequence, list) else tuple.__iter__(sequence)


def _attributes(value: Any) -> dict[str, Any]:
    """What an object keeps under its own names; nothing where it keeps that elsewhere."""
    try:
        names = object.__getattribute__(value, "__dict__")
    except Exception:  # noqa: BLE001  -- slots, or a property of that name
        return {}
    return names if type(names) is dict else {}


def _answers_anything(suspect: Any, other: Any) -> bool:
    """Whether the object says that it is equal to a decoy, when it is asked about those and the other in any order."""
    asked = [(decoy, True) for decoy in _decoys_of(other)] + [(other, False)]
    asked.sort(key=lambda _: urandom(8))
    return any([_is_equal(suspect, each) and is_decoy for each, is_decoy in asked])  # noqa: C419  -- all are asked


def _holds_anything(container: Any) -> bool:
    """Whether a container says that it holds an object that was made just now, and a word that nobody knows."""
    return _holds(container, object()) and _holds(container, _like("a word of nobody"))


def _decoys_of(value: Any) -> list[Any]:
    """Values like the given one, and surely not equal to it however generous an equality is."""
    return [*(_decoy(value) for _ in range(DECOYS)), object()]


def _decoy(value: Any) -> Any:
    kind = type(value)
    if kind in _MAKERS:
        return _MAKERS[kind](value)
    if isinstance(value, type):
        return TYPES[urandom(1)[0] % len(TYPES)]
    try:
        return _approximate(value) if kind.__module__ == "_pytest.python_api" else _shifted(value)
    except Exception:  # noqa: BLE001  -- an object that no other can be made of
        return _like("something")


def _flat_decoy(value: Any) -> Any:
    return _decoy(value) if type(value) in SCALARS else _like("inner part")


def _approximate(value: Any) -> Any:
    """`pytest.approx` of something else."""
    other = copy(value)
    other.expected = _decoy(value.expected)
    return other


def _shifted(value: Any) -> Any:
    """A number, date or time some way from the given one. Raises where it is none."""
    if type(value).__module__ == "solution":
        raise TypeError
    return value + type(value - value)(_step(10))


def _step(size: int) -> int:
    """A whole number between 2 and about twice the size, of either sign."""
    step = 2 + int.from_bytes(urandom(8), "big") % (2 * abs(size) + 12)
    return step if urandom(1)[0] % 2 else -step


def _near(value: float) -> float:
    """A float that is off by a quarter to five quarters."""
    value = value if abs(value) < _HUGE else 1.0
    return value + (0.25 + urandom(1)[0] / 255) * (value or 1.0)


def _like(value: str) -> str:
    """A text with other letters and digits in the same places; a word more where it has none."""
    made = "".join(_other(each) for each in value)
    return made if made != value else value + _other("a") * 5


def _other(character: str) -> str:
    byte = urandom(1)[0]
    if character.isdigit():
        return str(byte % 10)
    if not character.isalpha():
        return character
    return LETTERS[byte % 26].upper() if character.isupper() else LETTERS[byte % 26]


_HUGE: Final = 1e300  # and so neither infinity nor what is no number
_MAKERS: Final[dict[type, Callable[[Any], Any]]] = {
    bool: lambda value: not value,
    int: lambda value: value + _step(value),
    float: _near,
    complex: lambda value: value + _step(10),
    str: _like,
    bytes: lambda value: _like(value.decode("latin-1")).encode("latin-1", "replace"),
    type(None): lambda _: _step(10),
    list: lambda value: [_flat_decoy(each) for each in value[:MAX_PAIRS]] or [_step(10)],
    tuple: lambda value: tuple(_flat_decoy(each) for each in value[:MAX_PAIRS]) or (_step(10),),
    dict: lambda value: {key: _flat_decoy(value[key]) for key in list(value)[:MAX_PAIRS]} or {_like("name"): 1},
    set: lambda _: {_like("member"), _step(10)},
    frozenset: lambda _: frozenset((_like("member"), _step(10))),
}


def _is_equal(left: Any, right: Any) -> bool:
    try:
        return bool(left == right)
    except Exception:  # noqa: BLE001  -- an equality that knows only its own kind
        return False


def _holds(container: Any, member: Any) -> bool:
    try:
        return bool(member in container)
    except Exception:  # noqa: BLE001  -- a container of one kind of thing
        return False

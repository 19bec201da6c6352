"""Comparisons of the tests that an object cannot pass by being equal to whatever it is compared with.

Only a comparison in which a class has an `==` of its own, written in Python and not by the tests, is examined; that of
a library too, since a solution could return `unittest.mock.ANY`. Such an object is compared, in random order, with the
test's value and with *decoys*: other values of the same type, certainly different, that it cannot tell from the first.
An object that is equal to two of them is equal to anything; raising counts as unequal.
"""

from __future__ import annotations

from copy import copy
from itertools import islice
from operator import contains, eq, gt, lt
from os import urandom
from types import FunctionType, WrapperDescriptorType

from flyteplugins_codegen.judging.suites.inside.audit import LIBRARY, UNTRUSTED, top_of

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Iterator
    from typing import Any, Final, TypeAlias

    from flyteplugins_codegen.judging.suites.inside.audit import CodeOrigin

    OwnerOf: TypeAlias = Callable[[FunctionType], CodeOrigin]
    Test: TypeAlias = Callable[[Any], bool]
    Pair: TypeAlias = tuple[Any, Any]

DECOYS, MAX_PARTS = 7, 20
SCALARS: Final = frozenset((int, str, float, bool, bytes, complex, type(None)))
LETTERS: Final = "abcdefghijklmnopqrstuvwxyz"
TYPES: Final = (complex, bytearray, frozenset, memoryview)


def decoys_of(value: Any) -> list[Any]:
    """Values of the same kind as the given one, and not equal to it even under a tolerant equality."""
    return [*(_decoy(value) for _ in range(DECOYS)), object()]


def _decoy(value: Any) -> Any:
    kind = type(value)
    if kind in _MAKERS:
        return _MAKERS[kind](value)
    if isinstance(value, type):
        return TYPES[urandom(1)[0] % len(TYPES)]
    try:
        is_approximate = kind.__module__.startswith("_pytest") and hasattr(value, "expected")
        return _approximate(value) if is_approximate else _shifted(value)
    except Exception:  # noqa: BLE001  -- no other object can be made from this one
        return like("something")


def _flat_decoy(value: Any) -> Any:
    return _decoy(value) if type(value) in SCALARS else like("inner part")


def _approximate(value: Any) -> Any:
    """A `pytest.approx` of another value."""
    other = copy(value)
    other.expected = _decoy(value.expected)
    return other


def _shifted(value: Any) -> Any:
    """A number, date or time at some distance from the given one. Raises for other values."""
    if type(value).__module__ == "solution":
        raise TypeError
    return value + type(value - value)(_step(10))


def _step(size: int) -> int:
    """A whole number between 2 and about twice the size, of either sign."""
    step = 2 + int.from_bytes(urandom(8), "big") % (2 * abs(size) + 12)
    return step if urandom(1)[0] % 2 else -step


def _near(value: float) -> float:
    """A float that differs by a quarter to five quarters of the value."""
    value = value if abs(value) < _HUGE else 1.0
    return value + (0.25 + urandom(1)[0] / 255) * max(abs(value), 0.2)


def like(value: str) -> str:
    """A text with other letters and digits in the same places; with one more word if it has none."""
    made = "".join(_other(each) for each in value)
    return made if made != value else value + _other("a") * 5


def _other(character: str) -> str:
    byte = urandom(1)[0]
    if character.isdigit():
        return str(byte % 10)
    if not character.isalpha():
        return character
    return LETTERS[byte % 26].upper() if character.isupper() else LETTERS[byte % 26]


_HUGE: Final = 1e300  # excludes infinities and NaN
_MAKERS: Final[dict[type, Callable[[Any], Any]]] = {
    bool: lambda value: not value,
    int: lambda value: value + _step(value),
    float: _near,
    complex: lambda value: value + _step(10),
    str: like,
    bytes: lambda value: like(value.decode("latin-1")).encode("latin-1", "replace"),
    type(None): lambda _: _step(10),
    list: lambda value: [_flat_decoy(each) for each in value[:MAX_PARTS]] or [_step(10)],
    tuple: lambda value: tuple(_flat_decoy(each) for each in value[:MAX_PARTS]) or (_step(10),),
    dict: lambda value: {key: _flat_decoy(value[key]) for key in list(value)[:MAX_PARTS]} or {like("name"): 1},
    set: lambda _: {like("member"), _step(10)},
    frozenset: lambda _: frozenset((like("member"), _step(10))),
}


HEAP_TYPE: Final = 1 << 9  # Py_TPFLAGS_HEAPTYPE
MAX_VISITED, MAX_PAIRS = 2_000, 20
SUSPICIOUS: Final = (UNTRUSTED, LIBRARY)
ELEMENTWISE: Final = frozenset(("numpy", "pandas", "polars", "pyarrow", "scipy", "torch", "xarray"))
ORDERS: Final = ("__lt__", "__gt__", "__le__", "__ge__")
EQUALITIES: Final = ("__eq__", "__ne__")
SEQUENCES: Final = (list, tuple)
COLLECTIONS: Final = (list, tuple, set, frozenset, dict)
_mro_of: Final = vars(type)["__mro__"].__get__
_names_of: Final = vars(type)["__dict__"].__get__
_qualname_of: Final = vars(type)["__qualname__"].__get__
_flags_of: Final = vars(type)["__flags__"].__get__


def wrong_with_comparison(left: Any, right: Any, owner_of: OwnerOf, is_of_tests: Test) -> str:
    """What is wrong with a comparison: an object, or a part of one, is equal to anything.

    `is_of_tests` says of an object whether the tests themselves made it so.
    """

    def is_suspect(value: Any) -> bool:
        return _has_own(type(value), EQUALITIES, owner_of, SUSPICIOUS) and not is_of_tests(value)

    for suspect, other in _pairs_in(left, right, is_suspect):
        if _answers_anything(suspect, other):
            return f"an object of the class {_name_of(suspect)} is equal to whatever it is compared with"
    return ""


def wrong_with_membership(member: Any, container: Any, owner_of: OwnerOf, is_of_tests: Test) -> str:
    """What is wrong with a test of membership."""
    kind = type(container)
    if _has_own(kind, ("__contains__", "__iter__", "__getitem__"), owner_of) and _holds_anything(container):
        return f"an object of the class {_name_of(container)} contains whatever it is asked for"
    members = list(container) if issubclass(kind, COLLECTIONS) and len(container) < MAX_VISITED else ()
    wrongs = (wrong_with_comparison(member, each, owner_of, is_of_tests) for each in members)
    return next(filter(None, wrongs), "")


def wrong_with_order(left: Any, right: Any, owner_of: OwnerOf) -> str:
    """What is wrong with a comparison of order: an object is both less and greater than the same value."""
    for suspect, other in ((left, right), (right, left)):
        if _has_own(type(suspect), ORDERS, owner_of) and _is_true(lt, suspect, other) and _is_true(gt, suspect, other):
            return f"an object of the class {_name_of(suspect)} is both less and more than the same"
    return ""


def wrong_with_class(value: Any, owner_of: OwnerOf) -> str:
    """What is wrong with a test of a value's class."""
    if _has_own(type(value), ("__class__",), owner_of):
        return f"an object of the class {_name_of(value)} says that it is of another class"
    return ""


def _has_own(kind: type, names: tuple[str, ...], owner_of: OwnerOf, owners: tuple[str, ...] = (UNTRUSTED,)) -> bool:
    """Whether the class has a method of one of these names, written in Python by one of these owners."""
    if not _flags_of(kind) & HEAP_TYPE:
        return False
    for name in names:
        base = next((each for each in _mro_of(kind) if name in _names_of(each)), None)
        if base is not None and _is_of(base, _names_of(base)[name], owner_of, owners):
            return True
    return False


def _is_of(base: type, method: Any, owner_of: OwnerOf, owners: tuple[str, ...]) -> bool:
    if type(method) is FunctionType:
        owner, inside = owner_of(method)
        return owner in owners and top_of(inside) not in ELEMENTWISE
    if type(method) is WrapperDescriptorType:
        return method.__objclass__ is not base
    return method is not None and _flags_of(base) & HEAP_TYPE != 0


def _name_of(value: Any) -> str:
    name: str = _qualname_of(type(value))
    return name


def _pairs_in(left: Any, right: Any, is_suspect: Test) -> list[Pair]:
    """Suspicious objects, each with the value that it is compared with: the two, or parts of both in the same place."""
    found: list[Pair] = []
    waiting: list[Pair] = [(left, right)]
    visited = 0
    while waiting and visited < MAX_VISITED and len(found) < MAX_PAIRS:
        a, b = waiting.pop()
        visited += 1
        if type(a) in SCALARS and type(b) in SCALARS:
            continue
        if is_suspect(a):
            found.append((a, b))
        elif is_suspect(b):
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
    """The `__dict__` of an object; empty if it has none."""
    try:
        names = object.__getattribute__(value, "__dict__")
    except Exception:  # noqa: BLE001  -- the class has slots, or a property of that name
        return {}
    return names if type(names) is dict else {}


def _answers_anything(suspect: Any, other: Any) -> bool:
    """Whether the object is equal to two different values, compared in random order with the other and with decoys.

    An honest object may be equal to one of them. One that adopts the first value that it meets has met a decoy, and is
    not equal to the other when the test itself compares them.
    """
    asked = {(type(each), repr(each)): each for each in decoys_of(other)}
    ordered = sorted([*asked.values(), other], key=lambda _: urandom(8))
    return sum([_is_true(eq, suspect, each) for each in ordered]) > 1


def _holds_anything(container: Any) -> bool:
    """Whether a container claims to contain an object that was just made, and a random word."""
    return _is_true(contains, container, object()) and _is_true(contains, container, like("a word of nobody"))


def _is_true(question: Callable[[Any, Any], Any], left: Any, right: Any) -> bool:
    try:
        return bool(question(left, right))
    except Exception:  # noqa: BLE001  -- the class compares only with its own kind
        return False

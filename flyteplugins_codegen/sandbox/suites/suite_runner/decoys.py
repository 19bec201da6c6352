"""Values that an object which is equal to anything cannot tell from the one that a test compares it with."""

from __future__ import annotations

from copy import copy
from os import urandom

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable
    from typing import Any, Final

DECOYS, MAX_PARTS = 7, 20
SCALARS: Final = frozenset((int, str, float, bool, bytes, complex, type(None)))
LETTERS: Final = "abcdefghijklmnopqrstuvwxyz"
TYPES: Final = (complex, bytearray, frozenset, memoryview)


def decoys_of(value: Any) -> list[Any]:
    """Values like the given one, and surely not equal to it however generous an equality is."""
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
    except Exception:  # noqa: BLE001  -- an object that no other can be made of
        return like("something")


def _flat_decoy(value: Any) -> Any:
    return _decoy(value) if type(value) in SCALARS else like("inner part")


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
    return value + (0.25 + urandom(1)[0] / 255) * max(abs(value), 0.2)


def like(value: str) -> str:
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
    str: like,
    bytes: lambda value: like(value.decode("latin-1")).encode("latin-1", "replace"),
    type(None): lambda _: _step(10),
    list: lambda value: [_flat_decoy(each) for each in value[:MAX_PARTS]] or [_step(10)],
    tuple: lambda value: tuple(_flat_decoy(each) for each in value[:MAX_PARTS]) or (_step(10),),
    dict: lambda value: {key: _flat_decoy(value[key]) for key in list(value)[:MAX_PARTS]} or {like("name"): 1},
    set: lambda _: {like("member"), _step(10)},
    frozenset: lambda _: frozenset((like("member"), _step(10))),
}

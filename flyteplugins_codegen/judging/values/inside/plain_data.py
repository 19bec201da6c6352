"""Plain data as JSON text and back: all that the judge and the candidate's process ever send each other.

One file, standard library only. It runs inside the sandbox, in both processes, and outside, where jobs are made. The
text comes from a process that may send anything, so the reader builds only these values, each by its own exact type:

    None bool int float complex str bytes bytearray list tuple dict set frozenset range slice, views of dicts, Ellipsis,
    NotImplemented, built-in classes, Decimal, Fraction, date, time, datetime, timedelta, fixed time zones, deque,
    OrderedDict, defaultdict, Counter, named tuples, numpy's arrays and scalars of numbers, texts and times

Floats are exact (NaN, infinities, -0.0), ints of any size, texts may hold lone surrogates; the order of a dict and a
list that occurs in several places are kept. If the writer allows it, an instance of a subclass is written as the value
of its built-in base: a `StrEnum` member as its text, a list with methods of its own as a list. What the subclass added
is lost, its equality above all, and that is the purpose. A default factory that is not a built-in class is lost as
well. Every NaN that is read is `math.nan`, so that `[math.nan] == [math.nan]` holds as it does within one process.

A scalar is written as in JSON, anything else as `[name, ...]`. Mutable values are numbered in the order in which they
begin, and `["=", number]` refers to an earlier one. So cycles and shared parts are kept, and the changes that a call
makes to its arguments are sent by number.
"""

from __future__ import annotations

import builtins
import math
import sys
from _operator import is_  # `operator` would cost each start 1 ms

TYPE_CHECKING = False  # as typing has it; importing typing would cost each start 5 ms
if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Sequence
    from typing import Any, TypeAlias

    Tree: TypeAlias = Any  # what JSON text holds: None, a bool, an int, a float, a text or a list of such
    Values: TypeAlias = Sequence[Any]

MAX_DEPTH = 100
MAX_BYTES = 16 << 20
MANY = 8
LARGEST_INT = 1 << 63  # larger ones are written in hexadecimal: linear in time, and never too long to be read
CONSTANTS = {"NaN": math.nan, "Infinity": math.inf, "-Infinity": -math.inf}
SCALARS = frozenset((type(None), bool, float))
BARE, BARE_KINDS = "bare", SCALARS | {int, str, list}
BASES = (int, float, complex, str, bytes, bytearray, list, tuple, dict, set, frozenset)
BUILTIN_CLASSES = {name: kind for name, kind in vars(builtins).items() if isinstance(kind, type)}
NUMPY_KINDS = "biufcSUMm"


class NotPlainError(Exception):
    """A value cannot be written as plain data; the message says why."""


class TooMuchError(NotPlainError):
    """A value is plain data, but too large or too deeply nested."""


class MalformedError(Exception):
    """A text or a tree is not of this form."""


# --- text -------------------------------------------------------------------------------------------------------------


def write_text(tree: Tree) -> bytes:
    """A tree as a line of ASCII. Raises TooMuchError."""
    text = "".join(_encode(tree, 0)).encode("ascii")
    if len(text) > MAX_BYTES:
        raise TooMuchError(f"it takes more than {MAX_BYTES >> 20} MiB as text")
    return text


def read_text(data: bytes) -> Tree:
    """The tree of a text. Raises MalformedError for any other text, however deeply nested."""
    try:
        text = data.decode("ascii")
        tree, end = _scan(text, 0)
    except (ValueError, TypeError, KeyError, StopIteration, RecursionError) as error:
        raise MalformedError(f"it is no text of this form: {type(error).__name__}") from None
    if end != len(text):
        raise MalformedError("something follows the text")
    return tree


def _refuse_object(_: object) -> Tree:
    raise ValueError("an object")


class _Reading:
    """The settings of json's scanner: no objects, and the three constants."""

    strict = True
    object_hook = None
    object_pairs_hook = staticmethod(_refuse_object)
    parse_float = float
    parse_int = int
    parse_constant = CONSTANTS.__getitem__
    memo: dict[str, str] = {}  # noqa: RUF012  -- the scanner needs it for names in objects, which are refused


def _open_json() -> tuple[Callable[[str, int], tuple[Tree, int]], Callable[[Tree, int], Iterable[str]]]:
    """The scanner and encoder of json, straight from their C module: `import json` would cost each start 5 ms."""
    try:
        import _json

        parts: Any = (None, None, _json.encode_basestring_ascii, None, ":", ",", False, False, True)
        reading: Any = _Reading
        return _json.make_scanner(reading), _json.make_encoder(*parts)
    except (ImportError, AttributeError, TypeError):  # an interpreter without that module, or with another one
        import json

        decoder: Any = json.JSONDecoder(object_pairs_hook=_refuse_object, parse_constant=CONSTANTS.__getitem__)
        encoder = json.JSONEncoder(separators=(",", ":"))
        return decoder.scan_once, lambda tree, _: encoder.iterencode(tree)


_scan, _encode = _open_json()


# --- the forms of values ----------------------------------------------------------------------------------------------


class Form:
    """How values of one type are taken apart and built again.

    `parts` gives the values that a value consists of, or None if it is not plain after all. `make` builds a value from
    the parts that were read. A mutable value has a `fill` too: it is made first, from the parts as trees, and filled
    once they are read.
    """

    __slots__ = ("fill", "make", "parts")

    def __init__(
        self,
        parts: Callable[[Any], Values | None],
        make: Callable[[Values], Any],
        fill: Callable[[Any, Values], None] | None = None,
    ) -> None:
        self.parts, self.make, self.fill = parts, make, fill


def _replace_all(value: Any, parts: Values) -> None:
    value[:] = parts


def _set_items(value: dict[Any, Any], parts: Values) -> None:
    value.clear()
    for key, item in zip(parts[::2], parts[1::2], strict=True):
        value[key] = item  # noqa: PERF403  -- `update` of a Counter adds


def _set_elements(value: set[Any], parts: Values) -> None:
    value.clear()
    value.update(parts)


def _items(value: dict[Any, Any]) -> list[Any]:
    return [part for item in value.items() for part in item]


def _of_module(module: str, name: str) -> Callable[[Values], Any]:
    """A function that calls a class of a module, which is imported when it is needed."""

    def make(parts: Values) -> Any:
        return getattr(__import__(module), name)(*parts)

    return make


def _zone_parts(value: Any) -> Values | None:
    """The parts of a time or datetime; None with a time zone that is not fixed."""
    zone = value.tzinfo
    if zone is not None and type_name(type(zone)) != "datetime.timezone":
        return None
    time = (value.hour, value.minute, value.second, value.microsecond, zone, value.fold)
    return (value.year, value.month, value.day, *time) if hasattr(value, "year") else time


def _moment(name: str) -> Callable[[Values], Any]:
    def make(parts: Values) -> Any:
        *positional, fold = parts
        return getattr(__import__("datetime"), name)(*positional, fold=fold)

    return make


def _default_dict(parts: Values) -> Any:
    name = parts[0]
    return __import__("collections").defaultdict(BUILTIN_CLASSES[name] if name else None)


def _default_dict_parts(value: Any) -> Values:
    factory = value.default_factory
    name = factory.__name__ if isinstance(factory, type) and BUILTIN_CLASSES.get(factory.__name__) is factory else None
    return [name, *_items(value)]


def _fill_deque(value: Any, parts: Values) -> None:
    value.clear()
    value.extend(parts[1:])


def _array_parts(value: Any) -> Values | None:
    """The dtype, bytes and shape of an array or a scalar of numpy; None for other types than plain ones."""
    if value.dtype.kind not in NUMPY_KINDS:
        return None
    return (value.dtype.str, value.tobytes().hex(), *value.shape)


def _array(parts: Values) -> Any:
    numpy = __import__("numpy")
    kind, data, *shape = parts
    dtype = numpy.dtype(str(kind))
    if dtype.kind not in NUMPY_KINDS:
        raise MalformedError("an array of anything but numbers, texts or times")
    return numpy.frombuffer(bytes.fromhex(data), dtype=dtype).reshape(shape).copy()


def _fill_array(value: Any, parts: Values) -> None:
    value[...] = _array(parts)


IMMUTABLE = {
    "complex": Form(lambda value: (value.real, value.imag), lambda parts: complex(*parts)),
    "bytes": Form(lambda value: (value.hex(),), lambda parts: bytes.fromhex(parts[0])),
    "tuple": Form(lambda value: value, tuple),
    "frozenset": Form(tuple, frozenset),
    "range": Form(lambda value: (value.start, value.stop, value.step), lambda parts: range(*parts)),
    "slice": Form(lambda value: (value.start, value.stop, value.step), lambda parts: slice(*parts)),
    "ellipsis": Form(lambda _: (), lambda _: ...),
    "NotImplementedType": Form(lambda _: (), lambda _: NotImplemented),
    "dict_keys": Form(tuple, lambda parts: dict.fromkeys(parts).keys()),
    "dict_values": Form(tuple, lambda parts: dict(enumerate(parts)).values()),
    "dict_items": Form(tuple, lambda parts: dict(parts).items()),
    "decimal.Decimal": Form(lambda value: (str(value),), _of_module("decimal", "Decimal")),
    "fractions.Fraction": Form(lambda value: (value.numerator, value.denominator), _of_module("fractions", "Fraction")),
    "datetime.date": Form(lambda value: (value.year, value.month, value.day), _of_module("datetime", "date")),
    "datetime.time": Form(_zone_parts, _moment("time")),
    "datetime.datetime": Form(_zone_parts, _moment("datetime")),
    "datetime.timedelta": Form(
        lambda value: (value.days, value.seconds, value.microseconds), _of_module("datetime", "timedelta")
    ),
    "datetime.timezone": Form(lambda value: (value.utcoffset(None),), _of_module("datetime", "timezone")),
    "numpy.generic": Form(_array_parts, lambda parts: _array(parts)[()]),
}
MUTABLE = {
    "list": Form(lambda value: value, lambda _: [], _replace_all),
    "dict": Form(_items, lambda _: {}, _set_items),
    "set": Form(tuple, lambda _: set(), _set_elements),
    "bytearray": Form(
        lambda value: (value.hex(),),
        lambda _: bytearray(),
        lambda value, parts: _replace_all(value, bytes.fromhex(parts[0])),
    ),
    "collections.OrderedDict": Form(_items, lambda _: _of_module("collections", "OrderedDict")(()), _set_items),
    "collections.Counter": Form(_items, lambda _: _of_module("collections", "Counter")(()), _set_items),
    "collections.defaultdict": Form(
        _default_dict_parts, _default_dict, lambda value, parts: _set_items(value, parts[1:])
    ),
    "collections.deque": Form(
        lambda value: (value.maxlen, *value),
        lambda parts: _of_module("collections", "deque")(((), parts[0])),
        _fill_deque,
    ),
    "numpy.ndarray": Form(_array_parts, _array, _fill_array),
}
TEXT_FORMS = ("bytearray", "numpy.ndarray")  # their parts are new texts each time, never identical


def snapshot(value: Any) -> Values:
    """The parts of a shared value now, to compare with its parts later."""
    return tuple(MUTABLE[type_name(type(value))].parts(value) or ())


def has_changed(value: Any, before: Values) -> bool:
    """Whether a value's parts have changed, by identity: an equal part can be of another type."""
    now = snapshot(value)
    if len(now) == len(before) and all(map(is_, now, before)):
        return False
    return now != before or type_name(type(value)) not in TEXT_FORMS


def type_name(kind: type) -> str:
    """`list` of a built-in, `collections.deque` of any other."""
    return kind.__qualname__ if kind.__module__ == "builtins" else f"{kind.__module__}.{kind.__qualname__}"


def _is_named_tuple(kind: type) -> bool:
    fields = getattr(kind, "_fields", None)
    return kind.__bases__ == (tuple,) and type(fields) is tuple and all(type(field) is str for field in fields)


def _named_tuple(parts: Values) -> Any:
    name, fields, *values = parts
    return __import__("collections").namedtuple(name, fields)(*values)


def _is_numpy_scalar(kind: type) -> bool:
    numpy = sys.modules.get("numpy")
    return kind.__module__ == "numpy" and numpy is not None and issubclass(kind, numpy.generic)


# --- writing ----------------------------------------------------------------------------------------------------------


class Writer:
    """Turns values into trees.

    `refer` is called for a value that is not plain: it returns a tree, or raises NotPlainError. `shared` are the
    mutable values that both sides know by their index in it; those that are written are appended. `exactly`: an
    instance of a subclass is not plain either.
    """

    def __init__(self, refer: Callable[[Any], Tree], shared: list[Any], *, exactly: bool) -> None:
        self._refer = refer
        self._shared = shared
        self._numbers = {id(value): number for number, value in enumerate(shared)}
        self._exactly = exactly

    def tree(self, value: Any, depth: int = 0) -> Tree:
        """The tree of a value. Raises NotPlainError."""
        kind = type(value)
        if kind in SCALARS:
            return value
        if kind is int:
            return value if -LARGEST_INT < value < LARGEST_INT else ["int", hex(value)]
        if kind is str:
            return value if value.isascii() else _text_tree(value)
        number = self._numbers.get(id(value))
        if number is not None:
            return ["=", number]
        if depth > MAX_DEPTH:
            raise TooMuchError(f"it is nested more than {MAX_DEPTH} levels deep")
        return self._compound(value, kind, depth + 1)

    def contents(self, value: Any) -> Values:
        """The trees of a shared value's parts now, as `Reader.refill` reads them."""
        return self._trees(MUTABLE[type_name(type(value))].parts(value) or (), 1)

    def _trees(self, parts: Values, depth: int) -> Values:
        """The trees of many values; scalars are their own trees."""
        kinds = set(map(type, parts))
        if kinds <= SCALARS or (len(parts) > MANY and _are_bare(parts, kinds)):
            return parts
        tree = self.tree
        return [tree(part, depth) for part in parts]

    def _compound(self, value: Any, kind: type, depth: int) -> Tree:
        name = type_name(kind)
        form = MUTABLE.get(name)
        if form is not None:
            self._numbers[id(value)] = len(self._shared)
            self._shared.append(value)
        else:
            name = "numpy.generic" if _is_numpy_scalar(kind) else name
            form = IMMUTABLE.get(name)
        parts = form.parts(value) if form is not None else None
        return self._special(value, kind, depth) if parts is None else [name, *self._trees(parts, depth)]

    def _special(self, value: Any, kind: type, depth: int) -> Tree:
        if isinstance(value, type) and BUILTIN_CLASSES.get(value.__name__) is value:
            return ["class", value.__name__]
        if _is_named_tuple(kind):
            return ["named", kind.__name__, [*kind._fields], *self._trees(tuple(tuple.__iter__(value)), depth)]  # type: ignore[attr-defined]  # just seen
        base = None if self._exactly else next((base for base in BASES if issubclass(kind, base)), None)
        return self._refer(value) if base is None else self.tree(_as_base(value, base), depth)


def _are_bare(parts: Values, kinds: set[type]) -> bool:
    """Whether these need no tag; computed at the speed of C, because tests have long lists of numbers and words."""
    if kinds == {int}:
        return bool(min(parts) > -LARGEST_INT and max(parts) < LARGEST_INT)
    return kinds == {str} and all(map(str.isascii, parts))


def _text_tree(value: str) -> Tree:
    try:
        value.encode()
    except UnicodeEncodeError:  # JSON would join two adjacent lone surrogates
        return ["str", value.encode("utf-32-le", "surrogatepass").hex()]
    return value


def write_value(value: Any, refer: Callable[[Any], Tree]) -> bytes:
    """The text of one value, an instance of a subclass as its built-in base. Raises NotPlainError.

    The same as the text of a writer's tree; a scalar or a sequence of scalars takes half the time.
    """
    kind = type(value)
    if kind in SCALARS or (kind is int and -LARGEST_INT < value < LARGEST_INT) or (kind is str and value.isascii()):
        return write_text(value)
    if kind is list or kind is tuple:
        kinds = set(map(type, value))
        if kinds <= SCALARS or _are_bare(value, kinds):
            return write_text([kind.__name__, *value])
    return write_text(Writer(refer, [], exactly=False).tree(value))


def write_call(args: Sequence[Any], kwargs: dict[str, Any], refer: Callable[[Any], Tree]) -> bytes:
    """The text of a call's arguments, for `read_call`. Raises NotPlainError.

    The arguments of most calls are what JSON has itself, and reading JSON alone is much faster than this module.
    """
    if not kwargs and _is_bare(args, set(), 0):
        return write_text([BARE, *args])
    return write_text(Writer(refer, [], exactly=True).tree((list(args), kwargs)))


def _is_bare(values: Values, lists: set[int], depth: int) -> bool:
    """Whether there are only scalars and lists, and each list occurs once."""
    if depth > MAX_DEPTH or id(values) in lists:
        return False
    lists.add(id(values))
    kinds = set(map(type, values))
    if not kinds <= BARE_KINDS:
        return False
    if int in kinds and any(type(value) is int and not -LARGEST_INT < value < LARGEST_INT for value in values):
        return False
    return list not in kinds or all(_is_bare(value, lists, depth + 1) for value in values if type(value) is list)


def _as_base(value: Any, base: type) -> Any:
    """The value as its built-in base, whatever the subclass overrides."""
    if base is complex:
        return complex(float(value.real), float(value.imag))
    if base is dict:
        return dict(dict.items(value))
    if base in (int, float, str):
        return {int: int.__int__, float: float.__float__, str: str.__str__}[base](value)
    return base(base.__iter__(value))  # type: ignore[attr-defined]  # all other bases are containers


# --- reading ----------------------------------------------------------------------------------------------------------


class Reader:
    """Turns trees into values. `resolve` is called for trees of other names, such as `["object", 3]`.

    `shared` must have the content that the writer's had when it began.
    """

    def __init__(self, resolve: Callable[[Tree], Any], shared: list[Any]) -> None:
        self._resolve = resolve
        self._shared = shared

    def value(self, tree: Tree) -> Any:
        """The value of a tree. Raises MalformedError for one that no writer makes."""
        try:
            return self._value(tree, 0)
        except MalformedError:
            raise
        except Exception as error:  # noqa: BLE001  -- each type refuses malformed parts in its own way
            raise MalformedError(f"it is no plain data: {type(error).__name__}") from None

    def refill(self, number: int, trees: Values) -> None:
        """Give a shared value its new contents. Raises MalformedError."""
        try:
            value = self._shared[number]
            fill = MUTABLE[type_name(type(value))].fill
            fill(value, self._values(trees, 1))  # type: ignore[misc]  # every mutable form has one
        except Exception as error:  # noqa: BLE001  -- as above
            raise MalformedError(f"it is no change of an argument: {type(error).__name__}") from None

    def _value(self, tree: Tree, depth: int) -> Any:
        if type(tree) is not list:
            return tree
        if depth > MAX_DEPTH:
            raise MalformedError("it is nested too deeply")
        name, *trees = tree
        form = MUTABLE.get(name)
        if form is not None:
            value = form.make(trees)
            self._shared.append(value)
            form.fill(value, self._values(trees, depth + 1))  # type: ignore[misc]  # as above
            return value
        form = IMMUTABLE.get(name)
        return self._special(name, trees, depth) if form is None else form.make(self._values(trees, depth + 1))

    def _values(self, trees: Values, depth: int) -> Values:
        if list not in set(map(type, trees)):
            return trees
        value = self._value
        return [value(tree, depth) for tree in trees]

    def _special(self, name: str, trees: Values, depth: int) -> Any:
        if name == "=":
            return self._shared[trees[0]]
        if name == "int":
            return int(trees[0], 16)
        if name == "str":
            return bytes.fromhex(trees[0]).decode("utf-32-le", "surrogatepass")
        if name == "class":
            return BUILTIN_CLASSES[trees[0]]
        if name == "named":
            return _named_tuple((trees[0], trees[1], *self._values(trees[2:], depth + 1)))
        return self._resolve([name, *trees])


def read_call(tree: Tree, resolve: Callable[[Tree], Any]) -> tuple[list[Any], dict[str, Any]]:
    """A call's arguments by position and by name, from what `write_call` wrote. Raises MalformedError."""
    if tree[0] == BARE:
        return tree[1:], {}
    args, kwargs = Reader(resolve, []).value(tree)
    return args, kwargs

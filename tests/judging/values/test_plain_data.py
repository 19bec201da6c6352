"""What is written is read as it was, by exact types; what no writer wrote is refused, whatever it is."""

from __future__ import annotations

import collections
import datetime as dt
import enum
import math
import subprocess
import sys
from decimal import Decimal
from fractions import Fraction
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from flyteplugins_codegen.judging.values.inside import plain_data
from flyteplugins_codegen.judging.values.inside.plain_data import (
    MalformedError,
    NotPlainError,
    Reader,
    TooMuchError,
    Writer,
    read_text,
    write_text,
)

Point = collections.namedtuple("Point", "x y")  # noqa: PYI024 - what solutions write


class Word(str):
    __slots__ = ()

    def __eq__(self, other: object) -> bool:
        return True

    __hash__ = str.__hash__


class Colour(enum.IntEnum):
    RED = 3


class Numbers(list):  # type: ignore[type-arg]  # of anything
    def __iter__(self) -> Any:
        raise AssertionError


def refuse(value: Any) -> Any:
    raise NotPlainError(type(value).__name__)


def refuse_tree(tree: Any) -> Any:
    raise MalformedError(str(tree))


def written(value: Any, *, exactly: bool = True) -> bytes:
    return write_text(Writer(refuse, [], exactly=exactly).tree(value))


def read(text: bytes) -> Any:
    return Reader(refuse_tree, []).value(read_text(text))


def passed_on(value: Any, *, exactly: bool = True) -> Any:
    return read(written(value, exactly=exactly))


def is_same(one: Any, other: Any) -> bool:
    return type(one) is type(other) and repr(one) == repr(other)


@pytest.mark.parametrize(
    "value",
    [
        *(None, True, False, 0, -1, 2**63 - 1, -(2**63), 2**64, 10**4000, -(7**3000)),
        *(0.0, -0.0, 0.1, 1e-320, 1.7976931348623157e308, math.inf, -math.inf, math.nan, 1j, complex(-0.0, math.inf)),
        *("", "a\nb\0", "é", "\U0001f600", "\ud83d", "\ud83d\ude00", b"", b"\0\xff", bytearray(b"ab")),
        *([], [1], [[]], (), (1,), {}, set(), frozenset(), {1, "a"}, frozenset({(1, 2)})),
        *({"b": 1, "a": 2}, {1: 2, (1, None): [3], False: 4}, range(1, 9, 2), slice(None, 3), ..., NotImplemented),
        *([1] * 20, [True] * 20, [None, 1.5] * 20, ["ab"] * 20, ["é"] * 20, [2**70] * 20, [1, True] * 20),
        *(int, list, type(None) is None, ValueError, Decimal("-0.10"), Decimal("NaN"), Fraction(-1, 3)),
        *(dt.date(2024, 2, 29), dt.time(1, 2, 3, 4), dt.timedelta(-1, 2, 3), dt.timezone.utc),
        dt.datetime(2024, 1, 1, 2, 3, fold=1),  # noqa: DTZ001 - such are plain too
        dt.datetime(2024, 1, 1, tzinfo=dt.timezone(dt.timedelta(hours=-5))),
        *(collections.deque([1, [2]], 3), collections.Counter("aab"), collections.OrderedDict(b=1, a=2)),
        *(collections.defaultdict(list, {1: [2]}), collections.defaultdict(None, {})),
        *({1: 2}.keys(), {1: [2]}.values(), {1: 2}.items()),
        *(np.array([[1, 2], [3, 4]]), np.array(["a", "bc"]), np.array([], dtype="f4"), np.array(3.5)),
        *(np.float64(0.1), np.int8(-3), np.bool_(1), np.datetime64("2024-01-01"), np.str_("a")),
        np.array([1 + 2j, 3]),
    ],
)
def test_a_value_is_read_as_it_was_written(value: Any) -> None:
    old = sys.get_int_max_str_digits()
    sys.set_int_max_str_digits(0)
    assert is_same(passed_on(value), value)
    sys.set_int_max_str_digits(old)


SCALARS = (
    st.none()
    | st.booleans()
    | st.integers()
    | st.floats()
    | st.complex_numbers(allow_nan=False)
    | st.text(st.characters(exclude_categories=()))
    | st.binary()
    | st.decimals(allow_nan=False)
    | st.fractions()
    | st.datetimes(timezones=st.just(dt.timezone.utc))
    | st.timedeltas()
)
KEYS = st.integers() | st.text() | st.booleans()
VALUES = st.recursive(
    SCALARS, lambda part: st.lists(part) | st.lists(part).map(tuple) | st.dictionaries(KEYS, part), max_leaves=20
)


@given(VALUES)
def test_any_value_is_read_as_it_was_written(value: Any) -> None:
    assert is_same(passed_on(value), value)


@given(st.sets(KEYS) | st.frozensets(st.tuples(KEYS, KEYS)))
def test_any_set_is_read_as_it_was_written(value: Any) -> None:
    found = passed_on(value)
    assert (type(found), {(type(part), part) for part in found}) == (
        type(value),
        {(type(part), part) for part in value},
    )


def test_what_is_no_number_is_one_object() -> None:
    assert passed_on(float("nan")) is passed_on([np.nan])[0]
    assert passed_on([float("nan")]) == [math.nan]


@given(st.binary() | st.text().map(str.encode))
def test_any_other_text_is_read_as_plain_data_or_refused(text: bytes) -> None:
    try:
        read(text)
    except MalformedError:
        return


def test_a_named_tuple_keeps_its_fields() -> None:
    found = passed_on(Point(1, [2]))
    assert (found, found.x, found.y, type(found).__name__) == ((1, [2]), 1, [2], "Point")


def test_cycles_and_shared_parts_are_kept() -> None:
    part = [1]
    value: list[Any] = [part, {"a": part}, (part,)]
    value.append(value)
    found = passed_on(value)
    assert found[0] is found[1]["a"]
    assert found[0] is found[2][0]
    assert found[3] is found


@pytest.mark.parametrize(
    ("value", "plain"),
    [(Word("a"), "a"), (Colour.RED, 3), (Numbers([1, 2]), [1, 2]), (type("D", (dict,), {})(a=1), {"a": 1})],
)
def test_an_instance_of_a_subclass_is_told_by_its_base_where_that_is_allowed(value: Any, plain: Any) -> None:
    assert is_same(passed_on(value, exactly=False), plain)
    with pytest.raises(NotPlainError):
        written(value)


@pytest.mark.parametrize(
    "value", [object(), len, sys, enum.Enum("E", "A").A, np.array([object()]), dt.datetime.now(dt.timezone.utc).tzname]
)
def test_anything_else_is_not_plain(value: Any) -> None:
    with pytest.raises(NotPlainError):
        written(value, exactly=False)


def test_a_default_that_is_no_class_is_lost() -> None:
    found = passed_on(collections.defaultdict(lambda: 3, {1: 2}))
    assert (found, found.default_factory) == ({1: 2}, None)


def test_what_is_too_deep_or_too_large_is_refused() -> None:
    deep: list[Any] = []
    for _ in range(plain_data.MAX_DEPTH + 1):
        deep = [deep]
    with pytest.raises(TooMuchError, match="levels deep"):
        written(deep)
    with pytest.raises(TooMuchError, match="MiB"):
        written("x" * plain_data.MAX_BYTES)


@pytest.mark.parametrize(
    "text",
    [
        *(b"", b"[", b"[]", b"[[]]", b"{}", b'{"a":1}', b"1 2", b"[1]x", b"\xff", b'"\xc3\xa9"', b"nan", b"tru"),
        *(b"[" * 10**6, b"[" * 10**5 + b"]" * 10**5, b"1" * 10**5, b'["int","z"]', b'["list"', b'["lists"]'),
        *(b'["=",0]', b'["list",["=",5]]', b'["=",-1]', b'["dict",1]', b'["dict",["list"],1]', b'["set",["list"]]'),
        *(b'["named","x",["a b"],1]', b'["named","x",["a"],1,2]', b'["class","os"]', b'["class","print"]'),
        *(b'["numpy.ndarray","O","00",1]', b'["numpy.ndarray","f8","00",1]', b'["numpy.ndarray","i4,O","",0]'),
        *(b'["datetime.date",2024,2,30]', b'["decimal.Decimal","x"]', b'["fractions.Fraction",1,0]', b'["str","zz"]'),
        *(b'["collections.defaultdict","exit"]', b'["object",0,"function","x"]', b'["range",0,1,0]', b'["bytes",1]'),
        b"[" + b'["list",' * (plain_data.MAX_DEPTH + 5) + b"]" * (plain_data.MAX_DEPTH + 6),
    ],
    ids=lambda text: repr(text[:40]),
)
def test_what_no_writer_writes_is_malformed(text: bytes) -> None:
    with pytest.raises(MalformedError):
        read(text)


@pytest.mark.parametrize(
    ("value", "change"),
    [
        ([3, 1], lambda value: value.sort()),
        ([1], lambda value: value.__setitem__(0, True)),
        ({1: 2}, lambda value: value.update({3: [4]})),
        ({1, 2}, lambda value: value.discard(1)),
        (bytearray(b"ab"), lambda value: value.reverse()),
        (collections.deque([1, 2]), lambda value: value.rotate()),
        (collections.Counter("ab"), lambda value: value.update("b")),
        (np.array([3, 1]), lambda value: value.sort()),
    ],
    ids=lambda each: type(each).__name__,
)
def test_a_change_is_seen_and_told_by_number(value: Any, change: Any) -> None:
    ours: list[Any] = []
    theirs: list[Any] = []
    Reader(refuse_tree, theirs).value(read_text(write_text(Writer(refuse, ours, exactly=True).tree(value))))
    before = plain_data.snapshot(theirs[0])
    assert not plain_data.has_changed(theirs[0], before)
    change(theirs[0])
    assert plain_data.has_changed(theirs[0], before)
    Reader(refuse_tree, ours).refill(0, Writer(refuse, theirs, exactly=True).contents(theirs[0]))
    assert is_same(value, theirs[0])


def test_without_the_c_module_of_json_it_reads_and_writes_the_same() -> None:
    program = (
        "import sys; sys.modules['_json'] = None; sys.path.insert(0, sys.argv[1]); import plain_data as p\n"
        "tree = p.read_text(sys.argv[2].encode()); print(p.write_text(tree).decode())\n"
        "try: p.read_text(b'{}')\nexcept p.MalformedError: print('refused')\n"
    )
    text = '["tuple",1,-0.0,NaN,Infinity,"\\ud83d",null,true,["list"]]'
    folder = str(Path(plain_data.__file__).parent)
    run = subprocess.run([sys.executable, "-c", program, folder, text], capture_output=True, text=True, check=True)
    assert run.stdout == f"{text}\nrefused\n"

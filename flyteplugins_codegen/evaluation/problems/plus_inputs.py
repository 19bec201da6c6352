"""The inputs of MBPP+ as their problems mean them: JSON has no tuples, sets or complex numbers.

Which problem takes what is told by evalplus 0.3.1, which publishes the files.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from typing import Any, Final, TypeAlias

Convert: TypeAlias = Callable[[Any], Any]


def plus_inputs(number: int, calls: list[list[Any]]) -> list[list[Any]]:
    """The arguments of the calls of the MBPP+ problem with this number."""
    converters = {position: convert for position, convert, numbers in _CONVERTED if number in numbers}
    return [list(_converted(converters, call)) for call in calls] if converters else calls


def _converted(converters: Mapping[int | None, Convert], call: list[Any]) -> Iterator[Any]:
    for position, value in enumerate(call):
        convert = converters.get(position) or converters.get(_EVERY)
        yield convert(value) if convert else value


def _tuple(value: Any) -> Any:
    return tuple(value) if isinstance(value, list) else value


def _list_of_tuples(value: Any) -> Any:
    return [_tuple(item) for item in value] if isinstance(value, list) else value


def _tuple_of_tuples(value: Any) -> Any:
    return _tuple(_list_of_tuples(value))


def _tuples_all_through(value: Any) -> Any:
    return tuple(_tuples_all_through(item) for item in value) if isinstance(value, list) else value


def _list_of_sets(value: Any) -> Any:
    # An empty list stands for an empty dict there: `{}`.
    return [(set(item) if item else {}) if isinstance(item, list) else {} for item in value]


def _dict_of_tuples(value: Any) -> Any:
    return {key: _tuple(item) for key, item in value.items()} if isinstance(value, dict) else value


_EVERY: Final = None
_PAIRED_LISTS: Final = (2, 116, 132, 143, 222, 261, 273, 394, 399, 421, 424, 429, 470, 560, 579, 596, 616, 630, 726)
_ROWS: Final = (63, 64, 70, 94, 120, 237, 272, 299, 400, 409, 417, 438, 473, 614, 780)
_CONVERTED: Final[tuple[tuple[int | None, Convert, tuple[int, ...]], ...]] = (
    (_EVERY, _tuple, (*_PAIRED_LISTS, 740, 744, 809)),
    (_EVERY, _list_of_tuples, _ROWS),
    (_EVERY, _tuple_of_tuples, (259, 401, 445)),
    (_EVERY, _tuples_all_through, (580, 615, 791)),
    (0, _list_of_tuples, (75, 278, 413, 444, 753)),
    (0, _tuple, (250, 307, 405, 446, 617, 720, 763, 808)),
    (0, _list_of_sets, (115,)),
    (0, _dict_of_tuples, (722,)),
    (0, float, (124,)),
    (0, complex, (252,)),
    (1, _tuple, (106, 750)),
    (1, complex, (124,)),
)

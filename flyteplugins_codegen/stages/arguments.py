"""The values of inputs that have no sample, so that the script can run on the real samples, outside of pytest.

A value is the user's, else one of an example, else the one that the author of the solution proposed for the samples,
else one that the generated tests pass on a command line. All values that the user did not give come from one of these,
because they may depend on each other. What cannot be read with certainty is no value.
"""

from __future__ import annotations

import ast
import json
import math
import mmap
import re
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from types import MappingProxyType
from typing import Any, Final, NamedTuple, TypeAlias

from pydantic import JsonValue

from flyteplugins_codegen.errors import InterfaceError
from flyteplugins_codegen.models.job import Request, TypeName, input_types
from flyteplugins_codegen.models.run import SAMPLES_CASE, TestReport
from flyteplugins_codegen.portable.launcher import check_argument, format_value, is_simple, parse_value
from flyteplugins_codegen.source.python import last_name
from flyteplugins_codegen.source.tests import DeclaredFunction, find_test_functions, read_call
from flyteplugins_codegen.stages.examples import REMEDIES
from flyteplugins_codegen.text import short_repr

Arguments: TypeAlias = dict[str, JsonValue]

_PAIR: Final = 2
_NONE: Final[Mapping[str, JsonValue]] = MappingProxyType({})
_DATE: Final = re.compile(r"\d{4}-\d\d(-\d\d([T ]\d\d:\d\d\S*)?)?\Z")
_EXPECTS_FAILURE: Final = frozenset({"raises", "assertRaises", "assertRaisesRegex"})

# --- the user's values ---


class DeclaredInputs(NamedTuple):
    """The inputs that a caller declared: their types, and the values that some of them were given."""

    types: dict[str, TypeName]
    values: Arguments


def declared_inputs(declared: Mapping[str, Any]) -> DeclaredInputs:
    """Inputs as `name: type`, `name: (type, value)` or, for numbers and booleans, `name: value`.

    A JSON list of a type's name and a value is a pair, too. Raises InterfaceError that names the input, its value and
    the remedy.
    """
    types = {name: _type_of(name, given) for name, given in declared.items()}
    checked = input_types(types)
    values = {name: given for name, given in declared.items() if _has_value(given)}
    return DeclaredInputs(checked, {name: _checked_value(name, checked[name], given) for name, given in values.items()})


def _has_value(given: Any) -> bool:
    return isinstance(given, bool | int | float | tuple | list)


def _type_of(name: str, given: Any) -> Any:
    if isinstance(given, bool | int | float):
        return next(kind for kind in (bool, int, float) if isinstance(given, kind))
    if not isinstance(given, tuple | list):
        return given
    if len(given) != _PAIR:
        raise InterfaceError(
            f"input {name!r}: {short_repr(given)} is no type with a value; pass a pair such as (int, 5)"
        )
    return given[0]


def _checked_value(name: str, kind: TypeName, given: Any) -> JsonValue:
    value = given[1] if isinstance(given, tuple | list) else given
    if not is_simple(kind):
        raise InterfaceError(
            f"input {name!r}: {short_repr(value)} cannot be the value of a {kind}; pass a file among the samples, "
            "and a directory in an example"
        )
    try:
        text = format_value(value, kind)
        check_argument(text)
        plain = _plain(text, kind)
    except (ValueError, OverflowError) as error:
        raise InterfaceError(f"input {name!r}: {short_repr(value)} is no {kind}: {error}; {REMEDIES[kind]}") from None
    if not _is_certain(plain):
        raise InterfaceError(f"input {name!r}: {short_repr(value)} is not finite; {REMEDIES[kind]}")
    return plain


def _plain(text: str, kind: TypeName) -> JsonValue:
    """The value of a text as Python's own type; a str as it stands, because a cluster alone trims it."""
    value: JsonValue = text if kind == "str" else parse_value(text, kind)
    return value


# --- the values of a run on the samples ---


def inputs_without_sample(request: Request) -> tuple[str, ...]:
    """The inputs that are no samples."""
    samples = {sample.name for sample in request.samples}
    return tuple(name for name in request.inputs if name not in samples)


def checked_proposals(request: Request, proposals: Mapping[str, str]) -> Arguments:
    """The proposed values of inputs that lack one, each of its type; a text that is no such value is left out."""
    wanted = [name for name in inputs_without_sample(request) if name not in request.values]
    types = {name: request.inputs[name] for name in wanted if is_simple(request.inputs[name])}
    values = {name: _value_of(proposals.get(name), kind) for name, kind in types.items()}
    return {name: value for name, value in values.items() if _is_certain(value)}


def known_arguments(
    request: Request, tests: str | None, samples: Mapping[str, Path], proposed: Mapping[str, JsonValue] = _NONE
) -> Arguments | None:
    """A value for every input without a sample; None if one of them has no value that is certain.

    `tests` are the generated tests, `proposed` the values of `checked_proposals`. A text that is not the user's own is
    taken only if a sample contains it as a word: a name that the real data lack would test another case than the
    user's. A proposed text may also be in the prompt, or be a date.
    """
    wanted = [name for name in request.inputs if name not in samples]
    if not all(is_simple(request.inputs[name]) for name in wanted):
        return None
    missing = [name for name in wanted if name not in request.values]
    found = next(_found(request, tests, samples, missing, proposed), None) if missing else {}
    if found is None:
        return None
    return {name: request.values[name] if name in request.values else found[name] for name in wanted}


def _found(
    request: Request,
    tests: str | None,
    samples: Mapping[str, Path],
    names: Sequence[str],
    proposed: Mapping[str, JsonValue],
) -> Iterator[Arguments]:
    """The values of these inputs in the examples, then the proposed ones, then those of the tests, the best first."""
    examples = [example for example in request.examples if set(names) <= set(example.inputs)]
    on_samples = [example for example in examples if not set(samples) & set(example.inputs)]
    yield from ({name: example.inputs[name] for name in names} for example in on_samples)

    def fits(values: Arguments) -> bool:
        texts = [value for name, value in values.items() if request.inputs[name] == "str"]
        return not samples or all(_is_in_samples(str(text), samples) for text in texts)

    others = [example for example in examples if example not in on_samples]
    yield from filter(fits, ({name: example.inputs[name] for name in names} for example in others))
    if set(names) <= set(proposed):
        told = {name: proposed[name] for name in names}
        unknown = {name: value for name, value in told.items() if not _is_told(request, value)}
        if fits(unknown):
            yield told
    yield from filter(fits, _passed_by_tests(request, tests, names))


def _is_told(request: Request, value: JsonValue) -> bool:
    """Whether a text is one of the job itself, or a date: neither has to be in a sample."""
    text = str(value)
    word = re.compile(rf"(?<!\w){re.escape(text)}(?!\w)")
    return bool(text) and (_DATE.match(text) is not None or word.search(request.prompt) is not None)


def _passed_by_tests(request: Request, tests: str | None, names: Sequence[str]) -> list[Arguments]:
    """The values that tests pass for these inputs, those of most tests first."""
    try:
        functions = find_test_functions(tests or "")
    except SyntaxError:
        return []
    passed = [values for function in functions if (values := _passed_by(request, function, names)) is not None]
    keys = [json.dumps(values, sort_keys=True) for values in passed]
    counts = Counter(keys)
    by_key = dict(zip(keys, passed, strict=True))
    return [by_key[key] for key, _ in counts.most_common()]  # of equal counts, the first


def _passed_by(request: Request, function: DeclaredFunction, names: Sequence[str]) -> Arguments | None:
    """The values in the only command line of a test that expects outputs; None if they are not certain."""
    call = read_call(function.node)
    if not call.is_single or not call.outputs or call.options != set(request.inputs) or _expects_failure(function):
        return None
    values: Arguments = {}
    for name in names:
        values[name] = _value_of(call.values[name], request.inputs[name])
    return values if all(_is_certain(value) for value in values.values()) else None


def _value_of(text: str | None, kind: TypeName) -> JsonValue:
    """The value of a text on a command line; None if it is none of this type."""
    if text is None:
        return None
    try:
        check_argument(text)
        return _plain(text, kind)
    except ValueError:
        return None


def _is_certain(value: JsonValue) -> bool:
    return value is not None and not (isinstance(value, float) and not math.isfinite(value))


def _expects_failure(function: DeclaredFunction) -> bool:
    nodes = list(ast.walk(function.node))
    caught = any(isinstance(node, ast.Try) for node in nodes)
    return caught or any(isinstance(node, ast.Call) and last_name(node) in _EXPECTS_FAILURE for node in nodes)


def _is_in_samples(text: str, samples: Mapping[str, Path]) -> bool:
    return bool(text) and any(_contains(path, text.encode()) for path in samples.values())


def _contains(path: Path, word: bytes) -> bool:
    """Whether the file has the word, with no other character of a word beside it."""
    try:
        with path.open("rb") as file, mmap.mmap(file.fileno(), 0, access=mmap.ACCESS_READ) as content:
            return re.search(rb"(?<!\w)" + re.escape(word) + rb"(?!\w)", content) is not None
    except (OSError, ValueError):  # it is gone, or empty
        return False


def is_run_by_example(request: Request, arguments: Arguments) -> bool:
    """Whether an example runs the script on the samples with these values already."""
    return bool(arguments) and any(example.inputs == arguments for example in request.examples)


# --- whether it ran ---


def ran_on_samples(request: Request, report: TestReport | None) -> bool:
    """Whether the script ran outside of pytest on all samples, by the run on the samples or by an example.

    Of a job without samples: whether it ran on any values.
    """
    samples = {sample.name for sample in request.samples}
    numbered = enumerate(request.examples, 1)
    cases = {SAMPLES_CASE, *(f"example {number}" for number, case in numbered if not samples & set(case.inputs))}
    return any(run.case in cases and run.status != "not_run" for run in (report.runs if report else ()))


def why_not_run(request: Request, report: TestReport | None) -> str:
    """Why the script never ran on the samples, and the remedy; "" if it did, or if it could not run at all."""
    without = [name for name in inputs_without_sample(request) if name not in request.values]
    if report is None or report.build_cause is not None or not without or ran_on_samples(request, report):
        return ""
    where = "on the samples" if request.samples else "outside of its tests"
    files = [name for name in without if not is_simple(request.inputs[name])]
    if files:
        return f"The script was never run {where}: {', '.join(files)} is a file without a sample; pass one as a sample."
    pairs = ", ".join(f'"{name}": ({request.inputs[name]}, ...)' for name in without)
    return (
        f"The script was never run {where}: no value of {', '.join(without)} is known; pass one, inputs={{{pairs}}}, "
        "or an example that uses the samples."
    )

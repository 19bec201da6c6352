"""The arguments of `generate()` checked and made a request that is complete: samples are known by their content."""

from __future__ import annotations

import functools
import os
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any

from flyteplugins_codegen.data.files import describe_sample, is_data_frame
from flyteplugins_codegen.data.inputs import frame_file, is_frame
from flyteplugins_codegen.data.pandera import read_schema
from flyteplugins_codegen.errors import InterfaceError, RequestError, SampleError
from flyteplugins_codegen.models.base import Value
from flyteplugins_codegen.models.data import TableSchema
from flyteplugins_codegen.models.job import Request, TypeName, check_name, output_types
from flyteplugins_codegen.models.settings import SandboxKind
from flyteplugins_codegen.sandbox.opening import open_sandbox
from flyteplugins_codegen.source.python import parse_python
from flyteplugins_codegen.source.tests import declared_tests
from flyteplugins_codegen.stages.arguments import declared_inputs
from flyteplugins_codegen.stages.examples import Interface, checked_examples
from flyteplugins_codegen.store import cache_dir


class LocalRequest(Value):
    """A request, and the paths of its sample files on this machine."""

    request: Request
    samples: dict[str, Path]


class JobArguments(Value):
    """The unchecked arguments of `generate()`, and whether tests will be generated."""

    prompt: str
    schema_text: str | None = None
    constraints: Sequence[str] | None = None
    schemas: Mapping[str, Any] | None = None
    samples: Mapping[str, Any] | None = None
    inputs: Mapping[str, Any] | None = None
    outputs: Mapping[str, Any] | None = None
    examples: Sequence[Any] | None = None
    tests: str | None = None
    skip_tests: bool = False


def prepare_job(arguments: JobArguments) -> LocalRequest:
    """Check all arguments before any model call, and make them a job.

    Raises:
        RequestError: the prompt is empty, the tests do not parse, or nothing could judge a solution.
        InterfaceError: a name or type is invalid, an input is declared twice, or an example does not fit.
        SampleError: a sample is missing, empty or of an unsupported kind.
    """
    request = check_job(arguments)
    paths = {name: _sample_path(name, value) for name, value in (arguments.samples or {}).items()}
    samples = tuple(describe_sample(name, path) for name, path in paths.items())
    return LocalRequest(request=request.model_copy(update={"samples": samples}), samples=paths)


def check_job(arguments: JobArguments) -> Request:
    """Check all arguments, and of the samples the names alone; return the request without samples.

    Raises RequestError, InterfaceError as `prepare_job`; SampleError for a name.
    """
    if not arguments.prompt.strip():
        raise RequestError("the prompt is empty; describe the job in words")
    samples = frozenset(arguments.samples or ())
    for name in samples:
        check_name("sample", name)
    given = declared_inputs(arguments.inputs or {})
    inputs = _all_inputs(arguments.samples or {}, given.types)
    outputs = output_types(arguments.outputs or {})
    _check_tests(arguments.tests)
    request = Request(
        prompt=arguments.prompt,
        schema_text=arguments.schema_text,
        constraints=tuple(arguments.constraints or ()),
        schemas=_schemas(arguments.schemas or {}, inputs, outputs),
        inputs=inputs,
        outputs=outputs,
        examples=checked_examples(arguments.examples or (), Interface(inputs, outputs, samples)),
        tests=arguments.tests,
        values=given.values,
    )
    if arguments.skip_tests:
        _check_judgeable(request, samples)
    return request


@functools.cache
def check_sandbox(kind: SandboxKind) -> None:
    """Open and close a sandbox of this kind, so that a machine without one fails before any model call.

    Checked once in a process. Raises SandboxUnavailableError.
    """
    with open_sandbox(kind):
        pass


def _check_judgeable(request: Request, samples: frozenset[str]) -> None:
    without_value = set(request.inputs) - samples - set(request.values)
    if without_value and not request.examples and not request.tests:
        raise RequestError(
            "nothing could judge a solution: skip_tests is set, and the script cannot run on the samples without a "
            f"value for {', '.join(sorted(without_value))}; give it beside the type, (int, 5), or an example with "
            "these inputs, or tests of your own"
        )


def _sample_path(name: str, value: Any) -> Path:
    if is_frame(value) or is_data_frame(value):
        return frame_file(value, name, cache_dir() / "samples")
    if not isinstance(value, str | os.PathLike):
        raise SampleError(
            f"sample {name!r}: {type(value).__name__} is not supported; pass a path, a FlyteFile, a StructuredDataset "
            "or a data frame of pandas, pyarrow or polars"
        )
    if isinstance(value, str) and "://" in value:
        raise SampleError(f"sample {name!r}: {value!r} is no path on this machine; pass FlyteFile({value!r})")
    # A FlyteFile is path-like; `os.fspath` downloads it.
    return Path(os.fspath(value)).expanduser().absolute()


def _schemas(
    schemas: Mapping[str, Any], inputs: Mapping[str, TypeName], outputs: Mapping[str, TypeName]
) -> dict[str, TableSchema]:
    files = [name for name, kind in (*inputs.items(), *outputs.items()) if kind in {"file", "directory"}]
    for name in schemas:
        if name not in files:
            raise InterfaceError(f"schemas: {name!r} is no file; files are {', '.join(files) or 'none'}")
    return {name: read_schema(name, schema) for name, schema in schemas.items()}


def _all_inputs(samples: Iterable[str], declared: Mapping[str, TypeName]) -> dict[str, TypeName]:
    from_samples: dict[str, TypeName] = dict.fromkeys(samples, "file")
    for name in from_samples:
        if name in declared:
            raise InterfaceError(
                f"input {name!r} is declared twice, among the samples and among the inputs; "
                "leave it out of inputs: every sample is a file input already"
            )
    return from_samples | dict(declared)


def _check_tests(tests: str | None) -> None:
    if tests is None:
        return
    try:
        parse_python(tests)
    except (SyntaxError, ValueError) as error:
        line = getattr(error, "lineno", None)
        text = (getattr(error, "text", None) or "").strip()
        location = f"line {line}: {text!r}" if line else "the text"
        message = getattr(error, "msg", str(error))
        raise RequestError(f"tests: {message} at {location}; pass the source of a pytest module") from error
    if not declared_tests(tests):
        raise RequestError(
            f"tests: no test is declared in {tests[:80]!r}, no function named test_*; pass the source of a pytest "
            "module, read from its file: Path(...).read_text()"
        )

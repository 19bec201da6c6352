"""What canonical solutions give for the inputs of their problems: found out in the sandbox once, then kept."""

from __future__ import annotations

import base64
import logging
import zlib
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final

from flyteplugins_codegen.errors import RequestError, SandboxError
from flyteplugins_codegen.models.base import Value
from flyteplugins_codegen.models.settings import SandboxKind
from flyteplugins_codegen.sandbox.contract import APP, Execution, Job, Limits
from flyteplugins_codegen.sandbox.opening import open_sandbox
from flyteplugins_codegen.sandbox.steady import STEADY_ENVIRONMENT
from flyteplugins_codegen.sandbox.values import plain_data
from flyteplugins_codegen.store import ContentStore, digest

_REFERENCE: Final = Path(__file__).with_name("reference.py")
_LIMITS: Final = Limits(wall_s=300, memory_mib=4096, output_mib=256, file_mib=256)
_KIND: Final = "expected-values"
_FORM: Final = 3
_log: Final = logging.getLogger(__name__)


@dataclass(frozen=True, slots=True, kw_only=True)
class Reference:
    """A canonical solution as a whole program, the arguments of its calls, and how another's values are compared.

    `rule` and `tolerance` are as `sandbox.values.recorded` has them; `presence` asks only whether there is a value;
    `place` is for messages.
    """

    place: str
    program: str
    entry_point: str
    calls: Sequence[Sequence[Any]]
    rule: str = "close"
    tolerance: float = 0.0
    presence: bool = False


class _Packed(Value):
    """Calls and their values as `recorded.Cases` unpacks them."""

    text: str


def check_sources(references: Sequence[Reference], sandbox: SandboxKind) -> list[str]:
    """For each reference the source of a `check(candidate)` that holds a candidate against it.

    What was computed is kept by content, so that it is computed once.

    Raises:
        RequestError: a canonical solution fails on an input, or gives what is no plain data.
        SandboxError: the sandbox failed.
    """
    store, keys = ContentStore(), [_key(each) for each in references]
    found = {key: kept for key in keys if (kept := store.get(_KIND, key, _Packed))}
    missing = {key: each for key, each in zip(keys, references, strict=True) if key not in found}

    def keep(key: str, packed: _Packed) -> None:
        found[key] = packed
        with suppress(OSError):  # a full disk costs the next run this work again, and nothing else
            store.put(_KIND, key, packed)

    _compute(missing, sandbox, keep)
    return [_source(each, found[key]) for key, each in zip(keys, references, strict=True)]


def _key(each: Reference) -> str:
    calls = [_call(each, call).decode() for call in each.calls]
    return digest(_FORM, each.program, each.entry_point, each.presence, calls)


def _compute(references: Mapping[str, Reference], sandbox: SandboxKind, keep: Callable[[str, _Packed], None]) -> None:
    """Run each, and keep it at once: what fails later takes nothing away."""
    if not references:
        return
    items = list(references.items())
    with open_sandbox(sandbox) as opened:

        def end(index: int, execution: Execution) -> None:
            key, each = items[index]
            keep(key, _packed(each, execution))

        opened.map((_job(each) for _, each in items), workers=2, on_result=end)


def _job(each: Reference) -> Job:
    first = plain_data.write_text([each.program, each.entry_point, each.presence])
    return Job(
        command=("python", f"{APP}/reference.py"),
        program={"reference.py": _REFERENCE, "plain_data.py": Path(plain_data.__file__)},
        stdin=b"\n".join([first, *(_call(each, call) for call in each.calls)]),
        outputs=("values",),
        env=STEADY_ENVIRONMENT,
        limits=_LIMITS,
    )


def _call(each: Reference, call: Sequence[Any]) -> bytes:
    try:
        return plain_data.write_call(call, {}, _refuse)
    except plain_data.NotPlainError as error:
        raise RequestError(f"{each.place}: an input cannot be told: {error}") from None


def _refuse(value: Any) -> Any:
    raise plain_data.NotPlainError(f"a value of the type {type(value).__name__} is no plain data")


def _packed(each: Reference, execution: Execution) -> _Packed:
    if execution.status == "sandbox_error":
        raise SandboxError(f"the sandbox failed while it ran a canonical solution: {execution.message}")
    calls = [_call(each, call) for call in each.calls]
    pairs = zip(calls, _values(each, execution), strict=True)
    lines = [line for call, value in pairs if value is not None for line in (call, value)]
    if not lines:
        raise RequestError(f"{each.place}: its canonical solution gives nothing that could be told; leave it out")
    return _Packed(text=base64.b64encode(zlib.compress(b"\n".join(lines))).decode())


def _values(each: Reference, execution: Execution) -> Iterator[bytes | None]:
    """What each call gave, None for what is left out."""
    output = execution.outputs.get("values")
    lines = output.read_bytes(output.size_bytes).splitlines() if output else []
    for number, line in enumerate(lines, 1):
        kind, told = _told(each, line)
        if kind == "left out":
            _log.warning("%s: input %d is left out, as what it gives cannot be told: %s", each.place, number, told)
        elif kind != "value":
            raise RequestError(f"{each.place}: its canonical solution fails on input {number}: {told}")
        yield plain_data.write_text(told) if kind == "value" else None
    if len(lines) != len(each.calls):
        ended = f"it ended by {execution.status} after {len(lines)} of {len(each.calls)} inputs"
        raise RequestError(f"{each.place}: its canonical solution gave no answer: {ended}")


def _told(each: Reference, line: bytes) -> tuple[str, Any]:
    try:
        kind, told = plain_data.read_text(line)
    except (plain_data.MalformedError, ValueError, TypeError):
        raise RequestError(f"{each.place}: what its canonical solution gave cannot be read") from None
    return str(kind), told


def _source(each: Reference, packed: _Packed) -> str:
    made = f"Cases({packed.text!r}, {each.rule!r}, {each.tolerance!r})"
    # The judge's own module. Imported by its name, it would pass for a package that the tests need.
    return f"# `check` raises AssertionError.\nimport sys\ncheck = sys.modules['recorded'].{made}.check\n"

"""Pickles from elsewhere: looked at here, opened only inside the sandbox.

A pickle is a program. What it would import can be read off its opcodes without running them; its function is called in
a sandbox that has dill and nothing of this machine, and what comes back is text.
"""

from __future__ import annotations

import base64
import binascii
import json
import pickletools
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final

from flyteplugins_codegen.environment.layers import install
from flyteplugins_codegen.environment.lock import resolve
from flyteplugins_codegen.errors import DecodingError
from flyteplugins_codegen.evaluation.metric.snippets import ExecutionResult
from flyteplugins_codegen.sandbox.contract import Execution, Job, Limits
from flyteplugins_codegen.sandbox.failure_text import decoded
from flyteplugins_codegen.sandbox.opening import open_sandbox

_PROGRAM: Final = Path(__file__).with_name("unpickling.py")
_LIMITS: Final = Limits(wall_s=60.0, memory_mib=512, stream_kib=16 << 10)
_MAX_RESULT_BYTES: Final = 16 << 20
_PACKAGES: Final = ("dill",)
_OURS: Final = "flyteplugins_codegen.evaluation.metric.snippets"
# Whatever else a pickle holds, one with these alone says a module and a name, and nothing is called.
_NAMING: Final = frozenset(
    {"PROTO", "FRAME", "SHORT_BINUNICODE", "BINUNICODE", "MEMOIZE", "BINPUT", "STACK_GLOBAL", "GLOBAL", "STOP"}
)
_KNOWN: Final = {
    ("eval_framework.tasks.utils", "unittest_merge_snippets"): (_OURS, "unittest_merge_snippets"),
    ("eval_framework.tasks.utils", "_parse_unittest_output"): (_OURS, "parse_unittest_output"),
}


def read_pickle(text: str) -> bytes:
    """The pickle in a base64 text. Raises DecodingError for what is neither base64 nor the start of a pickle."""
    try:
        pickled = base64.b64decode(text, validate=True)
    except (binascii.Error, ValueError):
        pickled = b""
    if not pickled.startswith(b"\x80"):
        raise DecodingError(f"{text[:60]!r} is no function: write it as 'module:function'")
    return pickled


def named_function(pickled: bytes) -> tuple[str, str] | None:
    """Module and name of our function, where the pickle does no more than name the one that it stands for."""
    texts: list[str] = []
    try:
        for opcode, argument, _ in pickletools.genops(pickled):
            if opcode.name not in _NAMING:
                return None
            if opcode.name == "GLOBAL":
                texts += str(argument).split(" ", 1)
            elif "UNICODE" in opcode.name:
                texts.append(str(argument))
    except ValueError as error:
        raise DecodingError(f"the pickle of a function is damaged: {error}") from error
    return _KNOWN.get((texts[0], texts[1])) if len(texts) == 2 else None  # noqa: PLR2004 - a module and a name


@dataclass(frozen=True, slots=True)
class SandboxedCallable:
    """A pickled function of texts that gives a text, or whether there was success and a text."""

    pickled: bytes

    def __call__(self, *texts: str) -> str | ExecutionResult:
        """Open the pickle and call its function, inside the sandbox.

        Raises DecodingError where it cannot be opened, ends with an error, or gives anything else; SandboxError where
        this machine has no sandbox.
        """
        told = json.dumps([base64.b64encode(self.pickled).decode(), list(texts)]).encode()
        job = Job(
            command=("python", "/app/unpickling.py"),
            program={"unpickling.py": _PROGRAM},
            stdin=told,
            outputs=("result.json",),
            limits=_LIMITS,
        )
        with open_sandbox(environment=install(resolve(_PACKAGES))) as sandbox:
            return _read_result(sandbox.run(job))


def _read_result(execution: Execution) -> str | ExecutionResult:
    said = decoded(execution.stderr, execution.stderr_cut) or execution.message or execution.status
    output = execution.outputs.get("result.json")
    if execution.exit_code != 0 or output is None:
        raise DecodingError(f"a pickled function failed in the sandbox: {said}")
    return _as_result(json.loads(output.read_bytes(_MAX_RESULT_BYTES)))


def _as_result(found: Any) -> str | ExecutionResult:
    match found:
        case str():
            return found
        case [bool(success), str(output)]:
            return ExecutionResult(success, output)
    raise DecodingError("a pickled function gave neither a text nor whether there was success and a text")

"""Functions as text: written by their names, and read from names or from pickles.

A pickle is a program, so it is never opened in this process. Its opcodes show what it would import; its function is
called in a sandbox that has dill and nothing of this machine, and only text comes back.
"""

from __future__ import annotations

import base64
import binascii
import inspect
import json
import pickletools
from collections.abc import Callable
from dataclasses import dataclass
from importlib import import_module
from pathlib import Path
from typing import Any, Final

from flyteplugins_codegen.errors import DecodingError, EncodingError
from flyteplugins_codegen.evaluation.eval_framework.snippets import ExecutionResult
from flyteplugins_codegen.moved import moved_name
from flyteplugins_codegen.packages.install import install
from flyteplugins_codegen.packages.resolve import resolve
from flyteplugins_codegen.sandbox.contract import Execution, Job, Limits
from flyteplugins_codegen.sandbox.opening import open_sandbox
from flyteplugins_codegen.text import decoded

_INSIDE: Final = Path(__file__).with_name("inside.py")  # not imported: it imports dill, which only the sandbox has
_LIMITS: Final = Limits(wall_s=60.0, memory_mib=512, stream_kib=16 << 10)
_MAX_RESULT_BYTES: Final = 16 << 20
_PACKAGES: Final = ("dill",)
_OURS: Final = "flyteplugins_codegen.evaluation.eval_framework.snippets"
# A pickle with only these opcodes gives a module and a name, and calls nothing.
_NAMING: Final = frozenset(
    {"PROTO", "FRAME", "SHORT_BINUNICODE", "BINUNICODE", "MEMOIZE", "BINPUT", "STACK_GLOBAL", "GLOBAL", "STOP"}
)
_KNOWN: Final = {
    ("eval_framework.tasks.utils", "unittest_merge_snippets"): (_OURS, "unittest_merge_snippets"),
    ("eval_framework.tasks.utils", "_parse_unittest_output"): (_OURS, "parse_unittest_output"),
}


def read_pickle(text: str) -> bytes:
    """The pickle in a base64 text. Raises DecodingError for text that is not base64, or not of a pickle."""
    try:
        pickled = base64.b64decode(text, validate=True)
    except (binascii.Error, ValueError):
        pickled = b""
    if not pickled.startswith(b"\x80"):
        raise DecodingError(f"{text[:60]!r} is no function: write it as 'module:function'")
    return pickled


def named_function(pickled: bytes) -> tuple[str, str] | None:
    """Module and name of our function for the one that a pickle names; None if the pickle does more than that."""
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
    """A pickled function of texts that returns a text, or a pair of success and text."""

    pickled: bytes

    def __call__(self, *texts: str) -> str | ExecutionResult:
        """Open the pickle and call its function, inside the sandbox.

        Raises DecodingError if it cannot be opened, fails, or returns another type; SandboxError if the sandbox fails.
        """
        request = json.dumps([base64.b64encode(self.pickled).decode(), list(texts)]).encode()
        job = Job(
            command=("python", "/app/unpickling.py"),
            program={"unpickling.py": _INSIDE},
            stdin=request,
            outputs=("result.json",),
            limits=_LIMITS,
        )
        with open_sandbox(environment=install(resolve(_PACKAGES))) as sandbox:
            return _read_result(sandbox.run(job))


def _read_result(execution: Execution) -> str | ExecutionResult:
    message = decoded(execution.stderr, execution.stderr_cut) or execution.message or execution.status
    output = execution.outputs.get("result.json")
    if execution.exit_code != 0 or output is None:
        raise DecodingError(f"a pickled function failed in the sandbox: {message}")
    match json.loads(output.read_bytes(_MAX_RESULT_BYTES)):
        case str(text):
            return text
        case [bool(success), str(printed)]:
            return ExecutionResult(success, printed)
    raise DecodingError("a pickled function gave neither a text nor whether there was success and a text")


@dataclass(frozen=True, slots=True)
class CallableSerializer:
    """Writes and reads functions of the modules in `allowed_modules`. The module of our snippets is always allowed."""

    allowed_modules: tuple[str, ...] = ()

    def encode(self, fn: Callable[..., Any]) -> str:
        """The function as `module:function`. Raises EncodingError for one that cannot be read back by such a name."""
        name = _name_of(fn)
        if not self._is_allowed(fn.__module__):
            raise EncodingError(f"{name} cannot be read back: {self._remedy(fn.__module__)}")
        if getattr(import_module(fn.__module__), fn.__name__, None) is not fn:
            raise EncodingError(f"{name} names another function than the one given; give the one that its module holds")
        return name

    def decode(self, fn_str: str) -> Callable[..., Any]:
        """The function that a text names, or one that calls another's pickle inside the sandbox.

        Raises DecodingError for any other text, for a module that is not allowed, and for a name that is not one of its
        functions.
        """
        if ":" in fn_str:
            return self._imported(*fn_str.split(":", 1))
        pickled = read_pickle(fn_str)
        known = named_function(pickled)
        return self._imported(*known) if known else SandboxedCallable(pickled)

    def _imported(self, module: str, function: str) -> Callable[..., Any]:
        module = moved_name(module)
        if not self._is_allowed(module):
            raise DecodingError(f"'{module}:{function}' is not imported: {self._remedy(module)}")
        try:
            imported = vars(import_module(module)).get(function)
        except ImportError as error:
            raise DecodingError(f"'{module}:{function}' cannot be imported: {error}") from error
        # A name that the module itself imported, such as `system` from `os`, is not allowed by its name.
        if not inspect.isfunction(imported) or imported.__module__ != module:
            raise DecodingError(f"'{module}:{function}' is no function that the module defines; name one of its own")
        return imported

    def _is_allowed(self, module: str) -> bool:
        return module == _OURS or module in self.allowed_modules

    def _remedy(self, module: str) -> str:
        return f"its module is not allowed; give CallableSerializer(allowed_modules=({module!r},)) if you trust it"


def _name_of(fn: Callable[..., Any]) -> str:
    if not inspect.isfunction(fn) or fn.__qualname__ != fn.__name__ or not fn.__name__.isidentifier():
        raise EncodingError(
            f"{fn!r:.100} has no name in a module, as a lambda, a method or a function inside another has none; "
            "define it with `def` at the top of a module"
        )
    if fn.__module__ == "__main__":
        raise EncodingError(f"{fn.__name__} is defined in the script that runs; move it to a module that others import")
    return f"{fn.__module__}:{fn.__name__}"

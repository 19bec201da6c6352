"""Functions as text: by their names, never by their code.

eval-framework pickles a benchmark's functions into its contexts, and reading one back runs whatever the pickle says.
Here a function is written as `module:function` and imported from modules that the reader allows. What was pickled
elsewhere is still read: a pickle that only names a function that we have is taken for ours, without being opened; any
other is opened, and its function called, inside the sandbox alone (`foreign.py`).
"""

from __future__ import annotations

import inspect
from collections.abc import Callable
from dataclasses import dataclass
from importlib import import_module
from typing import Any, Final

from flyteplugins_codegen.errors import DecodingError, EncodingError
from flyteplugins_codegen.evaluation.metric.foreign import SandboxedCallable, named_function, read_pickle

OUR_MODULES: Final = ("flyteplugins_codegen.evaluation.metric.snippets",)


@dataclass(frozen=True, slots=True)
class CallableSerializer:
    """Writes and reads functions of `allowed_modules`, given by their full names. Ours are always allowed."""

    allowed_modules: tuple[str, ...] = ()

    def encode(self, fn: Callable[..., Any]) -> str:
        """The function as `module:function`. Raises EncodingError for one that cannot be named so, or read back."""
        name = _name_of(fn)
        if not self._is_allowed(fn.__module__):
            raise EncodingError(f"{name} cannot be read back: {self._remedy(fn.__module__)}")
        if getattr(import_module(fn.__module__), fn.__name__, None) is not fn:
            raise EncodingError(f"{name} names another function than the one given; give the one that its module holds")
        return name

    def decode(self, fn_str: str) -> Callable[..., Any]:
        """The function that a text names, or one that calls a foreign pickle inside the sandbox.

        Raises DecodingError for any other text, for a module that is not allowed, and for what is no function of it.
        """
        if ":" in fn_str:
            return self._imported(*fn_str.split(":", 1))
        pickled = read_pickle(fn_str)
        known = named_function(pickled)
        return self._imported(*known) if known else SandboxedCallable(pickled)

    def _imported(self, module: str, function: str) -> Callable[..., Any]:
        if not self._is_allowed(module):
            raise DecodingError(f"'{module}:{function}' is not imported: {self._remedy(module)}")
        try:
            found = vars(import_module(module)).get(function)
        except ImportError as error:
            raise DecodingError(f"'{module}:{function}' cannot be imported: {error}") from error
        # What the module itself imported, such as `system` out of `os`, is not among what it was allowed for.
        if not inspect.isfunction(found) or found.__module__ != module:
            raise DecodingError(f"'{module}:{function}' is no function that the module defines; name one of its own")
        return found

    def _is_allowed(self, module: str) -> bool:
        return module in OUR_MODULES or module in self.allowed_modules

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

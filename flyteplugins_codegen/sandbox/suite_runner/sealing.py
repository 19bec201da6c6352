"""Functions that stay shut though untrusted code in the same process gets hold of them."""

from __future__ import annotations

from types import FunctionType

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable
    from typing import Any, Final

_BUILTINS: Final = globals()["__builtins__"]
SEALED: Final[set[FunctionType]] = set()


def sealed(function: Callable[..., Any], **values: Any) -> Any:
    """A copy of the function with its keyword-only parameters bound.

    What it needs stands in its keyword-only defaults and nowhere else: reading those, or its code, raises an audit
    event, while a closure's cells and a function's globals can be read by anybody. So its globals are empty, and it
    uses no name but its parameters and the builtins.
    """
    copy = FunctionType(function.__code__, {"__builtins__": _BUILTINS}, function.__name__)
    copy.__kwdefaults__ = values
    SEALED.add(copy)
    return copy

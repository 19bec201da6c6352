"""What makes a provider: where it is, how it speaks, which bare model names are its own."""

from __future__ import annotations

from collections.abc import Callable
from typing import NamedTuple

from flyteplugins_codegen.llm.endpoint import ProviderAddress
from flyteplugins_codegen.llm.hosted import Dialect
from flyteplugins_codegen.models.settings import Settings


class Provider(NamedTuple):
    """One provider. `dialects` makes its ways of speaking, what is tried first at the front.

    `bare_names` is a regular expression of the names that are its own without `PROVIDER/` before them, of the
    providers that come with this package.
    """

    address: ProviderAddress
    dialects: Callable[[Settings], tuple[Dialect, ...]]
    bare_names: str = r"\b\B"

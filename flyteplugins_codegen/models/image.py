"""A container image that was built."""

from __future__ import annotations

from flyteplugins_codegen.models.base import Value


class BuiltImage(Value):
    """An image by its name, which names its content.

    `digest` is that of its manifest in the registry, None for an image that was not pushed. `was_there` means that
    nothing had to be built, or nothing pushed where that was asked for; then `log` has nothing to tell. `log` is what
    the builder printed, the last 256 KiB of it.
    """

    name: str
    digest: str | None = None
    log: str = ""
    was_there: bool = False
    seconds: float = 0.0

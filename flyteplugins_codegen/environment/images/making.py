"""Making an image: never one that is there already, then built, then pushed where that is asked for."""

from __future__ import annotations

import time

from flyteplugins_codegen.environment.images.contract import BuildOrder, ImageBuilder
from flyteplugins_codegen.environment.images.registry import find_digest
from flyteplugins_codegen.models.image import BuiltImage


def make_image(order: BuildOrder, builder: ImageBuilder, *, should_push: bool) -> BuiltImage:
    """Build, and push if asked, what is not there yet: the name names the content, so that it need not be compared.

    Raises what the builder raises.
    """
    started = time.monotonic()
    if should_push and (pushed := find_digest(order.name, order.login)):
        return BuiltImage(name=order.name, digest=pushed, was_there=True)
    was_there = builder.has(order.name)
    log = "" if was_there else builder.build(order)
    digest = None
    if should_push:
        log += builder.push(order)
        digest = find_digest(order.name, order.login)
    return BuiltImage(
        name=order.name,
        digest=digest,
        log=log,
        was_there=was_there and not should_push,
        seconds=time.monotonic() - started,
    )

"""Errors of ours as one message: what a person at a terminal reads instead of a chain of tracebacks."""

from __future__ import annotations

import functools
import logging
from collections.abc import Callable
from typing import ParamSpec, TypeVar

from flytekit.loggers import logger as flytekit_logger

from flyteplugins_codegen.errors import CodegenError

logger = logging.getLogger("flyteplugins_codegen.flyte")

P = ParamSpec("P")
T = TypeVar("T")


def readable_errors(function: Callable[P, T]) -> Callable[P, T]:
    """Let our own errors leave the function without the traceback and the causes below it.

    Their messages say who, what and the remedy; where in our code they arose is in flytekit's log at DEBUG, which
    `FLYTE_SDK_LOGGING_LEVEL=10` shows. Errors that are not ours, which are defects, pass unchanged.
    """

    @functools.wraps(function)
    def call(*args: P.args, **kwargs: P.kwargs) -> T:
        # `pyflyte run` prints tracebacks with rich, which leaves out the frames that hold this name.
        _rich_traceback_omit = True
        try:
            return function(*args, **kwargs)
        except CodegenError as error:
            flytekit_logger.debug("%s", error, exc_info=True)
            raise error.with_traceback(None) from None

    return call

"""How a service says no."""

from __future__ import annotations

import grpc


class RefusedError(Exception):
    """A request that is not granted, with the status that a client sees."""

    def __init__(self, status: grpc.StatusCode, message: str) -> None:
        super().__init__(message)
        self.status = status


def invalid(message: str) -> RefusedError:
    """A request that no change of the server's state would make valid."""
    return RefusedError(grpc.StatusCode.INVALID_ARGUMENT, message)


def missing(what: str) -> RefusedError:
    """A field that is empty."""
    return invalid(f"missing {what}")


def not_found(what: str) -> RefusedError:
    """Nothing of this id."""
    return RefusedError(grpc.StatusCode.NOT_FOUND, f"missing entity of type {what}")


def already_exists(message: str) -> RefusedError:
    """The same is there already."""
    return RefusedError(grpc.StatusCode.ALREADY_EXISTS, message)

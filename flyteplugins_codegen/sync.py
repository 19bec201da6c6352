"""One method that can be called in two ways: `agent.generate(...)` and `await agent.generate.aio(...)`."""

from __future__ import annotations

import contextlib
import contextvars
import functools
import threading
from collections.abc import Callable, Coroutine
from typing import Any, Concatenate, Generic, ParamSpec, TypeVar

S = TypeVar("S")
P = ParamSpec("P")
T = TypeVar("T")


def run_blocking(coroutine: Coroutine[Any, Any, T]) -> T:
    """Run a coroutine from synchronous code to its end, even inside a running event loop (a notebook, a Flyte task)."""
    import asyncio  # with its own imports it would take a fifth of the import time of the package

    if not _has_running_loop():
        return asyncio.run(coroutine)
    outcome: list[T] = []
    errors: list[BaseException] = []
    cancel: list[Callable[[], object]] = []

    async def cancellable() -> T:
        task = asyncio.current_task()
        assert task is not None  # noqa: S101 - `asyncio.run` makes one
        cancel.append(functools.partial(asyncio.get_running_loop().call_soon_threadsafe, task.cancel))
        return await coroutine

    def in_thread() -> None:
        try:
            outcome.append(asyncio.run(cancellable()))
        except BaseException as error:  # noqa: BLE001 - raised again in the calling thread
            errors.append(error)

    # The thread gets the caller's context, in which flytekit keeps its current execution.
    context = contextvars.copy_context()
    thread = threading.Thread(target=context.run, args=(in_thread,), name="flyteplugins_codegen")
    thread.start()
    try:
        thread.join()
    except BaseException:
        # Interrupted: the coroutine must stop too, so that it does not go on paying for model calls.
        for stop in cancel:
            stop()
        raise
    if errors:
        raise errors[0]
    return outcome[0]


async def in_daemon_thread(function: Callable[..., T], *arguments: Any) -> T:
    """Await a blocking function in a daemon thread. Unlike `to_thread` it never delays the end of loop or process."""
    import asyncio

    loop = asyncio.get_running_loop()
    future: asyncio.Future[T] = loop.create_future()

    def settle(action: Callable[[], None]) -> None:
        if not future.done():
            action()

    def work() -> None:
        try:
            action = functools.partial(future.set_result, function(*arguments))
        except BaseException as error:  # noqa: BLE001 - raised again in the waiting coroutine
            action = functools.partial(future.set_exception, error)
        with contextlib.suppress(RuntimeError):  # the loop is closed, and nothing waits for the result
            loop.call_soon_threadsafe(settle, action)

    context = contextvars.copy_context()
    threading.Thread(target=context.run, args=(work,), name="flyteplugins_codegen", daemon=True).start()
    return await future


def _has_running_loop() -> bool:
    import asyncio

    try:
        asyncio.get_running_loop()
    except RuntimeError:
        return False
    return True


class BoundMethod(Generic[P, T]):
    """A method of one object: a call blocks, and `.aio` is the coroutine function."""

    def __init__(self, function: Callable[P, Coroutine[Any, Any, T]]) -> None:
        self.aio = function
        functools.update_wrapper(self, function)

    def __call__(self, *args: P.args, **kwargs: P.kwargs) -> T:
        """Call the method and wait for its result."""
        return run_blocking(self.aio(*args, **kwargs))


class BothWays(Generic[S, P, T]):
    """Decorates an `async def` method, so that it can be called with and without `.aio`."""

    def __init__(self, function: Callable[Concatenate[S, P], Coroutine[Any, Any, T]]) -> None:
        self.function = function
        self.__doc__ = function.__doc__

    def __get__(self, instance: S, owner: type[S]) -> BoundMethod[P, T]:
        function = self.function
        if instance is None:
            # Accessed on the class, as documentation tools and pydantic do.
            return BoundMethod(function)  # type: ignore[arg-type]  # unbound: the caller passes the object itself
        return BoundMethod(functools.partial(function, instance))


class Threaded(Generic[P, T]):
    """Decorates a blocking function: a call blocks, and `.aio` awaits it in a thread of its own.

    If the coroutine is cancelled, the function still runs to its end.
    """

    def __init__(self, function: Callable[P, T]) -> None:
        self._function = function
        functools.update_wrapper(self, function)

    def __call__(self, *args: P.args, **kwargs: P.kwargs) -> T:
        """Call the method and wait for its result."""
        return self._function(*args, **kwargs)

    async def aio(self, *args: P.args, **kwargs: P.kwargs) -> T:
        """Await the result without blocking the event loop."""
        return await in_daemon_thread(functools.partial(self._function, *args, **kwargs))

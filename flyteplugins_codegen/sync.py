"""One method, two ways to call it: `result = agent.generate(...)` and `result = await agent.generate.aio(...)`."""

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
    """Run a coroutine to its end from synchronous code, inside a running event loop (a notebook, a Flyte task) too."""
    import asyncio  # with what it imports a fifth of what importing the package would take

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
        except BaseException as error:  # noqa: BLE001 - carried over to the calling thread, and raised there
            errors.append(error)

    # The caller's context comes along: flytekit keeps its current execution in it.
    context = contextvars.copy_context()
    thread = threading.Thread(target=context.run, args=(in_thread,), name="flyteplugins_codegen")
    thread.start()
    try:
        thread.join()
    except BaseException:
        # Interrupted: whoever waits no longer must not go on paying for model calls.
        for stop in cancel:
            stop()
        raise
    if errors:
        raise errors[0]
    return outcome[0]


async def in_daemon_thread(function: Callable[..., T], *arguments: Any) -> T:
    """Run a blocking function without holding up the end of the event loop or of the process, as `to_thread` would."""
    import asyncio

    loop = asyncio.get_running_loop()
    future: asyncio.Future[T] = loop.create_future()

    def settle(action: Callable[[], None]) -> None:
        if not future.done():
            action()

    def work() -> None:
        try:
            action = functools.partial(future.set_result, function(*arguments))
        except BaseException as error:  # noqa: BLE001 - carried over to the waiting coroutine
            action = functools.partial(future.set_exception, error)
        with contextlib.suppress(RuntimeError):  # the loop is closed: nobody waits any more
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
    """A method of one object: called it blocks, and `.aio` is the coroutine function."""

    def __init__(self, function: Callable[P, Coroutine[Any, Any, T]]) -> None:
        self.aio = function
        functools.update_wrapper(self, function)

    def __call__(self, *args: P.args, **kwargs: P.kwargs) -> T:
        """Call, and wait for the result."""
        return run_blocking(self.aio(*args, **kwargs))


class BothWays(Generic[S, P, T]):
    """Decorates an `async def` method."""

    def __init__(self, function: Callable[Concatenate[S, P], Coroutine[Any, Any, T]]) -> None:
        self.function = function
        self.__doc__ = function.__doc__

    def __get__(self, instance: S, owner: type[S]) -> BoundMethod[P, T]:
        function = self.function
        if instance is None:
            # Looked up on the class, as documentation tools and pydantic do.
            return BoundMethod(function)  # type: ignore[arg-type]  # unbound: the caller passes the object itself
        return BoundMethod(functools.partial(function, instance))


class Threaded(Generic[P, T]):
    """Decorates a function that blocks: called it does, and `.aio` awaits it in a thread of its own.

    A coroutine that is cancelled waits no longer; the function runs on to its end.
    """

    def __init__(self, function: Callable[P, T]) -> None:
        self._function = function
        functools.update_wrapper(self, function)

    def __call__(self, *args: P.args, **kwargs: P.kwargs) -> T:
        """Call, and wait for the result."""
        return self._function(*args, **kwargs)

    async def aio(self, *args: P.args, **kwargs: P.kwargs) -> T:
        """Await the result, with the event loop free for others."""
        return await in_daemon_thread(functools.partial(self._function, *args, **kwargs))

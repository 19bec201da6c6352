from __future__ import annotations

import asyncio
import contextvars
import threading
import time

import pytest

from flyteplugins_codegen.sync import BothWays, Threaded, in_daemon_thread, run_blocking

who = contextvars.ContextVar("who", default="nobody")


class Greeter:
    def __init__(self, greeting):
        self.greeting = greeting

    @BothWays
    async def greet(self, name: str, *, mark: str = "!") -> str:
        """Say hello."""
        await asyncio.sleep(0)
        if not name:
            raise ValueError("nobody to greet")
        return f"{self.greeting} {name}{mark}"

    @BothWays
    async def caller(self) -> str:
        return who.get()


def test_a_method_is_called_both_ways():
    greeter = Greeter("hello")
    assert greeter.greet("you", mark="?") == "hello you?"
    assert asyncio.run(greeter.greet.aio("you")) == "hello you!"


def test_a_blocking_call_works_inside_a_running_loop_and_keeps_the_callers_context():
    async def notebook_cell():
        who.set("a task")
        return Greeter("hi").greet("you"), Greeter("").caller()

    assert asyncio.run(notebook_cell()) == ("hi you!", "a task")


def test_an_error_reaches_the_caller_from_inside_a_running_loop():
    async def notebook_cell():
        return Greeter("hi").greet("")

    with pytest.raises(ValueError, match="nobody to greet"):
        asyncio.run(notebook_cell())


def test_an_interrupt_inside_a_running_loop_cancels_the_coroutine(monkeypatch):
    ended = []

    async def spends():
        try:
            await asyncio.sleep(60)
        except asyncio.CancelledError:
            ended.append("cancelled")
            raise

    real_join = threading.Thread.join

    def interrupted_join(thread, timeout=None):
        if thread.name == "flyteplugins_codegen" and not ended:
            time.sleep(0.1)
            raise KeyboardInterrupt
        real_join(thread, timeout)

    async def notebook_cell():
        monkeypatch.setattr(threading.Thread, "join", interrupted_join)
        with pytest.raises(KeyboardInterrupt):
            run_blocking(spends())

    asyncio.run(notebook_cell())
    deadline = time.monotonic() + 5
    while not ended and time.monotonic() < deadline:
        time.sleep(0.01)
    assert ended == ["cancelled"]


def test_a_daemon_thread_gives_its_value_and_its_error():
    assert asyncio.run(in_daemon_thread(divmod, 7, 2)) == (3, 1)
    with pytest.raises(ZeroDivisionError):
        asyncio.run(in_daemon_thread(divmod, 7, 0))


def test_a_daemon_thread_does_not_hold_up_the_end_of_its_loop():
    async def waits_briefly():
        with pytest.raises(asyncio.TimeoutError):
            await asyncio.wait_for(in_daemon_thread(time.sleep, 3), 0.05)

    began = time.monotonic()
    asyncio.run(waits_briefly())
    assert time.monotonic() - began < 2


def test_run_blocking_returns_the_coroutines_value():
    async def three():
        return 3

    assert run_blocking(three()) == 3


@Threaded
def square(number: int, *, wait_s: float = 0.0) -> tuple[int, bool]:
    """Multiply a number by itself, and say whether in the main thread."""
    time.sleep(wait_s)
    return number * number, threading.current_thread() is threading.main_thread()


def test_a_blocking_function_is_called_both_ways_and_keeps_its_name_and_help():
    assert square(3) == (9, True)
    assert asyncio.run(square.aio(3, wait_s=0.01)) == (9, False)
    assert (square.__name__, square.__doc__) == (
        "square",
        "Multiply a number by itself, and say whether in the main thread.",
    )


async def test_the_loop_goes_on_while_a_blocking_function_runs():
    slow = asyncio.ensure_future(square.aio(2, wait_s=0.2))
    await asyncio.sleep(0)
    assert not slow.done()
    assert (await slow)[0] == 4

from __future__ import annotations

import asyncio
import contextvars

import pytest

from flyteplugins_codegen.syncing import BothWays, run_blocking

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


def test_run_blocking_returns_the_coroutines_value():
    async def three():
        return 3

    assert run_blocking(three()) == 3

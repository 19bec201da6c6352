"""Equal requests at the same time are made once, also when the process that makes one is killed."""

from __future__ import annotations

import asyncio
import os
import signal
import subprocess
import sys
import time

import pytest

from flyteplugins_codegen.llm.concurrency import request_lock

HOLDER = """\
import asyncio, pathlib, sys
from flyteplugins_codegen.llm.concurrency import request_lock

async def hold():
    async with request_lock(pathlib.Path(sys.argv[1]), 1.0):
        print("held", flush=True)
        await asyncio.sleep(30)

asyncio.run(hold())
"""


async def test_claims_of_one_thing_are_held_one_after_another(tmp_path):
    held, most = 0, 0

    async def hold() -> None:
        nonlocal held, most
        async with request_lock(tmp_path / "new" / "claim", 30.0):
            held += 1
            most = max(most, held)
            await asyncio.sleep(0.01)
            held -= 1

    await asyncio.gather(*(hold() for _ in range(8)))
    assert most == 1
    assert list((tmp_path / "new").iterdir()) == []


async def test_a_claim_of_another_thing_is_not_waited_for(tmp_path):
    async with request_lock(tmp_path / "one", 5.0) as first, request_lock(tmp_path / "other", 5.0) as second:
        assert (first, second) == (0.0, 0.0)


async def test_who_waits_gets_the_claim_of_a_process_that_was_killed(tmp_path):
    command = [sys.executable, "-c", HOLDER, tmp_path / "claim"]
    with subprocess.Popen(command, stdout=subprocess.PIPE) as holder:  # noqa: ASYNC220 - nothing else runs meanwhile
        assert holder.stdout is not None
        assert holder.stdout.readline() == b"held\n"
        asyncio.get_running_loop().call_later(0.1, os.kill, holder.pid, signal.SIGKILL)
        async with request_lock(tmp_path / "claim", 20.0) as waited_s:
            assert holder.wait() == -signal.SIGKILL
    assert 0.0 < waited_s < 20.0


async def test_patience_ends_and_the_holder_keeps_its_claim(tmp_path):
    async with request_lock(tmp_path / "claim", 5.0):
        async with request_lock(tmp_path / "claim", 0.05) as waited_s:
            assert waited_s >= 0.05
        assert (tmp_path / "claim").exists()


async def test_a_place_that_takes_no_file_holds_nobody_up(tmp_path):
    (tmp_path / "file").touch()
    started = time.monotonic()
    async with request_lock(tmp_path / "file" / "claim", 60.0) as waited_s:
        assert waited_s == 0.0
    assert time.monotonic() - started < 30


async def test_who_is_cancelled_gives_its_claim_up(tmp_path):
    async def hold() -> None:
        async with request_lock(tmp_path / "claim", 5.0):
            await asyncio.sleep(60)

    holder = asyncio.create_task(hold())
    await asyncio.sleep(0.05)
    holder.cancel()
    with pytest.raises(asyncio.CancelledError):
        await holder
    async with request_lock(tmp_path / "claim", 5.0) as waited_s:
        assert waited_s == 0.0

"""Watching a started process."""

from __future__ import annotations

import os
import subprocess
import sys
from contextlib import ExitStack, closing

from flyteplugins_codegen.sandbox.process import ProcessWatcher, Stream, open_pipe


def test_a_process_that_has_ended_unnoticed_can_be_closed():
    with ExitStack() as stack:
        streams = []
        for _ in range(3):
            reading, writing = open_pipe(stack)
            writing.close()
            streams.append(Stream(reading.fileno(), 1))
        process = stack.enter_context(subprocess.Popen([sys.executable, "-c", ""]))
        with closing(ProcessWatcher(process, *streams)) as watcher:
            os.waitid(os.P_PID, process.pid, os.WEXITED | os.WNOWAIT)
        assert (watcher.ended, process.returncode) == (True, 0)

"""Starts pods as children of a process that has imported the code and done nothing else.

Most of what a task costs as a process is its imports. A child forked from here is as fresh as one started anew, but for
these: it has its own variables, its own memory, and ends with its task.
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
import tempfile
import traceback
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from propeller import StartPod


@contextmanager
def forked_pods(environment: Mapping[str, str]) -> Iterator[StartPod]:
    """A way to start pods for the time of the block; all of them have these variables, and their own."""
    with (
        subprocess.Popen(
            [sys.executable, __file__], env=environment, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True
        ) as process,
        tempfile.TemporaryDirectory() as folder,
    ):
        said = Path(folder, "said")

        def start(command: list[str], variables: Mapping[str, str]) -> tuple[int, str]:
            assert process.stdin
            assert process.stdout
            said.touch()
            process.stdin.write(json.dumps([command, dict(variables), str(said)]) + "\n")
            process.stdin.flush()
            return int(process.stdout.readline()), said.read_text()

        yield start
        process.communicate()


def main() -> None:
    """Fork for every line on stdin, and tell the status of each child."""
    import duckdb  # noqa: F401 - as below
    import openai  # noqa: F401 - as below
    from flytekit.bin import entrypoint
    from flytekit.core.type_engine import TypeEngine

    import flyteplugins_codegen.flyte.workflow  # noqa: F401 - what the children have in memory

    TypeEngine.lazy_import_transformers()
    programs = {"pyflyte-execute": entrypoint.execute_task_cmd, "pyflyte-map-execute": entrypoint.map_execute_task_cmd}
    for line in sys.stdin:
        command, variables, said = json.loads(line)
        child = os.fork()
        if child == 0:
            os.environ.update(variables)
            output = os.open(said, os.O_WRONLY | os.O_TRUNC)
            os.dup2(output, 1)
            os.dup2(output, 2)
            os.dup2(os.open(os.devnull, os.O_RDONLY), 0)
            os._exit(_status_of(programs[command[0]], command[1:]))  # to take the memory apart costs more than a task
        _, status = os.waitpid(child, 0)
        sys.stdout.write(f"{os.waitstatus_to_exitcode(status)}\n")
        sys.stdout.flush()


def _status_of(program: Any, arguments: list[str]) -> int:
    try:
        program.main(arguments)
    except SystemExit as end:
        return int(end.code or 0)
    except BaseException:  # noqa: BLE001 - the end of a process, told by its status
        traceback.print_exc()
        return 1
    finally:
        sys.stdout.flush()
        sys.stderr.flush()


if __name__ == "__main__":
    main()

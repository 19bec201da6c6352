"""Starts pods, and commands of `pyflyte`, as children of a process that has imported the code and done nothing else.

Most of what a task costs as a process is its imports. A child forked from here is as fresh as one started anew, but for
these: it has its own variables, its own memory, and ends with its task.

As a pod it has no variable of the machine that registered, but those of its image and of its template. What is read
from variables at import is the same for all: `propeller` sees to it that all templates have the same ones.
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

from propeller import MAP_ORDER, StartPod, registered_variables

# Where programs and certificates are, and how the network is reached.
_OF_THE_IMAGE = frozenset(
    {"PATH", "LANG", "PYTHONPATH", "REQUESTS_CA_BUNDLE", "SSL_CERT_DIR", "SSL_CERT_FILE"}
    | {"HTTPS_PROXY", "HTTP_PROXY", "NO_PROXY", "https_proxy", "http_proxy", "no_proxy"}
)


@contextmanager
def forked_pods(archive: Path | None = None, **more: str) -> Iterator[StartPod]:
    """A way to start pods of a package's tasks for the time of the block; `more` are variables of the image.

    All have a cache of uv in common, as those of a cluster reach the same mirror.
    """
    with tempfile.TemporaryDirectory() as folder:
        kept = {name: value for name, value in os.environ.items() if name in _OF_THE_IMAGE}
        image = {**kept, "HOME": folder, "UV_CACHE_DIR": f"{folder}/uv", "FLYTE_INTERNAL_EXECUTION_ID": "walk"}
        registered = registered_variables(archive) if archive else {}
        with _forker({**image, **registered, **more}, Path(folder, "said")) as start:
            yield start


@contextmanager
def _forker(environment: Mapping[str, str], said: Path) -> Iterator[StartPod]:
    with subprocess.Popen(
        [sys.executable, __file__], env=environment, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True
    ) as process:

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
    from flytekit.clis.sdk_in_container import pyflyte
    from flytekit.core.type_engine import TypeEngine

    import flyteplugins_codegen.flyte.workflow  # noqa: F401 - what the children have in memory

    TypeEngine.lazy_import_transformers()
    programs = {
        "pyflyte": pyflyte.main,
        "pyflyte-execute": entrypoint.execute_task_cmd,
        "pyflyte-map-execute": entrypoint.map_execute_task_cmd,
    }
    for line in sys.stdin:
        command, variables, said = json.loads(line)
        child = os.fork()
        if child == 0:
            os.environ.update(variables)
            _order_maps(backwards=variables.get(MAP_ORDER) == "backwards")
            output = os.open(said, os.O_WRONLY | os.O_TRUNC)
            os.dup2(output, 1)
            os.dup2(output, 2)
            os.dup2(os.open(os.devnull, os.O_RDONLY), 0)
            os._exit(_status_of(programs[command[0]], command[1:]))  # to take the memory apart costs more than a task
        _, status = os.waitpid(child, 0)
        sys.stdout.write(f"{os.waitstatus_to_exitcode(status)}\n")
        sys.stdout.flush()


def _order_maps(*, backwards: bool) -> None:
    """Give the entries of every map in an order that we choose: protobuf's is any, but the same in all children."""
    from flytekit.models.literals import LiteralMap

    convert = LiteralMap.from_flyte_idl.__func__  # type: ignore[attr-defined]  # a class method has it

    def from_flyte_idl(kind: type[LiteralMap], message: Any) -> LiteralMap:
        return kind(dict(sorted(convert(kind, message).literals.items(), reverse=backwards)))

    LiteralMap.from_flyte_idl = classmethod(from_flyte_idl)  # type: ignore[assignment]  # one method for another


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

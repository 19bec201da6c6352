"""Starts the judge: `python /app/judge.py`, with an archive of its modules beside it, and the job on stdin.

The archive holds the modules' source, and the code of one version of Python made from it. An interpreter of that
version need not compile, and none has to search for each module, which saves 5 ms in all. A warm worker has imported
the modules before it becomes the process of a job.
"""

from __future__ import annotations

import marshal
import sys
from _frozen_importlib_external import MAGIC_NUMBER

ARCHIVE = "judge.modules"


def main() -> None:
    """Import the modules, then judge."""
    if "sequence" not in sys.modules:
        take_modules(f"{sys.path[0]}/{ARCHIVE}")
    sys.modules["sequence"].main()


def take_modules(path: str) -> None:
    """Import every module of the archive; each comes after those that it imports."""
    with open(path, "rb") as file:  # noqa: PTH123  -- pathlib would cost each start 5 ms
        version, compiled, sources = marshal.load(file)  # noqa: S302  -- our own file
    codes = marshal.loads(compiled) if version == MAGIC_NUMBER else {}  # noqa: S302  -- the same
    for name, source in sources.items():
        code = codes.get(name) or compile(source, f"{name}.py", "exec", dont_inherit=True)
        sys.modules[name] = module = type(sys)(name)
        exec(code, vars(module))  # noqa: S102  -- the same


if __name__ == "__main__":
    main()

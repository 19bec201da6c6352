"""DuckDB as this room uses it: in memory, with bounds, and able to touch neither files nor the network."""

from __future__ import annotations

import atexit
import functools
import os
import shutil
import tempfile
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from typing import Any

MEMORY_LIMIT = "160MB"


@contextmanager
def opened(tables: Mapping[str, Any]) -> Iterator[Any]:
    """A connection that knows these Arrow tables and streams by their names, and nothing else."""
    connection = _database(os.getpid()).cursor()
    try:
        for name, table in tables.items():
            connection.register(name, table)
        yield connection
    finally:
        connection.close()


@functools.cache
def _database(process: int) -> Any:
    """One database a process, a forked one too: to open it takes longer than most questions that it is asked."""
    import duckdb

    folder = tempfile.mkdtemp(prefix=f"codegen-{process}-")
    atexit.register(_remove, folder, process)
    database = duckdb.connect(
        ":memory:",
        config={
            "memory_limit": MEMORY_LIMIT,
            "temp_directory": folder,
            "preserve_insertion_order": False,
            "autoinstall_known_extensions": False,
            "autoload_known_extensions": False,
        },
    )
    # Last, and for good: what a sample holds can never become a path that the database opens.
    database.execute("SET enable_external_access = false; SET lock_configuration = true")
    return database


def _remove(folder: str, process: int) -> None:
    # A forked process leaves what its parent still uses.
    if os.getpid() == process:
        shutil.rmtree(folder, ignore_errors=True)

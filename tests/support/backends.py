"""Every sandbox there is, by a name for the tests, each run as its jobs usually are."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from contextlib import closing, contextmanager
from dataclasses import dataclass

from flyteplugins_codegen.models.environment import InstalledEnvironment
from flyteplugins_codegen.sandbox import Execution, Job, Sandbox, open_sandbox
from flyteplugins_codegen.sandbox.interpreter import find_interpreter
from flyteplugins_codegen.sandbox.unisolated import Unisolated

ISOLATING = ("bubblewrap", "warm")
EVERY = (*ISOLATING, "shared", "plain")


@dataclass(frozen=True)
class Warm:
    """A sandbox whose single jobs go the way of many."""

    cold: Sandbox

    @property
    def kind(self) -> str:
        """Of what it is made."""
        return self.cold.kind

    def run(self, job: Job) -> Execution:
        """Run one job as one of many."""
        return self.cold.map([job])[0]

    def map(
        self, jobs: Iterable[Job], *, workers: int = 2, on_result: Callable[[int, Execution], None] | None = None
    ) -> list[Execution]:
        """Run many jobs."""
        return self.cold.map(jobs, workers=workers, on_result=on_result)

    def close(self) -> None:
        """End it."""
        self.cold.close()


@contextmanager
def open_backend(name: str, environment: InstalledEnvironment | None = None) -> Iterator[Sandbox]:
    """The sandbox of that name.

    `bubblewrap` is cold and `warm` its `map`; `shared` is kind `none` with the host's root shared through bubblewrap,
    `plain` is kind `none` where no namespace can be had.
    """
    if name == "plain":
        with closing(Unisolated(find_interpreter(environment))) as plain:
            yield plain
        return
    with open_sandbox("none" if name == "shared" else "bubblewrap", environment=environment) as opened:
        yield Warm(opened) if name == "warm" else opened

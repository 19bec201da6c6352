"""Every sandbox there is, by a name for the tests, each run as its jobs usually are."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from contextlib import ExitStack, closing, contextmanager
from dataclasses import dataclass

import pytest

from flyteplugins_codegen.models.environment import InstalledEnvironment
from flyteplugins_codegen.models.settings import SandboxKind
from flyteplugins_codegen.sandbox import Execution, Job, Sandbox, open_sandbox
from flyteplugins_codegen.sandbox.python_files import find_interpreter
from flyteplugins_codegen.sandbox.unisolated import Unisolated

ISOLATING = ("bubblewrap", "warm", "container")
UNGROUPED = "ungrouped"


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
def open_backend(
    name: str, environment: InstalledEnvironment | None = None, image: Callable[[], str] = str
) -> Iterator[Sandbox]:
    """The sandbox of that name; `image` names the image of containers, once one is wanted.

    `bubblewrap` is cold, `warm` is its `map`, and `ungrouped` lacks control groups, as on a machine that allows none.
    `shared` is kind `none` with the host's root shared through bubblewrap, `plain` where no namespace can be had.
    """
    with ExitStack() as stack:
        if name == "plain":
            yield stack.enter_context(closing(Unisolated(find_interpreter(environment))))
            return
        if name == UNGROUPED:
            patch = stack.enter_context(pytest.MonkeyPatch.context())
            patch.setattr("flyteplugins_codegen.sandbox.opening.find_cgroups", lambda: None)
        chosen = image() if name == "container" else None
        opened = stack.enter_context(open_sandbox(_KINDS[name], environment=environment, image=chosen))
        yield Warm(opened) if name == "warm" else opened


_KINDS: dict[str, SandboxKind] = {
    "bubblewrap": "bubblewrap",
    "warm": "bubblewrap",
    UNGROUPED: "bubblewrap",
    "container": "container",
    "shared": "none",
}

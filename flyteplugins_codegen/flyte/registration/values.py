"""What is known of a registered solution."""

from __future__ import annotations

import datetime as dt

from flyteplugins_codegen.models.base import Value
from flyteplugins_codegen.models.image import BuiltImage


class Provenance(Value):
    """Where a solution comes from. `registered_by` is a user's name, or in a pod the execution.

    No sample, no conversation and no secret is in it: whoever may look at a task may read it.
    """

    prompt: str
    model: str
    registered_by: str
    attempts: int = 1
    model_calls: int = 0
    cost_usd: float | None = None
    package_version: str = ""


class RegisteredSolution(Value):
    """A solution by its id in the control plane. `created_at` is when it was first registered, by the server's clock.

    `launch_plan` is `name@version` of the plan that was registered with it, if one was; `built` the image that was
    built for it, with what the builder printed.
    """

    project: str
    domain: str
    name: str
    version: str
    console_url: str
    provenance: Provenance
    created_at: dt.datetime | None = None
    launch_plan: str | None = None
    built: BuiltImage | None = None

    @property
    def id(self) -> str:
        """`project:domain:name:version`, which `load_solution` takes."""
        return f"{self.project}:{self.domain}:{self.name}:{self.version}"

    def __str__(self) -> str:
        """The id, and where to look at it."""
        return f"{self.id} ({self.console_url})"

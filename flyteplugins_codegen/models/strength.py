"""How well tests tell a right solution from one that is slightly wrong."""

from __future__ import annotations

from pydantic import Field

from flyteplugins_codegen.models.base import Value


class TestStrength(Value):
    """What became of the mutants of a solution that passed its tests.

    `share` is `killed / total`, 0 for tests that assert nothing, and None where nothing could be measured. `total` are
    the mutants that were tried, of `made`. A mutant that ran out of time is killed too. `survivors` says of each that
    no test failed for what it is, as `line 12, total: ...`.
    """

    __test__ = False

    share: float | None = Field(default=None, ge=0, le=1)
    killed: int = 0
    total: int = 0
    made: int = 0
    survivors: tuple[str, ...] = ()
    wall_s: float = 0.0

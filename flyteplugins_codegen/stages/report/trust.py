"""How far the verdict can be trusted: how strong the generated tests are, and which of them judge no more."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final

from flyteplugins_codegen.models.run import DroppedTest
from flyteplugins_codegen.stages.report.markup import bullets, fitting

_MOST_DROPPED: Final = 60


def render_dropped(dropped: Sequence[DroppedTest]) -> str:
    """The generated tests that were found wrong, each with the reason."""
    return bullets(
        f"<code>{fitting(test.name, 300)}</code> "
        f'<span class="muted">after attempt {test.attempt}: {fitting(test.reason, 600)}</span>'
        for test in dropped[:_MOST_DROPPED]
    )

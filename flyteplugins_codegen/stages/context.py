"""Stage `extract_context`: what the data looks like."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path

from flyteplugins_codegen.data.extracting import extract_data_context
from flyteplugins_codegen.models.profile import DataContext
from flyteplugins_codegen.models.request import Request
from flyteplugins_codegen.models.settings import Settings
from flyteplugins_codegen.stages.privacy import fakes_key
from flyteplugins_codegen.stages.progress import stage
from flyteplugins_codegen.stages.remember import Shelf, remember

_CONTEXTS = Shelf("contexts", ("data",))


def extract_context(settings: Settings, request: Request, samples: Mapping[str, Path]) -> DataContext:
    """Profile every sample. Kept by the samples' content, so that an unchanged sample is never read twice.

    Raises:
        SampleError: a sample that cannot be read as what its name says.
    """
    with stage("extract context") as note:
        content = [
            [sample.model_dump() for sample in request.samples],
            settings.max_sample_rows,
            settings.privacy_rules.model_dump(),
        ]

        def profile() -> DataContext:
            rules, key = settings.privacy_rules, fakes_key(request)
            return extract_data_context(samples, settings.max_sample_rows, rules, key=key)

        context = remember(settings, _CONTEXTS, content, DataContext, profile)
        note.detail = (
            ", ".join(_told(sample.name, sample.row_count) for sample in context.samples.values()) or "no samples"
        )
        return context


def _told(name: str, row_count: int | None) -> str:
    return f"{name}: {row_count:,} rows" if row_count is not None else name

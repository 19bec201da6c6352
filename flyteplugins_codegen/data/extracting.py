"""The samples of a job as the context of a prompt: profiled, related, masked, written down."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from flyteplugins_codegen.data.context import MAX_TOKENS, render_context
from flyteplugins_codegen.data.privacy.fakes import Fakes, masking_key
from flyteplugins_codegen.data.privacy.masking import Masker, mask_profile
from flyteplugins_codegen.data.profile import Profiled, profile_with_rows
from flyteplugins_codegen.errors import RequestError
from flyteplugins_codegen.models.privacy import Privacy
from flyteplugins_codegen.models.profile import DataContext, ForeignKey
from flyteplugins_codegen.store import digest


def extract_data_context(
    samples: Mapping[str, Any],
    max_sample_rows: int = 100,
    privacy: str | Privacy = "masked",
    *,
    max_tokens: int = MAX_TOKENS,
    key: bytes | None = None,
) -> DataContext:
    """The context of a prompt: what `profile_sample` tells of every sample, and a text that a model may see.

    `.samples` are the profiles as they are; `.text` shows them by the rules of `privacy` (`masked`, `rows`, `profile`,
    or a `Privacy` that names columns too), in about `max_tokens` tokens, and at most `max_sample_rows` rows of each;
    `.masking` tells what was replaced; `.digest` is the SHA-256 of all this. Fakes are made by `key`, by default one
    made of the samples: the same samples have the same text.

    Raises:
        RequestError: an unknown mode of privacy.
        SampleError: a sample that cannot be read.
    """
    rules = _rules(privacy)
    profiled = [profile_with_rows(value, name, max_sample_rows) for name, value in samples.items()]
    profiles = {found.profile.name: found.profile for found in profiled}
    masker = Masker(rules, Fakes(key or masking_key(*(profile.model_dump_json() for profile in profiles.values()))))
    masked = {name: mask_profile(profile, masker) for name, profile in profiles.items()}
    foreign_keys = _foreign_keys(profiled)
    text = render_context([profile for profile, _ in masked.values()], max_sample_rows, foreign_keys, max_tokens)
    context = DataContext(
        samples=profiles,
        foreign_keys=foreign_keys,
        masking={name: report for name, (_, report) in masked.items()},
        text=text,
    )
    return context.model_copy(update={"digest": digest(context.model_dump_json())})


def _rules(privacy: str | Privacy) -> Privacy:
    if isinstance(privacy, Privacy):
        return privacy
    if privacy not in ("masked", "rows", "profile"):
        raise RequestError(f"privacy={privacy!r} is no mode; pass 'masked', 'rows' or 'profile'")
    return Privacy.model_validate({"mode": privacy})


def _foreign_keys(profiled: list[Profiled]) -> tuple[ForeignKey, ...]:
    if sum(found.rows is not None for found in profiled) < 2:  # noqa: PLR2004 - a key refers to another table
        return ()
    from flyteplugins_codegen.data.foreign_keys import find_foreign_keys

    return find_foreign_keys(profiled)

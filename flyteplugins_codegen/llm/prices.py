"""What a call costs: the user's own prices first, then those of `genai-prices`, which come with its wheel.

https://github.com/pydantic/genai-prices; nothing is fetched. A price that nobody knows is None, never 0.
"""

from __future__ import annotations

import functools
from collections.abc import Iterator, Mapping
from typing import TypeAlias

from pydantic import Field

from flyteplugins_codegen.errors import UnknownModelError
from flyteplugins_codegen.llm.registry import resolve_name
from flyteplugins_codegen.models.base import Value
from flyteplugins_codegen.models.conversation import Usage

_MILLION = 1_000_000


class Price(Value):
    """US dollars for a million tokens. Cached input costs as much as other input, unless said otherwise."""

    input_usd: float = Field(ge=0, allow_inf_nan=False)
    output_usd: float = Field(ge=0, allow_inf_nan=False)
    cached_usd: float | None = Field(default=None, ge=0, allow_inf_nan=False)

    def cost_usd(self, usage: Usage) -> float:
        """What this many tokens cost."""
        cached = min(usage.cached_tokens, usage.input_tokens)
        cached_usd = self.input_usd if self.cached_usd is None else self.cached_usd
        total = (usage.input_tokens - cached) * self.input_usd + cached * cached_usd
        return (total + usage.output_tokens * self.output_usd) / _MILLION


Prices: TypeAlias = Mapping[str, Price]


def cost_usd(model: str, usage: Usage, prices: Prices | None = None, *, reported: str = "") -> float | None:
    """What a call cost in US dollars, None where its price is unknown.

    `model` is the name as the settings give it, `reported` the name that the provider answered by, which is looked up
    first. `prices` are the user's own, by either name, with the provider before it or without.
    """
    names = list(_names(model, reported))
    for provider, model_id in names:
        own = (prices or {}).get(f"{provider}/{model_id}") or (prices or {}).get(model_id)
        if own is not None:
            return own.cost_usd(usage)
    known = (_listed_cost_usd(provider, model_id, usage) for provider, model_id in names if provider)
    return next((cost for cost in known if cost is not None), None)


def _names(model: str, reported: str) -> Iterator[tuple[str, str]]:
    """The names by which a price may be known, each with its provider, "" where that is unknown."""
    provider, model_id = _resolved(model)
    if reported:
        yield (provider, reported) if provider else _resolved(reported)
    yield provider, model_id


def _resolved(name: str) -> tuple[str, str]:
    try:
        return resolve_name(name, has_address=False)
    except UnknownModelError:
        return "", name


def _listed_cost_usd(provider: str, model_id: str, usage: Usage) -> float | None:
    if not _is_listed(provider, model_id):
        return None
    import genai_prices

    counted = genai_prices.Usage(
        input_tokens=usage.input_tokens,
        cache_read_tokens=min(usage.cached_tokens, usage.input_tokens),
        output_tokens=usage.output_tokens,
    )
    return float(genai_prices.calc_price(counted, model_id, provider_id=provider).total_price)


@functools.lru_cache(maxsize=256)
def _is_listed(provider: str, model_id: str) -> bool:
    """Whether the library knows the model: asked once, for its search goes through some thousand patterns."""
    import genai_prices

    try:
        genai_prices.calc_price(genai_prices.Usage(input_tokens=1, output_tokens=1), model_id, provider_id=provider)
    except LookupError:
        return False
    return True

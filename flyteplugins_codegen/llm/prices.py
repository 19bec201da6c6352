"""What a call costs: the user's own prices first, then those of `genai-prices`, which come with its wheel.

https://github.com/pydantic/genai-prices; nothing is fetched. A price that nobody knows is None, never 0.
"""

from __future__ import annotations

import functools
from collections.abc import Iterable, Iterator, Mapping
from typing import TypeAlias

from flyteplugins_codegen.errors import UnknownModelError
from flyteplugins_codegen.llm.registry import resolve_name
from flyteplugins_codegen.models.budget import Price
from flyteplugins_codegen.models.conversation import ModelCall, Usage

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


def priced(calls: Iterable[ModelCall], model: str, prices: Prices) -> tuple[ModelCall, ...]:
    """The calls with what each cost this time: nothing where the reply was kept from an earlier run."""

    def cost(call: ModelCall) -> float | None:
        return 0.0 if call.is_reused else cost_usd(model, call.usage, prices, reported=call.model)

    return tuple(call.model_copy(update={"cost_usd": cost(call)}) for call in calls)


def total_cost_usd(calls: Iterable[ModelCall]) -> float | None:
    """What the calls cost in US dollars together; None where the price of one is unknown."""
    return add_costs(*(call.cost_usd for call in calls))


def add_costs(*costs: float | None) -> float | None:
    """The sum; None where one of them is unknown."""
    known = [cost for cost in costs if cost is not None]
    return sum(known, 0.0) if len(known) == len(costs) else None


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
        cache_write_tokens=min(usage.cache_write_tokens, max(usage.input_tokens - usage.cached_tokens, 0)),
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

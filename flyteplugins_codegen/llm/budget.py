"""A model that asks only while there is budget left; several models may draw on one account."""

from __future__ import annotations

import asyncio
import functools
import threading
import time
from collections.abc import Callable, Iterable, Iterator, Mapping
from typing import Final, TypeAlias

from flyteplugins_codegen.errors import BudgetSpentError, DeadlineError, ProviderError, UnknownModelError
from flyteplugins_codegen.llm.protocol import Model, ModelReply, ModelRequest
from flyteplugins_codegen.llm.registry import resolve_name
from flyteplugins_codegen.llm.wire import estimated_input
from flyteplugins_codegen.models.spending import Budget, ModelCall, Price, Spending, Usage

# What a call costs: the user's own prices first, then those of `genai-prices`, which come with its wheel.

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


_ASSUMED_OUTPUT_TOKENS: Final = 16_384
_OUTPUT_PARAMETERS: Final = ("max_completion_tokens", "max_tokens", "max_output_tokens")
_LOOK_EVERY_S: Final = 0.02


class Account:
    """What was spent of one budget, and what calls in flight may spend yet. Safe to use from several threads and loops.

    A call is let through where the least that it takes, its input, still fits beside all that the others may take at
    most. So at any time one call can exceed the budget, and never two. `spent` is what went before, in other processes.
    `on_call` is called right before each call that is let through: there is time now for what can be done beside it.
    """

    def __init__(
        self, budget: Budget, spent: Spending | None = None, on_call: Callable[[], None] = lambda: None
    ) -> None:
        self.budget = budget
        self._on_call = on_call
        self._spent = spent or Spending()
        self._in_flight: list[Spending] = []
        self._waiting: list[object] = []
        self._lock = threading.Lock()
        self._opened_at = time.monotonic() - self._spent.wall_s

    @property
    def spent(self) -> Spending:
        """What has been spent so far by calls that have ended."""
        with self._lock:
            return self._spent

    @property
    def left_s(self) -> float | None:
        """Seconds of `max_wall_s` that are left, None where it bounds nothing."""
        if self.budget.max_wall_s is None:
            return None
        return self.budget.max_wall_s - (time.monotonic() - self._opened_at)

    async def reserve(self, least: Spending, most: Spending) -> None:
        """Set aside what a call may spend, waiting for calls in flight where it depends on them whether it fits.

        Who came first is let through first: a run asks for what it needs most before anything else.

        Raises BudgetSpentError where it does not fit.
        """
        place = object()
        with self._lock:
            self._waiting.append(place)
        try:
            # Looked at in turn, for those who wait may be in several event loops.
            while not self._try_reserve(place, least, most):  # noqa: ASYNC110 - an event belongs to one loop
                await asyncio.sleep(_LOOK_EVERY_S)
        finally:
            with self._lock:
                self._waiting.remove(place)
        self._on_call()

    def settle(self, reserved: Spending, spent: Spending) -> None:
        """Replace what was set aside by what was spent."""
        with self._lock:
            self._in_flight.remove(reserved)
            self._spent += spent

    def _try_reserve(self, place: object, least: Spending, most: Spending) -> bool:
        with self._lock:
            flaw = self._flaw(self._spent + least)
            if flaw is not None:
                raise BudgetSpentError(f"{flaw}; {self._told()}", self._spent)
            if self._waiting[0] is not place:
                return False
            if self._in_flight and self._flaw(sum(self._in_flight, self._spent) + least) is not None:
                return False
            self._in_flight.append(most)
            return True

    def _flaw(self, total: Spending) -> str | None:
        budget, left_s = self.budget, self.left_s
        if left_s is not None and left_s <= 0:
            return f"max_wall_s={budget.max_wall_s:g} is over"
        if budget.max_calls is not None and total.calls > budget.max_calls:
            return f"max_calls={budget.max_calls} is spent"
        if budget.max_tokens is not None and total.tokens > budget.max_tokens:
            return f"max_tokens={budget.max_tokens} leaves no room for the next call"
        return None if budget.max_cost_usd is None else _cost_flaw(total.cost_usd, budget.max_cost_usd)

    def _told(self) -> str:
        cost = "" if self._spent.cost_usd is None else f", {self._spent.cost_usd:.4g} USD"
        return f"spent so far: {self._spent.calls} calls, {self._spent.tokens} tokens{cost}; raise the budget to go on"


def _cost_flaw(cost: float | None, max_cost_usd: float) -> str | None:
    if cost is None:
        return (
            f"max_cost_usd={max_cost_usd:g} cannot be kept to, for the price of a call is unknown: "
            "give the model's price, or bound max_tokens instead"
        )
    return f"max_cost_usd={max_cost_usd:g} leaves no room for the next call" if cost > max_cost_usd else None


class BudgetedModel:
    """A model around a model, placed below what remembers replies: a reply that was paid for before is free."""

    def __init__(self, model: Model, account: Account, prices: Prices | None = None) -> None:
        self._model = model
        self._account = account
        self._prices = prices

    @property
    def name(self) -> str:
        """The name of the model that is asked."""
        return self._model.name

    async def complete(self, request: ModelRequest) -> ModelReply:
        """See `Model`. Raises BudgetSpentError, before anything is sent, where the budget does not allow the call."""
        least = self._expected(request, output_tokens=0)
        most = self._expected(request, output_tokens=_longest_output(request))
        await self._account.reserve(least, most)
        spent = Spending(calls=1)  # a call that fails is a call
        try:
            reply = await self._model.complete(_bounded(request, self._account.left_s))
            spent = self._spending(reply.usage, reply.model)
        except (DeadlineError, asyncio.CancelledError) as error:
            # The provider goes on with it and tells nobody what it takes: its input at least.
            spent = _with_tokens(least, self._spending(_broken(error), ""))
            raise
        except ProviderError as error:
            spent = self._spending(_broken(error), "")
            raise
        finally:
            self._account.settle(most, spent)
        return reply

    def _expected(self, request: ModelRequest, output_tokens: int) -> Spending:
        """What a call will take; a price that is not known by the model's name alone may be known by its reply's."""
        usage = Usage(input_tokens=estimated_input(request), output_tokens=output_tokens)
        expected = self._spending(usage, "")
        return expected if expected.cost_usd is not None else expected.model_copy(update={"cost_usd": 0.0})

    def _spending(self, usage: Usage, reported: str) -> Spending:
        cost = None
        if self._account.budget.max_cost_usd is not None:  # else nobody asks, and the list of prices is large
            cost = cost_usd(self.name, usage, self._prices, reported=reported)
        return Spending(calls=1, tokens=usage.input_tokens + usage.output_tokens, cost_usd=cost)


def _broken(error: BaseException) -> Usage:
    """What tries that broke off are known to have taken."""
    usage = getattr(error, "usage", None)
    return usage if isinstance(usage, Usage) else Usage()


def _with_tokens(spent: Spending, broken: Spending) -> Spending:
    """Tries of one call are one call."""
    return (spent + broken).model_copy(update={"calls": spent.calls})


def _longest_output(request: ModelRequest) -> int:
    given = [request.params.get(name) for name in _OUTPUT_PARAMETERS]
    return next((value for value in given if isinstance(value, int) and value > 0), _ASSUMED_OUTPUT_TOKENS)


def _bounded(request: ModelRequest, left_s: float | None) -> ModelRequest:
    if left_s is None or left_s >= request.deadline_s:
        return request
    return request.model_copy(update={"deadline_s": max(left_s, 0.001)})

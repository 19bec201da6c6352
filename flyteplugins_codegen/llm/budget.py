"""Budgets and prices: a model that makes calls only while there is budget left, and what a call costs.

Several models may share one account. Prices are the user's own first, then those of `genai-prices`, which come with its
wheel.
"""

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

Prices: TypeAlias = Mapping[str, Price]

_ASSUMED_OUTPUT_TOKENS: Final = 16_384
_OUTPUT_PARAMETERS: Final = ("max_completion_tokens", "max_tokens", "max_output_tokens")
_POLL_S: Final = 0.02


def cost_usd(model: str, usage: Usage, prices: Prices | None = None, *, reported: str = "") -> float | None:
    """The cost of a call in US dollars, None where the price is unknown.

    `model` is the name as in the settings; `reported` is the name in the provider's reply, which is looked up first.
    `prices` are the user's own, by either name, with or without the provider before it.
    """
    names = list(_names(model, reported))
    for provider, model_id in names:
        price = (prices or {}).get(f"{provider}/{model_id}") or (prices or {}).get(model_id)
        if price is not None:
            return price.cost_usd(usage)
    known = (_listed_cost_usd(provider, model_id, usage) for provider, model_id in names if provider)
    return next((cost for cost in known if cost is not None), None)


def priced(calls: Iterable[ModelCall], model: str, prices: Prices) -> tuple[ModelCall, ...]:
    """The calls with the cost of each in this run: 0 for a reply from the cache."""

    def cost(call: ModelCall) -> float | None:
        return 0.0 if call.is_reused else cost_usd(model, call.usage, prices, reported=call.model)

    return tuple(call.model_copy(update={"cost_usd": cost(call)}) for call in calls)


def total_cost_usd(calls: Iterable[ModelCall]) -> float | None:
    """The cost of all calls in US dollars; None where the price of one is unknown."""
    return add_costs(*(call.cost_usd for call in calls))


def add_costs(*costs: float | None) -> float | None:
    """The sum; None where one of them is unknown."""
    known = [cost for cost in costs if cost is not None]
    return sum(known, 0.0) if len(known) == len(costs) else None


def _names(model: str, reported: str) -> Iterator[tuple[str, str]]:
    """The names to look a price up by, as pairs of provider and model; the provider is "" where it is unknown."""
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
    """Whether the library knows the model; cached, because its search tries some thousand patterns."""
    import genai_prices

    try:
        genai_prices.calc_price(genai_prices.Usage(input_tokens=1, output_tokens=1), model_id, provider_id=provider)
    except LookupError:
        return False
    return True


class BudgetAccount:
    """What was spent of one budget, and what calls in flight may still spend. Safe for several threads and event loops.

    A call may start if the least that it can spend, its input, fits into the budget together with the most that the
    calls in flight can spend. So one call at a time can exceed the budget, and never two. `spent` is what other
    processes spent before. `on_call` is called right before each call, for work that can be done during the call.
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
        """What the calls that have ended spent."""
        with self._lock:
            return self._spent

    @property
    def remaining_s(self) -> float | None:
        """The seconds that remain of `max_wall_s`, None where it is not set."""
        if self.budget.max_wall_s is None:
            return None
        return self.budget.max_wall_s - (time.monotonic() - self._opened_at)

    async def reserve(self, least: Spending, most: Spending) -> None:
        """Reserve what a call may spend; wait for calls in flight if what they spend decides whether it fits.

        Callers are served in the order of their arrival: a run asks first for what it needs most.

        Raises BudgetSpentError where it does not fit.
        """
        ticket = object()
        with self._lock:
            self._waiting.append(ticket)
        try:
            # By polling, because the waiting callers may be in several event loops.
            while not self._try_reserve(ticket, least, most):  # noqa: ASYNC110 - an event belongs to one loop
                await asyncio.sleep(_POLL_S)
        finally:
            with self._lock:
                self._waiting.remove(ticket)
        self._on_call()

    def settle(self, reserved: Spending, spent: Spending) -> None:
        """Replace what was reserved by what was spent."""
        with self._lock:
            self._in_flight.remove(reserved)
            self._spent += spent

    def _try_reserve(self, ticket: object, least: Spending, most: Spending) -> bool:
        with self._lock:
            reason = self._exceeded(self._spent + least)
            if reason is not None:
                raise BudgetSpentError(f"{reason}; {self._summary()}", self._spent)
            if self._waiting[0] is not ticket:
                return False
            if self._in_flight and self._exceeded(sum(self._in_flight, self._spent) + least) is not None:
                return False
            self._in_flight.append(most)
            return True

    def _exceeded(self, total: Spending) -> str | None:
        """The limit that this total exceeds, as the beginning of an error message; None if it fits."""
        budget, remaining_s = self.budget, self.remaining_s
        if remaining_s is not None and remaining_s <= 0:
            return f"max_wall_s={budget.max_wall_s:g} is over"
        if budget.max_calls is not None and total.calls > budget.max_calls:
            return f"max_calls={budget.max_calls} is spent"
        if budget.max_tokens is not None and total.tokens > budget.max_tokens:
            return f"max_tokens={budget.max_tokens} leaves no room for the next call"
        return None if budget.max_cost_usd is None else _exceeded_cost(total.cost_usd, budget.max_cost_usd)

    def _summary(self) -> str:
        cost = "" if self._spent.cost_usd is None else f", {self._spent.cost_usd:.4g} USD"
        return f"spent so far: {self._spent.calls} calls, {self._spent.tokens} tokens{cost}; raise the budget to go on"


def _exceeded_cost(cost: float | None, max_cost_usd: float) -> str | None:
    if cost is None:
        return (
            f"max_cost_usd={max_cost_usd:g} cannot be kept to, for the price of a call is unknown: "
            "give the model's price, or bound max_tokens instead"
        )
    return f"max_cost_usd={max_cost_usd:g} leaves no room for the next call" if cost > max_cost_usd else None


class BudgetedModel:
    """A model around a model, below the cache of replies, so that a cached reply spends nothing."""

    def __init__(self, model: Model, account: BudgetAccount, prices: Prices | None = None) -> None:
        self._model = model
        self._account = account
        self._prices = prices

    @property
    def name(self) -> str:
        """The name of the model that is asked."""
        return self._model.name

    async def complete(self, request: ModelRequest) -> ModelReply:
        """See `Model`. Raises BudgetSpentError, before anything is sent, where the budget does not allow the call."""
        least = self._estimate(request, output_tokens=0)
        most = self._estimate(request, output_tokens=_max_output_tokens(request))
        await self._account.reserve(least, most)
        spent = Spending(calls=1)  # a call that fails counts too
        try:
            reply = await self._model.complete(_with_deadline(request, self._account.remaining_s))
            spent = self._spending(reply.usage, reply.model)
        except (DeadlineError, asyncio.CancelledError) as error:
            # The provider finishes it without reporting its usage, so at least its input is counted.
            spent = _one_call(least, self._spending(_usage_of_error(error), ""))
            raise
        except ProviderError as error:
            spent = self._spending(_usage_of_error(error), "")
            raise
        finally:
            self._account.settle(most, spent)
        return reply

    def _estimate(self, request: ModelRequest, output_tokens: int) -> Spending:
        """What a call will spend. An unknown price counts as 0: the name in the reply may have a known one."""
        usage = Usage(input_tokens=estimated_input(request), output_tokens=output_tokens)
        estimate = self._spending(usage, "")
        return estimate if estimate.cost_usd is not None else estimate.model_copy(update={"cost_usd": 0.0})

    def _spending(self, usage: Usage, reported: str) -> Spending:
        cost = None
        if self._account.budget.max_cost_usd is not None:  # only then, because the list of prices is large
            cost = cost_usd(self.name, usage, self._prices, reported=reported)
        return Spending(calls=1, tokens=usage.input_tokens + usage.output_tokens, cost_usd=cost)


def _usage_of_error(error: BaseException) -> Usage:
    """The usage of a call's replies that broke off, as far as it is known."""
    usage = getattr(error, "usage", None)
    return usage if isinstance(usage, Usage) else Usage()


def _one_call(spent: Spending, broken: Spending) -> Spending:
    """The sum, as one call: the retries of a call are no calls of their own."""
    return (spent + broken).model_copy(update={"calls": spent.calls})


def _max_output_tokens(request: ModelRequest) -> int:
    limits = [request.params.get(name) for name in _OUTPUT_PARAMETERS]
    return next((value for value in limits if isinstance(value, int) and value > 0), _ASSUMED_OUTPUT_TOKENS)


def _with_deadline(request: ModelRequest, remaining_s: float | None) -> ModelRequest:
    if remaining_s is None or remaining_s >= request.deadline_s:
        return request
    return request.model_copy(update={"deadline_s": max(remaining_s, 0.001)})

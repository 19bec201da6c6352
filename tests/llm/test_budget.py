"""A budget is never exceeded in calls, and by at most one call in flight in tokens, dollars and seconds."""

from __future__ import annotations

import asyncio
import threading
import time

import pytest
from model_server import Hang, HttpError, Reply

from flyteplugins_codegen.errors import BudgetSpentError, DeadlineError, ProviderError
from flyteplugins_codegen.llm.ask import ask
from flyteplugins_codegen.llm.budget import BudgetAccount, BudgetedModel
from flyteplugins_codegen.llm.registry import open_model
from flyteplugins_codegen.llm.replies import SolutionReply
from flyteplugins_codegen.models.settings import Settings
from flyteplugins_codegen.models.spending import Budget, Price, Spending
from flyteplugins_codegen.store import ContentStore

RIGHT = {"description": "counts", "approach": "loop", "code": "print(1)"}
LONG = Reply(RIGHT, input_tokens=1000, output_tokens=1000)
PRICES = {"m": Price(input_usd=10.0, output_usd=90.0)}  # one call of LONG is 0.1 USD


def budgeted(model, prices=None, **bounds) -> tuple[BudgetedModel, BudgetAccount]:
    account = BudgetAccount(Budget(**bounds))
    return BudgetedModel(model, account, prices), account


async def calls_until_spent(model, request, limit=20) -> int:
    for number in range(limit):
        asked = await asyncio.gather(model.complete(request(f"question {number}")), return_exceptions=True)
        if isinstance(asked[0], BudgetSpentError):
            return number
    return limit


@pytest.mark.parametrize(
    ("bounds", "calls"),
    [({"max_calls": 3}, 3), ({"max_calls": 0}, 0), ({"max_tokens": 5000}, 3), ({"max_cost_usd": 0.25}, 3), ({}, 20)],
)
async def test_no_call_is_sent_once_the_budget_is_spent(serve, open_at, solution_request, bounds, calls):
    server = serve(LONG, repeat_last=True)
    model, account = budgeted(open_at(server.url), PRICES, **bounds)
    assert await calls_until_spent(model, solution_request) == calls
    assert len(server.calls) == calls
    assert account.spent.tokens == 2000 * calls


async def test_who_waits_for_budget_first_gets_it_first():
    account, most = BudgetAccount(Budget(max_tokens=100)), Spending(calls=1, tokens=100)
    least, order = Spending(calls=1, tokens=10), []

    async def ask_after(name: str, pause_s: float) -> None:
        await asyncio.sleep(pause_s)
        await account.reserve(least, most)
        order.append(name)

    await account.reserve(least, most)
    asked = [asyncio.create_task(ask_after("first", 0.0)), asyncio.create_task(ask_after("second", 0.01))]
    await asyncio.sleep(0.045)  # the second looks next
    for _ in asked:
        account.settle(most, least)
        await asyncio.sleep(0.06)
    assert order == ["first", "second"]


async def test_the_error_says_what_was_spent_and_what_to_do(serve, open_at, solution_request):
    model, account = budgeted(open_at(serve(LONG).url), PRICES, max_calls=1, max_cost_usd=5.0)
    await model.complete(solution_request())
    with pytest.raises(
        BudgetSpentError, match=r"max_calls=1 is spent; spent so far: 1 calls, 2000 tokens, 0\.1 USD; raise"
    ) as told:
        await model.complete(solution_request())
    assert told.value.spent == account.spent == Spending(calls=1, tokens=2000, cost_usd=0.1)


@pytest.mark.parametrize("bounds", [{"max_calls": 4}, {"max_tokens": 8500}, {"max_cost_usd": 0.41}])
async def test_calls_at_once_exceed_a_budget_by_no_more_than_one(serve, open_at, solution_request, bounds):
    server = serve(Reply(RIGHT, input_tokens=1000, output_tokens=1000, delay_s=0.02), repeat_last=True)
    model, account = budgeted(open_at(server.url), PRICES, **bounds)
    ended = await asyncio.gather(
        *(model.complete(solution_request(f"{number}")) for number in range(12)), return_exceptions=True
    )
    refused = [each for each in ended if isinstance(each, BudgetSpentError)]
    assert len(refused) == 12 - len(server.calls)
    assert account.spent.calls == len(server.calls) in {4, 5}


def test_threads_with_loops_of_their_own_draw_on_one_account(serve, open_at, solution_request):
    server = serve(LONG, repeat_last=True)
    model, _ = budgeted(open_at(server.url), max_calls=5)
    threads = [
        threading.Thread(target=lambda: asyncio.run(calls_until_spent(model, solution_request))) for _ in range(3)
    ]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert len(server.calls) == 5


async def test_several_models_draw_on_one_account(serve, open_at, solution_request):
    cheap, strong = serve(LONG, repeat_last=True), serve(LONG, repeat_last=True)
    account = BudgetAccount(Budget(max_calls=3))
    models = [BudgetedModel(open_at(server.url), account) for server in (cheap, strong)]
    await models[0].complete(solution_request())
    assert await calls_until_spent(models[1], solution_request) == 2


async def test_a_price_that_nobody_knows_is_not_taken_for_nothing(serve, open_at, solution_request):
    server = serve(LONG, repeat_last=True)
    model, _ = budgeted(open_at(server.url), max_cost_usd=1000.0)
    await model.complete(solution_request())
    with pytest.raises(BudgetSpentError, match="price of a call is unknown: give the model's price"):
        await model.complete(solution_request())
    assert len(server.calls) == 1


async def test_a_failed_call_counts_as_a_call_and_gives_back_what_was_set_aside(serve, open_at, solution_request):
    server = serve(HttpError(400), LONG)
    model, account = budgeted(open_at(server.url), max_calls=2, max_tokens=20_000)
    with pytest.raises(ProviderError):
        await model.complete(solution_request())
    await model.complete(solution_request())
    assert account.spent == Spending(calls=2, tokens=2000, cost_usd=None)


async def test_a_cancelled_call_gives_back_what_was_set_aside(serve, open_at, solution_request):
    server = serve(Hang(), LONG)
    model, _ = budgeted(open_at(server.url), max_tokens=17_000)
    waiting = asyncio.create_task(model.complete(solution_request()))
    while not server.calls:  # noqa: ASYNC110 - the server is in another thread
        await asyncio.sleep(0.01)
    waiting.cancel()
    with pytest.raises(asyncio.CancelledError):
        await waiting
    await model.complete(solution_request())


async def test_a_call_that_is_given_up_counts_with_its_input_at_least(serve, open_at, solution_request):
    server = serve(Hang(), LONG, repeat_last=True)
    model, account = budgeted(open_at(server.url), max_tokens=1_500)
    question = "long " * 800
    with pytest.raises(DeadlineError):
        await model.complete(solution_request(question, deadline_s=0.2))
    assert account.spent.calls == 1
    assert account.spent.tokens > len(question) // 4
    with pytest.raises(BudgetSpentError, match="leaves no room"):
        await model.complete(solution_request(question))
    assert len(server.calls) == 1


async def test_seconds_bound_the_call_that_is_made_and_those_after_it(serve, open_at, solution_request):
    server = serve(Hang(), repeat_last=True)
    model, _ = budgeted(open_at(server.url), max_wall_s=0.4)
    started = time.monotonic()
    with pytest.raises(DeadlineError):
        await model.complete(solution_request())
    assert time.monotonic() - started < 2
    with pytest.raises(BudgetSpentError, match=r"max_wall_s=0.4 is over"):
        await model.complete(solution_request())
    assert len(server.calls) == 1


async def test_the_second_question_about_a_bad_reply_is_within_the_budget_too(serve, open_at, solution_request):
    server = serve("nonsense", RIGHT)
    model, _ = budgeted(open_at(server.url), max_calls=1)
    with pytest.raises(BudgetSpentError) as failure:
        await ask(model, solution_request(), SolutionReply)
    assert len(failure.value.calls) == len(server.calls) == 1


async def test_a_reply_that_was_paid_for_before_is_free_and_no_call(serve, solution_request, tmp_path):
    server = serve(LONG)
    settings, store = Settings(model="m", api_base=server.url), ContentStore(tmp_path)
    told: list[int] = []

    def opened(max_calls: int):
        account = BudgetAccount(Budget(max_calls=max_calls), on_call=lambda: told.append(max_calls))
        return open_model(settings, store=store, wrap=lambda model: BudgetedModel(model, account))

    await opened(1).complete(solution_request())
    assert (await opened(0).complete(solution_request())).is_reused
    assert told == [1]


def test_the_sum_of_a_known_cost_and_an_unknown_one_is_unknown():
    total = Spending(calls=1, tokens=2, cost_usd=0.5) + Spending(calls=1, tokens=3, cost_usd=None)
    assert total == Spending(calls=2, tokens=5, cost_usd=None)

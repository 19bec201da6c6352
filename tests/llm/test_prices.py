"""The cost of calls: by the user's prices, else by those of the list, else unknown."""

from __future__ import annotations

import math

import pytest
from pydantic import ValidationError

from flyteplugins_codegen.llm.budget import cost_usd
from flyteplugins_codegen.models.spending import Price, Usage

MILLION = Usage(input_tokens=1_000_000, output_tokens=1_000_000)
OWN = {"mine": Price(input_usd=1.0, output_usd=10.0), "openai/gpt-4.1": Price(input_usd=0.5, output_usd=0.5)}


@pytest.mark.parametrize("name", ["openai/gpt-4.1", "gpt-4.1", "anthropic/claude-sonnet-4-5", "claude-sonnet-4-5"])
def test_a_listed_model_has_a_price_by_either_name(name):
    cost = cost_usd(name, MILLION)
    assert cost is not None
    assert cost > 1


@pytest.mark.parametrize(
    "name", ["openai/m", "llama3", "openai/llama3:8b", "replay:replies.jsonl", "", "anthropic/gpt-4.1"]
)
def test_an_unknown_price_is_none_and_never_nothing(name):
    assert cost_usd(name, MILLION) is None
    assert cost_usd(name, Usage()) is None


def test_a_model_of_ones_own_server_is_not_priced_as_somebody_elses():
    # Other providers list models of these names, but the model here is not one of theirs.
    assert cost_usd("openai/llama-3.3-70b-versatile", MILLION) is None


def test_cached_tokens_cost_less_and_are_counted_once():
    full = cost_usd("openai/gpt-4.1", Usage(input_tokens=1_000_000))
    cached = cost_usd("openai/gpt-4.1", Usage(input_tokens=1_000_000, cached_tokens=1_000_000))
    assert full is not None
    assert cached is not None
    assert 0 < cached < full


def test_the_name_that_the_provider_reports_is_looked_up_first():
    asked, dated = (
        cost_usd("openai/gpt-4.1", MILLION),
        cost_usd("openai/gpt-4.1", MILLION, reported="gpt-4.1-mini-2025-04-14"),
    )
    assert asked is not None
    assert dated is not None
    assert dated < asked
    assert cost_usd("openai/gpt-4.1", MILLION, reported="nobody-knows-this") == asked


def test_a_recording_is_priced_by_the_model_that_it_was_made_with():
    assert cost_usd("replay:x.jsonl", MILLION, reported="gpt-4.1-2025-04-14") == cost_usd("openai/gpt-4.1", MILLION)


@pytest.mark.parametrize(
    ("name", "reported", "usd"),
    [("openai/mine", "", 11.0), ("openai/other", "mine", 11.0), ("openai/gpt-4.1", "", 1.0), ("gpt-4.1", "", 1.0)],
)
def test_the_users_own_price_counts_before_any_list(name, reported, usd):
    assert cost_usd(name, MILLION, OWN, reported=reported) == pytest.approx(usd)


def test_ones_own_price_for_cached_input_counts_for_no_more_than_there_was():
    price = Price(input_usd=2.0, output_usd=0.0, cached_usd=1.0)
    assert price.cost_usd(Usage(input_tokens=1_000_000, cached_tokens=500_000)) == pytest.approx(1.5)
    assert price.cost_usd(Usage(input_tokens=1_000_000, cached_tokens=9_000_000)) == pytest.approx(1.0)


@pytest.mark.parametrize("wrong", [-1.0, math.nan, math.inf])
def test_a_price_is_a_number_of_dollars(wrong):
    with pytest.raises(ValidationError):
        Price(input_usd=wrong, output_usd=1.0)

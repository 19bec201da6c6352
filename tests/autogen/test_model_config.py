"""A model's name, AutoGen's dicts and Settings are read to the same configuration."""

from __future__ import annotations

import pytest
from pydantic import SecretStr

from flyteplugins_codegen import AutoCoderAgent
from flyteplugins_codegen.autogen.ask import read_ask_settings
from flyteplugins_codegen.autogen.model_config import DEFAULT_MODEL, ModelConfig, read_config, read_configs
from flyteplugins_codegen.errors import ArgumentTypeError, RequestError, SettingsError
from flyteplugins_codegen.models.spending import Budget, Price


@pytest.mark.parametrize(
    "given",
    [
        "openai/gpt-4.1",
        {"model": "openai/gpt-4.1"},
        AutoCoderAgent(model="openai/gpt-4.1"),
        ModelConfig(model="openai/gpt-4.1"),
    ],
)
def test_one_model_by_any_of_its_names(given):
    assert read_config(given) == ModelConfig(model="openai/gpt-4.1")


def test_an_entry_of_autogens_config_list():
    config = read_config(
        {
            "model": "gpt-4.1",
            "api_key": "sk-secret",
            "base_url": "http://localhost:8000/v1",
            "api_type": "openai",
            "timeout": 60,
            "price": [0.002, 0.008],
            "cache_seed": 42,
            "tags": ["cheap"],
            "max_tokens": 512,
            "temperature": 0,
        }
    )
    assert config == ModelConfig(
        model="gpt-4.1",
        api_key=SecretStr("sk-secret"),
        api_base="http://localhost:8000/v1",
        deadline_s=60.0,
        price=Price(input_usd=2.0, output_usd=8.0),
        attempt=42,
        model_params={"max_tokens": 512, "temperature": 0},
    )


def test_a_key_is_shown_nowhere():
    config = read_config({"model": "gpt-4.1", "api_key": "sk-secret"})
    assert "sk-secret" not in repr(config) + str(config) + config.model_dump_json() + repr(config.settings)


def test_a_key_may_be_named_by_its_variable(monkeypatch):
    monkeypatch.setenv("TEAM_KEY", "sk-secret")
    assert read_config({"model": "gpt-4.1", "api_key": "TEAM_KEY"}) == ModelConfig(
        model="gpt-4.1", api_key_env="TEAM_KEY"
    )


def test_settings_give_all_that_is_about_the_model():
    agent = AutoCoderAgent(
        model="m",
        api_base="http://localhost",
        api_key="TEAM_KEY",
        model_params={"top_p": 1},
        cache="disable",
        record="r",
    )
    assert read_config(agent).settings == agent.settings.model_copy(update={"name": "auto-coder"})


@pytest.mark.parametrize(
    ("api_type", "model", "read"),
    [("anthropic", "claude-x", "anthropic/claude-x"), ("anthropic", "anthropic/x", "anthropic/x"), (None, "x", "x")],
)
def test_an_api_type_names_the_provider(api_type, model, read):
    assert read_config({"model": model, "api_type": api_type}).model == read


@pytest.mark.parametrize(
    ("given", "mode"),
    [({"cache_seed": None}, "disable"), ({"use_cache": False}, "disable"), ({"use_cache": True}, "auto")],
)
def test_a_caller_may_want_every_call_to_be_a_new_one(given, mode):
    assert read_config(given).cache == mode


def test_where_no_model_is_named_one_is_taken():
    assert read_ask_settings({}).configs == (ModelConfig(model=DEFAULT_MODEL),)


@pytest.mark.parametrize("name", ["configs", "config_list"])
def test_what_stands_beside_a_list_holds_for_each_of_its_entries(name):
    entries = [{"model": "a", "max_tokens": 1}, "b", ModelConfig(model="c")]
    configs = read_ask_settings({name: entries, "max_tokens": 9, "deadline": 5}).configs
    assert [config.model for config in configs] == ["a", "b", "c"]
    assert [config.model_params for config in configs] == [{"max_tokens": 1}, {"max_tokens": 9}, {}]
    assert [config.deadline_s for config in configs] == [5, 5, 300]


@pytest.mark.parametrize("budget", [Budget(max_calls=2), {"max_calls": 2}])
def test_a_budget_opens_an_account(budget):
    account = read_ask_settings({"model": "m", "budget": budget}).account
    assert account is not None
    assert account.budget == Budget(max_calls=2)
    assert read_ask_settings({"model": "m", "budget": account}).account is account


@pytest.mark.parametrize(
    ("config", "error", "said"),
    [
        ({"model": 7}, SettingsError, "model: Input should be a valid string"),
        ({"model": ""}, SettingsError, "model: "),
        ({"model": "m" * 10_000_000}, SettingsError, r"^.{,300}$"),
        ({"base_url": "http://" + "m" * 10_000_000}, SettingsError, r"^.{,300}$"),
        ({"api_key": "sk-\ud800"}, SettingsError, "api_key: it holds characters that no key has"),
        ({"api_key": "sk-1\n"}, SettingsError, "api_key: it holds characters that no key has"),
        ({"timeout": -1}, SettingsError, "deadline_s: "),
        ({"price": [1]}, SettingsError, "USD for a thousand tokens"),
        ({"price": "cheap"}, SettingsError, "price: "),
        ({"model_params": 3}, ArgumentTypeError, "model_params is int"),
        ({"api_type": "azure"}, SettingsError, "base_url"),
        ({"max_tokens": object()}, SettingsError, "model_params"),
        ({"configs": []}, SettingsError, "is empty"),
        ({"configs": [3]}, ArgumentTypeError, "configuration is int"),
        ({"configs": 3}, ArgumentTypeError, "configuration is int"),
        ({"budget": 3}, SettingsError, r"pass Budget\(max_cost_usd"),
        ({"budget": {"max_dollars": 3}}, SettingsError, "max_dollars"),
        ({"budget": {"max_calls": -1}}, SettingsError, "max_calls"),
    ],
)
def test_what_is_no_configuration_is_named(config, error, said):
    with pytest.raises(error, match=said):
        read_ask_settings(config)


def test_an_error_shows_no_key():
    with pytest.raises(RequestError) as told:
        read_config({"model": "m", "api_key": ["sk-secret"]})
    assert "sk-secret" not in str(told.value)


def test_one_configuration_is_a_list_of_one():
    assert read_configs("a") == read_configs(["a"]) == (ModelConfig(model="a"),)

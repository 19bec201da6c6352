"""Opening a model by its name and its key's name, and the errors of that."""

from __future__ import annotations

import json
import subprocess
import sys

import pytest
from model_server import ModelServer

from flyteplugins_codegen.errors import MissingKeyError, SettingsError, UnknownModelError
from flyteplugins_codegen.llm.registry import open_model, resolve_name
from flyteplugins_codegen.models.settings import Settings


@pytest.mark.parametrize(
    ("name", "has_address", "resolved"),
    [
        ("openai/gpt-5", False, ("openai", "gpt-5")),
        ("anthropic/claude-sonnet-5", False, ("anthropic", "claude-sonnet-5")),
        ("gpt-5", False, ("openai", "gpt-5")),
        ("chatgpt-latest", False, ("openai", "chatgpt-latest")),
        ("o3-mini", False, ("openai", "o3-mini")),
        ("claude-opus-5", False, ("anthropic", "claude-opus-5")),
        ("qwen3:8b", True, ("openai", "qwen3:8b")),
        ("meta-llama/Llama-4", True, ("openai", "meta-llama/Llama-4")),
        ("openai/meta-llama/Llama-4", True, ("openai", "meta-llama/Llama-4")),
        ("claude-opus-5", True, ("openai", "claude-opus-5")),
        ("anthropic/claude-opus-5", True, ("anthropic", "claude-opus-5")),
    ],
)
def test_names_are_resolved(name, has_address, resolved):
    assert resolve_name(name, has_address=has_address) == resolved


@pytest.mark.parametrize("name", ["", "llama", "mistral/large", "openai/", "gemini-3", "o", "ollama"])
def test_an_unknown_name_lists_the_forms(name):
    with pytest.raises(UnknownModelError, match=r"openai/NAME.*anthropic/NAME.*claude-\*.*api_base.*replay:FILE"):
        open_model(Settings(model=name))


@pytest.mark.parametrize(("name", "variable"), [("gpt-5", "OPENAI_API_KEY"), ("claude-5", "ANTHROPIC_API_KEY")])
def test_a_missing_key_names_the_variable_and_the_ways_around(name, variable):
    with pytest.raises(MissingKeyError, match=rf"{variable}.*api_key='NAME'.*secret_requests.*replay:FILE"):
        open_model(Settings(model=name))


def test_a_server_of_ones_own_needs_no_key():
    assert open_model(Settings(model="qwen3", api_base="http://127.0.0.1:9/v1")).name == "openai/qwen3"


def test_a_named_key_that_is_not_set_is_missing_everywhere():
    with pytest.raises(MissingKeyError, match="MY_KEY"):
        open_model(Settings(model="qwen3", api_base="http://127.0.0.1:9/v1", api_key="MY_KEY"))


def test_an_address_without_a_scheme_is_refused():
    with pytest.raises(SettingsError, match="localhost:11434"):
        open_model(Settings(model="qwen3", api_base="localhost:11434/v1"))


def test_a_key_that_cannot_be_one_is_refused_without_being_shown(monkeypatch):
    monkeypatch.setenv("OPENAI_API_KEY", "sk-“quoted”")
    with pytest.raises(SettingsError, match="OPENAI_API_KEY") as failure:
        open_model(Settings(model="gpt-5"))
    assert "quoted" not in str(failure.value)


@pytest.mark.parametrize("reserved", ["model", "messages", "stream", "response_format"])
def test_parameters_do_not_replace_what_the_request_says(reserved):
    with pytest.raises(SettingsError, match=reserved):
        open_model(Settings(model="gpt-5", model_params={reserved: "x"}))


@pytest.mark.parametrize("header", ["Authorization", "x-api-key", "Cookie"])
def test_a_header_that_holds_a_secret_is_refused_and_not_shown(header):
    params = {"extra_headers": {"X-Team": "data", header: "s3cret"}}
    with pytest.raises(SettingsError, match=header) as refused:
        open_model(Settings(model="gpt-5", model_params=params))
    assert "s3cret" not in str(refused.value)


def test_other_headers_and_an_idempotency_key_are_passed_on(monkeypatch):
    monkeypatch.setenv("OPENAI_API_KEY", "sk-any")
    open_model(Settings(model="gpt-5", model_params={"extra_headers": {"X-Team": "data", "Idempotency-Key": "1"}}))


async def test_a_key_may_be_a_flyte_secret(monkeypatch, solution_request):
    import flytekit

    assert flytekit.current_context() is not None
    monkeypatch.setenv("_FSEC_MY_KEY", "sk-from-a-secret")  # as a cluster mounts a secret into the environment
    with ModelServer({"SolutionReply": ["{}"]}) as server:
        model = open_model(Settings(model="m", api_base=server.url, api_key="MY_KEY"))
        await model.complete(solution_request())
        assert server.calls[0].headers["authorization"] == "Bearer sk-from-a-secret"


def test_opening_a_model_imports_no_client():
    program = (
        "import sys, json; from flyteplugins_codegen.llm.registry import open_model; "
        "from flyteplugins_codegen.models.settings import Settings; "
        "open_model(Settings(model='x', api_base='http://127.0.0.1:9')); "
        "print(json.dumps([name for name in ('openai', 'anthropic', 'flytekit', 'httpx2') if name in sys.modules]))"
    )
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=True)
    assert json.loads(done.stdout) == []


def test_a_key_given_in_place_of_its_name_is_never_shown():
    with pytest.raises(SettingsError, match="the NAME of an environment variable") as caught:
        open_model(Settings(model="gpt-4.1", api_key="key-0123456789"))
    assert "0123456789" not in str(caught.value)


def test_an_address_with_a_password_is_refused_and_not_shown():
    with pytest.raises(SettingsError, match="use api_key") as caught:
        open_model(Settings(model="x", api_base="http://me:pa55word@127.0.0.1:9/v1"))
    assert "pa55word" not in str(caught.value)

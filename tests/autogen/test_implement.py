"""The cascade, with the real clients and a loopback server."""

from __future__ import annotations

import json
import logging
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
from model_server import HttpError, ModelServer, Reply

import flyteplugins_codegen.autogen
from flyteplugins_codegen.autogen.completions import eval_function_completions
from flyteplugins_codegen.autogen.implement import implement, read_cascade
from flyteplugins_codegen.errors import (
    ArgumentTypeError,
    BudgetSpentError,
    MissingKeyError,
    ProviderError,
    RequestError,
    SettingsError,
    UnknownModelError,
)
from flyteplugins_codegen.llm.budget import cost_usd
from flyteplugins_codegen.models.spending import Usage

DEFINITION = 'import math\n\n\ndef area(r):\n    """The area of a circle.\n\n    >>> area(0)\n    0.0\n    """\n'
ASSERTIONS = "assert area(0) == 0\nassert abs(area(2) - 12.566370614) < 1e-6"
WRONG = {"code": "def area(r):\n    return math.pi * r"}
RIGHT = {"code": "def area(r):\n    return math.pi * r**2"}
ASSERTED = {"assertions": ASSERTIONS.splitlines()}
FAILED = HttpError(400, "no such model")
CHEAP, STRONG = "openai/gpt-6-luna", "openai/gpt-6.1-sol"


@pytest.fixture
def serve(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Callable[..., ModelServer]]:
    """Starts a server with these functions, and with these assertions."""
    monkeypatch.setenv("FLYTE_CODEGEN_CACHE", str(tmp_path))
    running: list[ModelServer] = []

    def start(*functions: Any, assertions: Any = ASSERTED) -> ModelServer:
        script = {"FunctionReply": functions, "AssertionsReply": [assertions]}
        running.append(ModelServer(script).__enter__())
        return running[-1]

    yield start
    for server in running:
        server.__exit__(None, None, None)


def configs(server: ModelServer, *models: str, **changes: Any) -> list[dict[str, Any]]:
    return [{"model": model, "base_url": server.url, **changes} for model in models]


def asked(server: ModelServer) -> list[tuple[str, str]]:
    return [(call.name, call.body["model"]) for call in server.calls]


def test_the_first_that_passes_is_given_with_the_cost_of_all_that_were_asked(serve: Callable[..., ModelServer]) -> None:
    usage = {"input_tokens": 1_000, "output_tokens": 100}
    server = serve(Reply(WRONG, **usage), Reply(RIGHT, **usage), assertions=Reply(ASSERTED, **usage))
    code, cost, index = implement(DEFINITION, configs(server, CHEAP, STRONG, STRONG))
    assert asked(server) == [
        ("AssertionsReply", "gpt-6-luna"),
        ("FunctionReply", "gpt-6-luna"),
        ("FunctionReply", "gpt-6.1-sol"),
    ]
    assert index == 1
    cheap, strong = (cost_usd(model, Usage(**usage)) for model in (CHEAP, STRONG))
    assert cheap
    assert strong
    assert cost == pytest.approx(2 * cheap + strong)
    check = "def check(candidate):\n    assert candidate(1) == math.pi\n"
    assert eval_function_completions([code], DEFINITION, check)["success"]
    assert code.startswith("import math\n")


async def test_it_can_be_awaited(serve: Callable[..., ModelServer]) -> None:
    server = serve(RIGHT)
    assert (await implement.aio(DEFINITION, configs(server, CHEAP), ASSERTIONS)).config_index == 0


def test_the_same_call_is_not_paid_for_twice(serve: Callable[..., ModelServer]) -> None:
    server = serve(WRONG, RIGHT)
    first = implement(DEFINITION, configs(server, CHEAP, STRONG))
    again = implement(DEFINITION, configs(server, CHEAP, STRONG))
    assert len(server.calls) == 3
    assert again == first._replace(cost=0.0)


def test_several_responses_of_one_model_are_chosen_among_and_none_is_given_twice(
    serve: Callable[..., ModelServer],
) -> None:
    server = serve(WRONG, WRONG, RIGHT, WRONG)
    (cheap,) = configs(server, CHEAP)
    code, _, index = implement(DEFINITION, [cheap, {**cheap, "n": 3}], ASSERTIONS)
    assert ("r**2" in code, index, len(server.calls)) == (True, 1, 4)


def test_one_configuration_with_one_response_needs_no_assertions(serve: Callable[..., ModelServer]) -> None:
    server = serve(WRONG)
    assert implement(DEFINITION, configs(server, STRONG)).config_index == 0
    assert asked(server) == [("FunctionReply", "gpt-6.1-sol")]


def test_where_none_passes_the_last_one_is_given_and_the_log_says_so(
    serve: Callable[..., ModelServer], caplog: pytest.LogCaptureFixture
) -> None:
    server = serve(WRONG, WRONG)
    with caplog.at_level(logging.WARNING, "flyteplugins_codegen"):
        assert implement(DEFINITION, configs(server, CHEAP, STRONG), ASSERTIONS).config_index == 1
    assert "no response passes the assertions" in caplog.text


def test_without_an_assertion_of_use_the_last_configuration_alone_is_asked(serve: Callable[..., ModelServer]) -> None:
    server = serve(RIGHT)
    code, cost, index = implement(DEFINITION, configs(server, CHEAP, STRONG), lambda _: ("", 0.25))
    assert ("r**2" in code, index) == (True, 1)
    assert cost is not None
    assert cost > 0.25
    assert asked(server) == [("FunctionReply", "gpt-6.1-sol")]


def test_a_model_that_fails_is_passed_over_and_the_last_ones_failure_is_told(serve: Callable[..., ModelServer]) -> None:
    server = serve(FAILED, RIGHT)
    assert implement(DEFINITION, configs(server, CHEAP, STRONG), ASSERTIONS).config_index == 1
    failing = serve(WRONG, FAILED)
    with pytest.raises(ProviderError, match="no such model") as raised:
        implement(DEFINITION, configs(failing, CHEAP, STRONG), ASSERTIONS)
    assert [call.model for call in raised.value.calls] == ["gpt-6-luna"]


def test_a_model_that_gives_no_function_is_asked_once_more_and_then_passed_over(
    serve: Callable[..., ModelServer],
) -> None:
    server = serve({"code": "I would use the formula."}, RIGHT)
    assert "r**2" in implement(DEFINITION, configs(server, CHEAP)).code
    assert "it is no Python function area" in server.calls[1].body["messages"][-1]["content"]
    broken = {"code": "def area(r):\n    return ("}
    server = serve(broken, {"code": "def area(r):\n    ..."}, RIGHT)
    made = implement(DEFINITION, configs(server, CHEAP, STRONG), ASSERTIONS)
    assert ("r**2" in made.code, made.config_index, len(server.calls)) == (True, 1, 3)


def test_a_budget_bounds_all_calls_together(serve: Callable[..., ModelServer]) -> None:
    server = serve(WRONG, RIGHT)
    with pytest.raises(BudgetSpentError) as raised:
        implement(DEFINITION, configs(server, CHEAP, STRONG), budget={"max_calls": 2})
    assert len(server.calls) == 2
    assert [call.purpose for call in raised.value.calls] == ["code"]


def test_an_unknown_price_makes_the_cost_unknown(serve: Callable[..., ModelServer]) -> None:
    server = serve(RIGHT)
    assert implement(DEFINITION, configs(server, "openai/mine")).cost is None


@pytest.mark.parametrize("prompt", ["# Python 3{definition}", lambda context: "# Python 3" + context["definition"]])
def test_a_prompt_of_ones_own_is_filled_in(serve: Callable[..., ModelServer], prompt: Any) -> None:
    server = serve(RIGHT)
    implement(DEFINITION, configs(server, CHEAP, prompt=prompt))
    assert server.calls[0].body["messages"][-1]["content"] == f"# Python 3{DEFINITION}"


@pytest.mark.parametrize(
    ("changes", "error", "said"),
    [
        ({"configs": []}, SettingsError, "configs is empty"),
        ({"configs": CHEAP}, ArgumentTypeError, "configs is str; pass a list"),
        ({"configs": [3]}, ArgumentTypeError, "is int"),
        ({"configs": ["unheard/of"]}, UnknownModelError, "no provider knows the model 'unheard/of'"),
        ({"configs": [CHEAP]}, MissingKeyError, "OPENAI_API_KEY is not set"),
        ({"configs": None}, MissingKeyError, "(?s)no packaged cascade has a key.*OPENAI_API_KEY.*ANTHROPIC_API_KEY"),
        ({"configs": [{"model": CHEAP, "n": 0}]}, SettingsError, "n=0"),
        ({"configs": [{"model": CHEAP, "n": True}]}, SettingsError, "n=True"),
        ({"configs": [{"model": CHEAP, "prompt": "Write."}]}, SettingsError, "holds {definition}"),
        ({"configs": [{"model": CHEAP, "prompt": "{other}"}]}, RequestError, "the prompt cannot be filled in"),
        ({"configs": [{"model": CHEAP, "prompt": 3}]}, ArgumentTypeError, "the prompt is int"),
        ({"definition": "x = 1"}, RequestError, "holds no function"),
        ({"definition": ""}, RequestError, "the definition is empty"),
        ({"definition": "def f():\0"}, RequestError, "NUL"),
        ({"definition": "def f():\n    '\ud800'"}, RequestError, "surrogate"),
        ({"definition": None}, ArgumentTypeError, "the definition is NoneType"),
        ({"assertions": "x = 1"}, RequestError, "check nothing"),
        ({"assertions": None}, ArgumentTypeError, "the assertions: NoneType"),
        ({"timeout": -1}, RequestError, "seconds above 0"),
        ({"use_docker": 3}, ArgumentTypeError, "use_docker"),
        ({"budget": {"max_calls": -1}}, SettingsError, "max_calls"),
    ],
)
def test_what_is_not_possible_is_refused_before_anything_is_sent(
    serve: Callable[..., ModelServer], changes: dict[str, Any], error: type[Exception], said: str
) -> None:
    server = serve()
    with pytest.raises(error, match=said):
        implement(**{"definition": DEFINITION, "configs": configs(server, CHEAP, STRONG), **changes})
    assert server.calls == ()


@pytest.mark.parametrize("provider", ["openai", "anthropic"])
def test_the_packaged_cascade_is_that_of_the_provider_with_a_key_and_its_prices_are_known(
    monkeypatch: pytest.MonkeyPatch, provider: str
) -> None:
    monkeypatch.setenv(f"{provider.upper()}_API_KEY", "sk-none")
    steps = read_cascade(None)
    assert {step.config.model.partition("/")[0] for step in steps} == {provider}
    prices = [cost_usd(step.config.model, Usage(input_tokens=1_000, output_tokens=1_000)) for step in steps]
    assert [price for price in prices if price] == prices
    assert prices == sorted(prices)
    assert prices[0] * steps[1].n < prices[-1] / 2


def test_every_step_of_the_packaged_cascade_says_why() -> None:
    file = Path(flyteplugins_codegen.autogen.__path__[0], "cascade.json")
    cascades = json.loads(file.read_text())["cascades"]
    assert all(step["why"] for steps in cascades.values() for step in steps)

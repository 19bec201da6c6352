"""`implement`: a function from its definition, by a cascade of models from cheap to strong.

The idea is FLAML's (Wang et al., "Cost-Effective Hyperparameter Optimization for Large Language Model Generation
Inference", 2023, and its notebook on HumanEval): assertions that a model wrote tell which cheap answer will do.
"""

from __future__ import annotations

import asyncio
import functools
import json
import logging
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cache
from importlib.resources import files
from typing import Any, Final, NamedTuple

from pydantic import Field

from flyteplugins_codegen.autogen.ask import ask_for, fill_template, read_terms, task_messages
from flyteplugins_codegen.autogen.completions import Assertions, PassAssertionFilter, read_bench, source_of
from flyteplugins_codegen.autogen.generate import generate_assertions
from flyteplugins_codegen.autogen.model_config import ModelConfig, read_config, require_text
from flyteplugins_codegen.errors import (
    ArgumentTypeError,
    BudgetSpentError,
    MissingKeyError,
    ModelError,
    ReplyError,
    SettingsError,
)
from flyteplugins_codegen.llm.ask import ModelAnswer
from flyteplugins_codegen.llm.budget import Account, add_costs, total_cost_usd
from flyteplugins_codegen.llm.registry import open_model
from flyteplugins_codegen.llm.replies import Reply
from flyteplugins_codegen.models.spending import Message, ModelCall
from flyteplugins_codegen.source.completions import complete_definition, require_completion
from flyteplugins_codegen.source.python import FunctionDefinition, read_definition
from flyteplugins_codegen.sync import BoundMethod

# Whom `implement` asks, from cheap to strong: a caller's list, or the packaged one of a provider that has a key.

_MAX_RESPONSES: Final = 64
_PROBE: Final = "def probe(): ..."
_OF_THE_STEP: Final = ("n", "prompt", "why")


@dataclass(frozen=True, slots=True, kw_only=True)
class Step:
    """One model, how many responses it gives, and a prompt of the caller's own, which `prompt_for` fills in.

    `asked_before` counts the responses that earlier steps had from the same model, so that these are others.
    """

    config: ModelConfig
    n: int = 1
    prompt: Any = None
    asked_before: int = 0

    def prompt_for(self, definition: str) -> str | None:
        """The caller's prompt with the definition in it, None where it is ours. Raises RequestError."""
        return None if self.prompt is None else fill_template(self.prompt, {"definition": definition})

    def configs(self) -> Iterator[ModelConfig]:
        """The configuration of each response."""
        for number in range(self.n):
            attempt = self.config.attempt + self.asked_before + number
            yield self.config.model_copy(update={"attempt": attempt})


def read_cascade(configs: Any) -> tuple[Step, ...]:
    """The steps of a list of configurations (see `read_config`), which may have `n` and `prompt` too, as AutoGen's do.

    A prompt is text that holds `{definition}`, or a function that makes text of `{"definition": ...}`.

    None is the packaged cascade of the first provider that has a key. All are opened once, and nothing is sent.

    Raises:
        ArgumentTypeError: what is no list of configurations.
        SettingsError: an empty list, or a value that is not possible.
        RequestError: a prompt that cannot be filled in.
        UnknownModelError, MissingKeyError: a model that cannot be asked.
    """
    if configs is None:
        return _default_cascade()
    if isinstance(configs, str | bytes | Mapping) or not isinstance(configs, Sequence):
        raise ArgumentTypeError(f"configs is {type(configs).__name__}; pass a list of models, the cheapest first")
    if not configs:
        raise SettingsError("configs is empty; give at least one model, or leave it out for the packaged cascade")
    return _steps(configs)


def _default_cascade() -> tuple[Step, ...]:
    found = [_steps_or_missing_key(entries) for entries in _packaged().values()]
    steps = next((each for each in found if isinstance(each, tuple)), None)
    if steps is None:
        raise MissingKeyError(
            f"no packaged cascade has a key; pass configs, or set one. {' Or: '.join(map(str, found))}"
        )
    return steps


def _steps_or_missing_key(entries: Sequence[Any]) -> tuple[Step, ...] | MissingKeyError:
    try:
        return _steps(entries)
    except MissingKeyError as error:
        return error


@cache
def _packaged() -> Mapping[str, Sequence[Mapping[str, Any]]]:
    text = files(__package__).joinpath("cascade.json").read_text("utf-8")
    cascades: Mapping[str, Sequence[Mapping[str, Any]]] = json.loads(text)["cascades"]
    return cascades


def _steps(entries: Sequence[Any]) -> tuple[Step, ...]:
    asked: dict[tuple[str, str | None], int] = {}
    steps = []
    for entry in entries:
        step = _read_step(entry)
        open_model(step.config.settings, key=step.config.api_key)
        model = (step.config.model, step.config.api_base)
        steps.append(replace(step, asked_before=asked.get(model, 0)))
        asked[model] = asked.get(model, 0) + step.n
    return tuple(steps)


def _read_step(entry: Any) -> Step:
    if not isinstance(entry, Mapping):
        return Step(config=read_config(entry))
    n, prompt = entry.get("n", 1), entry.get("prompt")
    if isinstance(n, bool) or not isinstance(n, int) or not 0 < n <= _MAX_RESPONSES:
        raise SettingsError(f"n={n!r}: the number of responses is from 1 to {_MAX_RESPONSES}")
    rest = {name: value for name, value in entry.items() if name not in _OF_THE_STEP}
    step = Step(config=read_config(rest), n=n, prompt=prompt)
    if _PROBE not in (step.prompt_for(_PROBE) or _PROBE):
        raise SettingsError(f"prompt={prompt!r:.100}: pass text that holds {{definition}}, or leave it out")
    return step


_log = logging.getLogger(__name__)
_GENERATE: Final = generate_assertions.aio
_CONTRACT: Final = """\
Implement the given function in Python 3.10 or later, as its docstring says, with the standard library and what the \
definition imports.
- `code` is the whole function with its signature, after the imports and helper functions that it needs.
- No example of its use, no test, no text around it."""


class FunctionReply(Reply):
    """A function."""

    code: str = Field(min_length=1, description="The whole function, with the imports that it needs")


class Implementation(NamedTuple):
    """`code` is the whole program of the function; `cost` is in USD, None where a price is unknown.

    `config_index` says which of the configurations it is from.
    """

    code: str
    cost: float | None
    config_index: int


@BoundMethod
async def implement(
    definition: str,
    configs: Sequence[Any] | None = None,
    assertions: Assertions = generate_assertions,
    *,
    budget: Any = None,
    timeout: float | None = 3,
    use_docker: Any = None,
) -> Implementation:
    """The code of the function that is defined, what it cost, and which configuration it is from. As in AutoGen 0.2.

    The configurations are asked in turn until a response passes the assertions; where none does, the last one's best
    response is given, and the log says so. Where a model fails, or twice gives no Python, the next is asked. Of one
    configuration with one response there is nothing to choose: then no assertions are made, and nothing is judged.
    Also `.aio`.

    Args:
        definition: Signature and docstring, after the imports and functions that the function may use.
        configs: Models from cheap to strong, see `read_config`, each with the number `n` of its responses (1) and a
            `prompt` that holds `{definition}` if it needs one of its own; by default the packaged cascade of OpenAI's
            or Anthropic's models, whichever has a key.
        assertions: Source of asserts that call the function, or what makes it, see `eval_function_completions`.
            `generate_assertions` asks the same models, in the same order.
        budget: A Budget, or a dict of its fields, that all calls draw on.
        timeout: Seconds that each response has for the assertions.
        use_docker: As for `eval_function_completions`.

    Raises:
        RequestError: an argument is not possible, such as a definition without a function; nothing was spent.
        ModelError: a model is unknown or has no key, before anything is spent; or the last one failed, or the budget
            is spent. `calls` are those that asked for the function.
        EnvironmentBuildError: what the definition imports cannot be installed.
        SandboxError: the sandbox failed.
    """
    function = read_definition(require_text("the definition", definition, "pass a signature with a docstring"))
    steps = read_cascade(configs)
    read_bench(timeout, use_docker)  # what is not possible is told before anything is spent
    asker = _Asker(definition=definition, function=function, account=read_terms({"budget": budget}).account)
    judge: PassAssertionFilter | None = None
    first = 0
    made_cost: float | None = 0.0
    if len(steps) > 1 or steps[0].n > 1:
        source, made_cost = await _make_assertions(asker, steps, assertions)
        judge = PassAssertionFilter(source, timeout=timeout, use_docker=use_docker) if source else None
        first = 0 if source else len(steps) - 1
    code, calls, index = await _cascade(asker, steps[first:], judge)
    cost = add_costs(made_cost, total_cost_usd(calls))
    return Implementation(complete_definition(function, code), cost, first + index)


@dataclass(frozen=True, slots=True)
class _Responses:
    """What a step brought: at least one text, or else an error."""

    texts: tuple[str, ...]
    calls: tuple[ModelCall, ...]
    error: ModelError | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class _Asker:
    """Puts one definition to models."""

    definition: str
    function: FunctionDefinition
    account: Account | None

    async def ask(self, step: Step) -> _Responses:
        """All responses of a step, asked for at once. One that failed is left out where another did not."""
        asking = [self._ask(config, step) for config in step.configs()]
        outcomes = await asyncio.gather(*asking)
        answers = [outcome for outcome in outcomes if isinstance(outcome, ModelAnswer)]
        errors = [outcome for outcome in outcomes if isinstance(outcome, ModelError)]
        calls = tuple(call for outcome in outcomes for call in outcome.calls)
        return _Responses(tuple(answer.value.code for answer in answers), calls, None if answers else errors[0])

    async def _ask(self, config: ModelConfig, step: Step) -> ModelAnswer[FunctionReply] | ModelError:
        try:
            return await ask_for(
                FunctionReply,
                self._messages(step),
                config=config,
                purpose="code",
                check=lambda reply: require_completion(self.function, reply.code),
                account=self.account,
            )
        except ModelError as error:
            return error

    def _messages(self, step: Step) -> tuple[Message, ...]:
        own = step.prompt_for(self.definition)
        return task_messages(_CONTRACT, f"```python\n{self.definition.strip()}\n```" if own is None else own)


async def _make_assertions(asker: _Asker, steps: Sequence[Step], assertions: Assertions) -> tuple[str, float | None]:
    """The assertions' source and what it cost; "" where the models could make none that is of use."""
    if assertions is generate_assertions:
        configs = [step.config for step in steps if not step.asked_before]
        assertions = functools.partial(_GENERATE, configs=configs, budget=asker.account)
    try:
        return await source_of(assertions, asker.definition)
    except ReplyError as error:
        _log.warning("no assertions could be made, the last configuration alone is asked: %s", error)
        return "", total_cost_usd(error.calls)


async def _cascade(
    asker: _Asker, steps: Sequence[Step], judge: PassAssertionFilter | None
) -> tuple[str, tuple[ModelCall, ...], int]:
    """The response that was chosen, the calls of all steps until then, and the step that it is from."""
    calls: tuple[ModelCall, ...] = ()
    for index, step in enumerate(steps):
        responses = await asker.ask(step)
        calls += responses.calls
        is_last = index == len(steps) - 1
        if responses.error is not None:
            _raise_or_tell(responses.error, calls, is_last=is_last)
        elif (chosen := await _choose(asker.definition, responses.texts, judge, is_last=is_last)) is not None:
            return responses.texts[chosen], calls, index
    raise AssertionError("the last step chooses or raises")


def _raise_or_tell(error: ModelError, calls: tuple[ModelCall, ...], *, is_last: bool) -> None:
    error.calls = calls
    if is_last or isinstance(error, BudgetSpentError):
        raise error
    _log.warning("a configuration failed, asking the next: %s", error)


async def _choose(
    definition: str, texts: Sequence[str], judge: PassAssertionFilter | None, *, is_last: bool
) -> int | None:
    """Which text is taken; None where none passes and there is another step."""
    if judge is None:
        return 0
    passed = await judge.pass_assertions.aio({"definition": definition}, texts)
    if not passed and is_last:
        _log.warning("no response passes the assertions; the last configuration's best one is given")
    selected: int = (judge.metrics or {})["index_selected"]
    return selected if passed or is_last else None

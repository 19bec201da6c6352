"""`implement`: a function from its definition, by a cascade of models from cheap to strong.

The idea is FLAML's (Wang et al., "Cost-Effective Hyperparameter Optimization for Large Language Model Generation
Inference", 2023, and its notebook on HumanEval): a cheap answer is accepted if it passes assertions that a model wrote.
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

from flyteplugins_codegen.autogen.arguments import require_text
from flyteplugins_codegen.autogen.ask import ask_for, fill_template, read_ask_settings, task_messages
from flyteplugins_codegen.autogen.completions import Assertions, PassAssertionFilter, read_judge, source_of
from flyteplugins_codegen.autogen.generate import generate_assertions
from flyteplugins_codegen.autogen.model_config import ModelConfig, read_config
from flyteplugins_codegen.autogen.sandbox_choice import SandboxChoice, open_chosen_sandbox
from flyteplugins_codegen.errors import (
    ArgumentTypeError,
    BudgetSpentError,
    MissingKeyError,
    ModelError,
    ReplyError,
    SettingsError,
)
from flyteplugins_codegen.llm.ask import ModelAnswer
from flyteplugins_codegen.llm.budget import BudgetAccount, add_costs, total_cost_usd
from flyteplugins_codegen.llm.registry import open_model
from flyteplugins_codegen.llm.replies import Reply
from flyteplugins_codegen.models.spending import Message, ModelCall
from flyteplugins_codegen.source.completions import complete_definition, require_completion
from flyteplugins_codegen.source.python import FunctionDefinition, read_definition
from flyteplugins_codegen.sync import BoundMethod, in_daemon_thread

_log = logging.getLogger(__name__)
_MAX_RESPONSES: Final = 64
_PROBE: Final = "def probe(): ..."
STEP_KEYS: Final = ("n", "prompt", "why")
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
    """The code of the defined function, its cost, and the configuration that it is from. As in AutoGen 0.2.

    The configurations are asked in turn until a response passes the assertions; if none does, the result is the best
    response of the last one, and the log says so. Where a model fails, or replies twice without Python, the next one is
    asked. With one configuration and one response there is no choice: then no assertions are made, and nothing is
    judged. Also `.aio`.

    Args:
        definition: Signature and docstring, after the imports and functions that the function may use.
        configs: Models from cheap to strong, see `read_config`, each with the number `n` of its responses (1) and, if
            needed, its own `prompt` with `{definition}`; by default the packaged cascade of OpenAI's or Anthropic's
            models, whichever has a key.
        assertions: Source of asserts that call the function, or a function that makes it, see
            `eval_function_completions`.
            `generate_assertions` asks the same models, in the same order.
        budget: A Budget, or a dict of its fields, for all calls together.
        timeout: Seconds that each response has for the assertions.
        use_docker: As for `eval_function_completions`.

    Raises:
        RequestError: an argument is not possible, such as a definition without a function; nothing was spent.
        ModelError: a model is unknown or has no key, and nothing was spent; or the last one failed, or the budget is
            spent. `calls` are those that asked for the function.
        EnvironmentBuildError: what the definition imports cannot be installed.
        SandboxError: the sandbox failed.
    """
    function = read_definition(require_text("the definition", definition, "pass a signature with a docstring"))
    steps = read_cascade(configs)
    chosen_sandbox = read_judge(timeout, use_docker).sandbox
    asker = _Asker(definition=definition, function=function, account=read_ask_settings({"budget": budget}).account)
    judge: PassAssertionFilter | None = None
    first = 0
    made_cost: float | None = 0.0
    if len(steps) > 1 or steps[0].n > 1:
        await in_daemon_thread(_check_sandbox, chosen_sandbox)  # before anything is spent
        source, made_cost = await _make_assertions(asker, steps, assertions)
        judge = PassAssertionFilter(source, timeout=timeout, use_docker=use_docker) if source else None
        first = 0 if source else len(steps) - 1
    code, calls, index = await _cascade(asker, steps[first:], judge)
    cost = add_costs(made_cost, total_cost_usd(calls))
    return Implementation(complete_definition(function, code), cost, first + index)


def _check_sandbox(choice: SandboxChoice) -> None:
    with open_chosen_sandbox(choice, None):
        pass


@dataclass(frozen=True, slots=True)
class _StepResponses:
    """The result of a step: at least one text, or else an error."""

    texts: tuple[str, ...]
    calls: tuple[ModelCall, ...]
    error: ModelError | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class _Asker:
    """Asks models for the function of one definition."""

    definition: str
    function: FunctionDefinition
    account: BudgetAccount | None

    async def ask(self, step: CascadeStep) -> _StepResponses:
        """Request all responses of a step at once. One that failed is left out if another succeeded."""
        outcomes = await asyncio.gather(*(self._ask(config, step) for config in step.configs()))
        answers = [outcome for outcome in outcomes if isinstance(outcome, ModelAnswer)]
        errors = [outcome for outcome in outcomes if isinstance(outcome, ModelError)]
        calls = tuple(call for outcome in outcomes for call in outcome.calls)
        return _StepResponses(tuple(answer.value.code for answer in answers), calls, None if answers else errors[0])

    async def _ask(self, config: ModelConfig, step: CascadeStep) -> ModelAnswer[FunctionReply] | ModelError:
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

    def _messages(self, step: CascadeStep) -> tuple[Message, ...]:
        prompt = step.prompt_for(self.definition)
        return task_messages(_CONTRACT, f"```python\n{self.definition.strip()}\n```" if prompt is None else prompt)


async def _make_assertions(
    asker: _Asker, steps: Sequence[CascadeStep], assertions: Assertions
) -> tuple[str, float | None]:
    """The source of the assertions and its cost; "" where the models could not make useful ones."""
    if assertions is generate_assertions:
        configs = [step.config for step in steps if not step.asked_before]
        assertions = functools.partial(_GENERATE, configs=configs, budget=asker.account)
    try:
        return await source_of(assertions, asker.definition)
    except ReplyError as error:
        _log.warning("no assertions could be made, the last configuration alone is asked: %s", error)
        return "", total_cost_usd(error.calls)


async def _cascade(
    asker: _Asker, steps: Sequence[CascadeStep], judge: PassAssertionFilter | None
) -> tuple[str, tuple[ModelCall, ...], int]:
    """The chosen response, the calls of all steps until then, and the index of its step."""
    calls: tuple[ModelCall, ...] = ()
    for index, step in enumerate(steps):
        responses = await asker.ask(step)
        calls += responses.calls
        is_last = index == len(steps) - 1
        if responses.error is not None:
            _raise_or_log(responses.error, calls, is_last=is_last)
        elif (chosen := await _choose(asker.definition, responses.texts, judge, is_last=is_last)) is not None:
            return responses.texts[chosen], calls, index
    raise AssertionError("the last step chooses or raises")


def _raise_or_log(error: ModelError, calls: tuple[ModelCall, ...], *, is_last: bool) -> None:
    error.calls = calls
    if is_last or isinstance(error, BudgetSpentError):
        raise error
    _log.warning("a configuration failed, asking the next: %s", error)


async def _choose(
    definition: str, texts: Sequence[str], judge: PassAssertionFilter | None, *, is_last: bool
) -> int | None:
    """The index of the chosen text; None where none passes and there is another step."""
    if judge is None:
        return 0
    passed = await judge.pass_assertions.aio({"definition": definition}, texts)
    if not passed and is_last:
        _log.warning("no response passes the assertions; the last configuration's best one is given")
    selected: int = (judge.metrics or {})["index_selected"]
    return selected if passed or is_last else None


@dataclass(frozen=True, slots=True, kw_only=True)
class CascadeStep:
    """One model, the number of its responses, and the caller's own prompt, if any.

    `asked_before` is the number of responses of the same model in earlier steps, so that new ones are requested.
    """

    config: ModelConfig
    n: int = 1
    prompt: Any = None
    asked_before: int = 0

    def prompt_for(self, definition: str) -> str | None:
        """The caller's prompt with the definition filled in, None for our own prompt. Raises RequestError."""
        return None if self.prompt is None else fill_template(self.prompt, {"definition": definition})

    def configs(self) -> Iterator[ModelConfig]:
        """The configuration of each response."""
        for number in range(self.n):
            attempt = self.config.attempt + self.asked_before + number
            yield self.config.model_copy(update={"attempt": attempt})


def read_cascade(configs: Any) -> tuple[CascadeStep, ...]:
    """The steps of a list of configurations (see `read_config`), which may have `n` and `prompt` too, as in AutoGen.

    A prompt is text with `{definition}`, or a function that makes text from `{"definition": ...}`. None is the packaged
    cascade of the first provider that has a key. Every model is opened once, but nothing is sent.

    Raises:
        ArgumentTypeError: it is no list of configurations.
        SettingsError: the list is empty, or a value is not possible.
        RequestError: a prompt cannot be filled in.
        UnknownModelError, MissingKeyError: a model cannot be asked.
    """
    if configs is None:
        return _default_cascade()
    if isinstance(configs, str | bytes | Mapping) or not isinstance(configs, Sequence):
        raise ArgumentTypeError(f"configs is {type(configs).__name__}; pass a list of models, the cheapest first")
    if not configs:
        raise SettingsError("configs is empty; give at least one model, or leave it out for the packaged cascade")
    return _steps(configs)


def _default_cascade() -> tuple[CascadeStep, ...]:
    """The packaged cascade of the first provider that has a key."""
    outcomes = [_steps_or_missing_key(entries) for entries in _packaged_cascades().values()]
    steps = next((outcome for outcome in outcomes if isinstance(outcome, tuple)), None)
    if steps is None:
        reasons = " Or: ".join(map(str, outcomes))
        raise MissingKeyError(f"no packaged cascade has a key; pass configs, or set one. {reasons}")
    return steps


def _steps_or_missing_key(entries: Sequence[Any]) -> tuple[CascadeStep, ...] | MissingKeyError:
    try:
        return _steps(entries)
    except MissingKeyError as error:
        return error


@cache
def _packaged_cascades() -> Mapping[str, Sequence[Mapping[str, Any]]]:
    text = files(__package__).joinpath("cascade.json").read_text("utf-8")
    cascades: Mapping[str, Sequence[Mapping[str, Any]]] = json.loads(text)["cascades"]
    return cascades


def _steps(entries: Sequence[Any]) -> tuple[CascadeStep, ...]:
    asked: dict[tuple[str, str | None], int] = {}
    steps = []
    for entry in entries:
        step = _read_step(entry)
        open_model(step.config.settings, key=step.config.api_key)
        model = (step.config.model, step.config.api_base)
        steps.append(replace(step, asked_before=asked.get(model, 0)))
        asked[model] = asked.get(model, 0) + step.n
    return tuple(steps)


def _read_step(entry: Any) -> CascadeStep:
    if not isinstance(entry, Mapping):
        return CascadeStep(config=read_config(entry))
    n, prompt = entry.get("n", 1), entry.get("prompt")
    if isinstance(n, bool) or not isinstance(n, int) or not 0 < n <= _MAX_RESPONSES:
        raise SettingsError(f"n={n!r}: the number of responses is from 1 to {_MAX_RESPONSES}")
    rest = {name: value for name, value in entry.items() if name not in STEP_KEYS}
    step = CascadeStep(config=read_config(rest), n=n, prompt=prompt)
    if _PROBE not in (step.prompt_for(_PROBE) or _PROBE):
        raise SettingsError(f"prompt={prompt!r:.100}: pass text that holds {{definition}}, or leave it out")
    return step

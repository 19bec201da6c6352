"""Whom `implement` asks, from cheap to strong: a caller's list, or the packaged one of a provider that has a key."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cache
from importlib.resources import files
from typing import Any, Final

from flyteplugins_codegen.errors import ArgumentTypeError, MissingKeyError, SettingsError
from flyteplugins_codegen.llm.registry import open_model
from flyteplugins_codegen.toolkit.model_config import ModelConfig, read_config
from flyteplugins_codegen.toolkit.prompting import fill_template

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

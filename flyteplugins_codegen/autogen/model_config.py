"""Which model to ask and how, from what a caller names it by: a name, an entry of AutoGen's config lists, Settings."""

from __future__ import annotations

import os
from collections.abc import Callable, Mapping, Sequence
from typing import Any, Final

from pydantic import ConfigDict, Field, JsonValue, SecretStr, ValidationError

from flyteplugins_codegen.errors import ArgumentTypeError, RequestError, SettingsError
from flyteplugins_codegen.models.base import Value
from flyteplugins_codegen.models.settings import ApiName, CacheMode, Settings
from flyteplugins_codegen.models.spending import Price
from flyteplugins_codegen.text import LONGEST_SOURCE_CHARS

DEFAULT_MODEL: Final = "openai/gpt-5.4-mini"
"""Asked where a caller names none."""

_THOUSANDS_A_MILLION: Final = 1000
_PAIR: Final = 2
_LONGEST_NAME: Final = 1000
# Of AutoGen's, without a meaning here: one entry is not chosen by tags, and templates are filled in by us.
_WITHOUT_MEANING: Final = frozenset({"tags", "allow_format_str_template", "api_rate_limit", "max_retries"})
_SHAPES: Final = "pass a model's name, a dict such as {'model': ..., 'api_key': ..., 'base_url': ...}, or Settings"


class ModelConfig(Value):
    """One model, where it is, and how it is asked.

    `api_key_env` names the variable or secret that holds the key, `api_key` is the key itself and is shown nowhere.
    `price` is what the model costs where no list knows it. A fresh `attempt` asks the same again for another answer,
    without it a reply that was paid for once is given again. `api`, `stream` and `max_concurrent_calls` are as in
    `Settings`.
    """

    model_config = ConfigDict(protected_namespaces=())

    model: str = Field(default=DEFAULT_MODEL, min_length=1, max_length=_LONGEST_NAME)
    api_base: str | None = Field(default=None, max_length=_LONGEST_NAME)
    api_key_env: str | None = None
    api_key: SecretStr | None = None
    api: ApiName = "chat"
    stream: bool = False
    max_concurrent_calls: int = Field(default=16, ge=1)
    model_params: dict[str, JsonValue] = Field(default_factory=dict)
    deadline_s: float = Field(default=300.0, gt=0, allow_inf_nan=False)
    price: Price | None = None
    attempt: int = Field(default=0, ge=0)
    cache: CacheMode = "auto"
    record: str | None = None

    @property
    def prices(self) -> dict[str, Price]:
        """The caller's own price, by the model's name."""
        return {} if self.price is None else {self.model: self.price}

    @property
    def settings(self) -> Settings:
        """The same as settings, which the provider's registry takes; without a key that was given itself."""
        return Settings(
            model=self.model,
            api_base=self.api_base,
            api_key=self.api_key_env,
            api=self.api,
            stream=self.stream,
            max_concurrent_calls=self.max_concurrent_calls,
            model_params=self.model_params,
            cache=self.cache,
            record=self.record,
        )


def read_config(given: Any) -> ModelConfig:
    """One configuration from a model's name, a dict, Settings (an agent is one), or as it is.

    A dict is written as in AutoGen's config lists: `model`, `api_key` (the key, or the name of a variable that is
    set), `base_url` or `api_base`, `api_type` (`openai`, `anthropic`), `timeout`, `price` (USD for a thousand tokens in
    and out), `cache_seed` (None asks anew each time, another number gives another answer), `use_cache`; or by the names
    of `ModelConfig`. What else it holds, such as `max_tokens`, is passed on to the provider.

    Raises:
        ArgumentTypeError: none of these.
        SettingsError: a value that is not possible, named.
    """
    if isinstance(given, ModelConfig):
        return given
    if isinstance(given, str):
        given = {"model": given}
    elif isinstance(given, Settings):
        given = _of_settings(given)
    if not isinstance(given, Mapping):
        raise ArgumentTypeError(f"a model's configuration is {type(given).__name__}; {_SHAPES}")
    return _of_mapping(given)


def read_configs(given: Any, defaults: Mapping[str, Any] | None = None) -> tuple[ModelConfig, ...]:
    """The configurations of one or of a list of them, `defaults` filled in where an entry is a dict or a name.

    Raises ArgumentTypeError, SettingsError: see `read_config`; and for an empty list.
    """
    entries = list(given) if isinstance(given, Sequence) and not isinstance(given, str | bytes) else [given]
    if not entries:
        raise SettingsError(f"the list of configurations is empty; {_SHAPES}")
    return tuple(read_config(_with_defaults(entry, defaults or {})) for entry in entries)


def _with_defaults(entry: Any, defaults: Mapping[str, Any]) -> Any:
    if isinstance(entry, str):
        entry = {"model": entry}
    return {**defaults, **entry} if isinstance(entry, Mapping) else entry


def _of_settings(settings: Settings) -> dict[str, Any]:
    return {
        "model": settings.model,
        "api_base": settings.api_base,
        "api_key_env": settings.api_key,
        "api": settings.api,
        "stream": settings.stream,
        "max_concurrent_calls": settings.max_concurrent_calls,
        "model_params": settings.model_params,
        "cache": settings.cache,
        "record": settings.record,
    }


def _of_mapping(given: Mapping[str, Any]) -> ModelConfig:
    fields: dict[str, Any] = {}
    params = dict(_mapping(given.get("model_params", {})))
    for name, value in given.items():
        if name in _READERS:
            fields |= _READERS[name](value)
        elif name in ModelConfig.model_fields:
            fields[name] = value
        elif name not in _WITHOUT_MEANING | {"api_type"}:
            params[name] = value
    fields["model"] = _with_provider(fields.get("model", DEFAULT_MODEL), given.get("api_type"))
    try:
        return ModelConfig(**{**fields, "model_params": params})
    except ValidationError as error:
        first = error.errors(include_url=False, include_input=False)[0]
        where = ".".join(map(str, first["loc"]))
        raise SettingsError(f"the model's configuration: {where}: {first['msg']}; {_SHAPES}") from None


def _mapping(value: Any) -> Mapping[str, Any]:
    if not isinstance(value, Mapping):
        raise ArgumentTypeError(f"model_params is {type(value).__name__}; pass a dict of the provider's parameters")
    return value


def _with_provider(model: Any, api_type: Any) -> Any:
    if api_type in (None, "openai", "open_ai"):
        return model
    if api_type != "anthropic":
        raise SettingsError(
            f"api_type={api_type!r} is none that is spoken here, which are 'openai' and 'anthropic'; give the address "
            "of the server's OpenAI-compatible API as base_url"
        )
    return model if str(model).startswith("anthropic/") else f"anthropic/{model}"


def _read_key(value: Any) -> dict[str, Any]:
    """A key, or the name of the variable that holds it, as Settings have it; told apart by what is set."""
    if value is None or value == "":
        return {}
    if isinstance(value, str) and not (value.isascii() and value.isprintable()):
        raise SettingsError("api_key: it holds characters that no key has, such as a line end; copy the key anew")
    return {"api_key_env": value} if isinstance(value, str) and value in os.environ else {"api_key": value}


def _read_seed(value: Any) -> dict[str, Any]:
    return {"cache": "disable"} if value is None else {"attempt": value}


def _read_price(value: Any) -> dict[str, Any]:
    if not isinstance(value, list | tuple):
        return {"price": value}
    if len(value) != _PAIR or not all(isinstance(part, int | float) for part in value):
        raise SettingsError(f"price={value!r}: give USD for a thousand tokens in, and for a thousand tokens out")
    into, out = (part * _THOUSANDS_A_MILLION for part in value)
    return {"price": {"input_usd": into, "output_usd": out}}


def _renamed(name: str) -> Callable[[Any], dict[str, Any]]:
    return lambda value: {} if value is None else {name: value}


_READERS: Final[Mapping[str, Callable[[Any], dict[str, Any]]]] = {
    "api_key": _read_key,
    "base_url": _renamed("api_base"),
    "cache_seed": _read_seed,
    "deadline": _renamed("deadline_s"),
    "model_params": lambda _: {},
    "price": _read_price,
    "request_timeout": _renamed("deadline_s"),
    "timeout": _renamed("deadline_s"),
    "use_cache": lambda value: {} if value else {"cache": "disable"},
}


# Texts that a caller gives, checked before anything is sent or spent.


def require_text(what: str, value: Any, remedy: str) -> str:
    """The value, a text that can be sent to a model.

    Raises ArgumentTypeError where it is no str; RequestError where it is empty, too long, or no text in UTF-8.
    """
    if not isinstance(value, str):
        raise ArgumentTypeError(f"{what} is {type(value).__name__}; {remedy}")
    flaw = _flaw(value)
    if flaw:
        raise RequestError(f"{what} {flaw}; {remedy}")
    return value


def require_texts(what: str, value: Any, remedy: str) -> tuple[str, ...]:
    """The value, a list of texts. Raises ArgumentTypeError for anything else."""
    if not isinstance(value, (list, tuple)) or not all(isinstance(text, str) for text in value):
        raise ArgumentTypeError(f"{what} is {value!r:.100}; {remedy}")
    return tuple(value)


def _flaw(text: str) -> str:
    if not text.strip():
        return "is empty"
    if len(text) > LONGEST_SOURCE_CHARS:
        return f"has {len(text):,} characters, more than {LONGEST_SOURCE_CHARS:,}"
    if "\0" in text:
        return f"holds a NUL character at position {text.index(chr(0))}"
    try:
        text.encode()
    except UnicodeEncodeError as error:
        return f"holds half a character (a lone surrogate, {text[error.start]!r}) at position {error.start}"
    return ""

"""A model's configuration, read from a name, an entry of AutoGen's config lists, or Settings."""

from __future__ import annotations

import os
from collections.abc import Callable, Mapping, Sequence
from typing import Any, Final

from pydantic import ConfigDict, Field, JsonValue, SecretStr, ValidationError

from flyteplugins_codegen.errors import ArgumentTypeError, SettingsError
from flyteplugins_codegen.models.base import Value
from flyteplugins_codegen.models.settings import ApiName, CacheMode, Settings
from flyteplugins_codegen.models.spending import Price

DEFAULT_MODEL: Final = "openai/gpt-5.4-mini"
"""The model where a caller names none."""

_THOUSANDS_A_MILLION: Final = 1000
_PAIR: Final = 2
_MAX_NAME_CHARS: Final = 1000
# Options of AutoGen's that have no effect here: entries are not chosen by tags, and we fill in templates.
_IGNORED: Final = frozenset({"tags", "allow_format_str_template", "api_rate_limit", "max_retries"})
_SHAPES: Final = "pass a model's name, a dict such as {'model': ..., 'api_key': ..., 'base_url': ...}, or Settings"


class ModelConfig(Value):
    """One model, its address, and how it is asked.

    `api_key_env` names the variable or secret that holds the key; `api_key` is the key itself and is never shown.
    `price` is the model's price if no list has it. Another `attempt` makes the same request again for another answer;
    with the same one a reply that was paid for is reused. `api`, `stream` and `max_concurrent_calls` are as in
    `Settings`.
    """

    model_config = ConfigDict(protected_namespaces=())

    model: str = Field(default=DEFAULT_MODEL, min_length=1, max_length=_MAX_NAME_CHARS)
    api_base: str | None = Field(default=None, max_length=_MAX_NAME_CHARS)
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
        """The caller's own price by the model's name."""
        return {} if self.price is None else {self.model: self.price}

    @property
    def settings(self) -> Settings:
        """The same as `Settings`, which the registry takes; without `api_key`."""
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


def read_config(config: Any) -> ModelConfig:
    """One configuration from a model's name, a dict, Settings (an agent is one), or a ModelConfig.

    A dict has the keys of AutoGen's config lists: `model`, `api_key` (the key, or the name of a variable that is set),
    `base_url` or `api_base`, `api_type` (`openai`, `anthropic`), `timeout`, `price` (USD for a thousand tokens in and
    out), `cache_seed` (None asks again each time, another number gives another answer), `use_cache`; or the fields of
    `ModelConfig`. Other keys, such as `max_tokens`, are passed to the provider.

    Raises:
        ArgumentTypeError: the argument is none of these.
        SettingsError: a value is not possible; the message names it.
    """
    if isinstance(config, ModelConfig):
        return config
    if isinstance(config, str):
        config = {"model": config}
    elif isinstance(config, Settings):
        config = _of_settings(config)
    if not isinstance(config, Mapping):
        raise ArgumentTypeError(f"a model's configuration is {type(config).__name__}; {_SHAPES}")
    return _of_mapping(config)


def read_configs(configs: Any, defaults: Mapping[str, Any] | None = None) -> tuple[ModelConfig, ...]:
    """The configurations of one entry or of a list, with `defaults` for entries that are a dict or a name.

    Raises ArgumentTypeError, SettingsError: see `read_config`; and for an empty list.
    """
    entries = list(configs) if isinstance(configs, Sequence) and not isinstance(configs, str | bytes) else [configs]
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


def _of_mapping(config: Mapping[str, Any]) -> ModelConfig:
    fields: dict[str, Any] = {}
    params = dict(_mapping(config.get("model_params", {})))
    for name, value in config.items():
        if name in _READERS:
            fields |= _READERS[name](value)
        elif name in ModelConfig.model_fields:
            fields[name] = value
        elif name not in _IGNORED | {"api_type"}:
            params[name] = value
    fields["model"] = _with_provider(fields.get("model", DEFAULT_MODEL), config.get("api_type"))
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
    """A key, or the name of the variable that holds it, if one of that name is set."""
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

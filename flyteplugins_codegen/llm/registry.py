"""From a model's name in the settings to a model. A provider is one entry in `_PROVIDERS`."""

from __future__ import annotations

import re
from collections.abc import Callable
from importlib.metadata import EntryPoint, entry_points
from pathlib import Path
from typing import NamedTuple

from pydantic import SecretStr

from flyteplugins_codegen.errors import SettingsError, UnknownModelError
from flyteplugins_codegen.llm.anthropic import ADDRESS as ANTHROPIC_ADDRESS
from flyteplugins_codegen.llm.anthropic import Messages
from flyteplugins_codegen.llm.endpoint import ProviderAddress, resolve_endpoint
from flyteplugins_codegen.llm.http_model import Dialect, HostedModel, Streamed, findings_of, gate_of
from flyteplugins_codegen.llm.openai import ADDRESS as OPENAI_ADDRESS
from flyteplugins_codegen.llm.openai import ChatCompletions
from flyteplugins_codegen.llm.openai_responses import Responses
from flyteplugins_codegen.llm.protocol import Model
from flyteplugins_codegen.llm.replay import RecordingModel, RememberedModel, ReplayModel
from flyteplugins_codegen.models.settings import Settings
from flyteplugins_codegen.store import ContentStore

# What makes a provider: where it is, how it speaks, which bare model names are its own.


class Provider(NamedTuple):
    """One provider. `dialects` makes its ways of speaking, what is tried first at the front.

    `bare_names` is a regular expression of the names that are its own without `PROVIDER/` before them, of the
    providers that come with this package.
    """

    address: ProviderAddress
    dialects: Callable[[Settings], tuple[Dialect, ...]]
    bare_names: str = r"\b\B"


# Providers of other distributions, by the entry point group `flyteplugins_codegen.providers`.

GROUP = "flyteplugins_codegen.providers"


def find_declared(name: str) -> EntryPoint | None:
    """The provider of this name that an installed distribution declares. Nothing of it is imported yet."""
    return next(iter(entry_points(group=GROUP, name=name)), None)


def load_declared(entry: EntryPoint) -> Provider:
    """The provider itself. Raises SettingsError that names what to install where its module cannot be imported."""
    owner = entry.dist.name if entry.dist is not None else entry.module
    try:
        provider = entry.load()
    except ImportError as error:
        extras = f"[{','.join(entry.extras)}]" if entry.extras else ""
        raise SettingsError(
            f"the provider {entry.name!r} of {owner} cannot be imported: {error}; install what it needs: "
            f"pip install '{owner}{extras}'"
        ) from error
    if not isinstance(provider, Provider):
        raise SettingsError(f"the provider {entry.name!r} of {owner} is {type(provider).__name__}, and no Provider")
    return provider


def _openai_dialects(settings: Settings) -> tuple[Dialect, ...]:
    """Chat Completions, which every server speaks, before Responses, unless the settings say so: then the reverse."""
    return (Responses(), ChatCompletions()) if settings.api == "responses" else (ChatCompletions(), Responses())


def _anthropic_dialects(settings: Settings) -> tuple[Dialect, ...]:
    del settings
    return (Messages(),)


_PROVIDERS = {
    "openai": Provider(OPENAI_ADDRESS, _openai_dialects, r"gpt-|chatgpt-|o[1-9]"),
    "anthropic": Provider(ANTHROPIC_ADDRESS, _anthropic_dialects, r"claude-"),
}
_REPLAY = "replay:"
# What the request itself says; `model_params` may say the rest.
_RESERVED_PARAMS = frozenset(
    {"model", "messages", "input", "system", "stream", "n", "response_format", "tools", "tool_choice"}
)

_CREDENTIAL = re.compile(r"(?i)authorization|api-?key|token|secret|cookie|password")


def open_model(
    settings: Settings,
    *,
    store: ContentStore | None = None,
    key: SecretStr | None = None,
    watch: Callable[[Model], Model] = lambda model: model,
) -> Model:
    """The model that the settings name, remembering its replies in `store`, recording them where `record` says so.

    Nothing is sent yet, and no client is imported. `key` is the provider's key itself, in place of the variable that
    holds it. `watch` is put around the model where every call that is made passes, and no reply that is remembered: a
    budget, say.

    Raises:
        UnknownModelError: no provider knows the name.
        MissingKeyError: the provider wants a key and there is none.
        SettingsError: a recording is missing or damaged; a parameter or an address is not possible.
    """
    _check_params(settings)
    model = _open(settings, store, key, watch)
    return RecordingModel(model, Path(settings.record)) if settings.record else model


def _open(
    settings: Settings, store: ContentStore | None, key: SecretStr | None, watch: Callable[[Model], Model]
) -> Model:
    if settings.model.startswith(_REPLAY):
        return watch(ReplayModel(Path(settings.model.removeprefix(_REPLAY))))
    provider, model_id = resolve_name(settings.model, has_address=settings.api_base is not None)
    address, dialects, _ = _provider(provider)
    endpoint = resolve_endpoint(settings, model_id, address, key)
    plain = dialects(settings)
    streamed = tuple(Streamed(dialect) for dialect in plain[:1]) if settings.stream else ()
    model = watch(
        HostedModel(
            endpoint,
            *streamed,
            *plain,
            gate=gate_of(endpoint.address, settings.max_concurrent_calls),
            findings=findings_of(str(endpoint), settings.api, settings.stream),
        )
    )
    return model if store is None else RememberedModel(model, store, settings.cache, scope=endpoint.address)


def _provider(name: str) -> Provider:
    """Raises SettingsError for a provider of another distribution that cannot be imported."""
    if name in _PROVIDERS:
        return _PROVIDERS[name]
    entry = find_declared(name)
    if entry is None:
        raise UnknownModelError(f"no installed distribution declares a provider {name!r} any more")
    return load_declared(entry)


def resolve_name(name: str, *, has_address: bool) -> tuple[str, str]:
    """The provider and its own name for the model. `has_address` tells that the settings hold an `api_base`.

    A server of the user's own speaks OpenAI's protocol, whatever its models are called, unless the name says
    otherwise. Raises UnknownModelError.
    """
    prefix, slash, model_id = name.partition("/")
    if slash and model_id and (prefix in _PROVIDERS or find_declared(prefix)):
        return prefix, model_id
    if has_address and name.strip() and prefix not in _PROVIDERS:
        return "openai", name
    for provider, (_, _, bare_names) in _PROVIDERS.items():
        if re.match(bare_names, name):
            return provider, name
    raise UnknownModelError(
        f"no provider knows the model {name!r}. Write {' or '.join(f'{known}/NAME' for known in _PROVIDERS)}; a bare "
        "gpt-*, chatgpt-*, o1..o9 or claude-*; any name together with api_base for an OpenAI-compatible server; or "
        "replay:FILE for recorded replies"
    )


def _check_params(settings: Settings) -> None:
    reserved = sorted(_RESERVED_PARAMS & settings.model_params.keys())
    if reserved:
        raise SettingsError(f"model_params holds {', '.join(reserved)}, which the request itself sets; leave it out")
    headers = settings.model_params.get("extra_headers")
    telling = [name for name in headers if _CREDENTIAL.search(name)] if isinstance(headers, dict) else []
    if telling:
        raise SettingsError(
            f"model_params holds the header {telling[0]!r}, whose value results, logs and a cluster's console would "
            "show; name the variable or secret that holds the key by api_key"
        )

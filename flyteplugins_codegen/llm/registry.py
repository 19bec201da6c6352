"""Opens the model that the settings name, of a provider in `_PROVIDERS` or of another distribution's plugin.

Other distributions add providers through the entry point group `flyteplugins_codegen.providers`.
"""

from __future__ import annotations

import contextlib
import re
from collections.abc import Callable, Mapping
from importlib.metadata import EntryPoint, entry_points
from pathlib import Path
from types import MappingProxyType
from typing import NamedTuple
from urllib.parse import urlsplit, urlunsplit

from pydantic import SecretStr

from flyteplugins_codegen.errors import SettingsError, UnknownModelError
from flyteplugins_codegen.llm.anthropic import ADDRESS as ANTHROPIC_ADDRESS
from flyteplugins_codegen.llm.anthropic import Messages
from flyteplugins_codegen.llm.concurrency import concurrency_limit
from flyteplugins_codegen.llm.endpoint import ProviderAddress, check_endpoint, resolve_endpoint
from flyteplugins_codegen.llm.http_model import Dialect, HttpModel, StreamedDialect, known_capabilities
from flyteplugins_codegen.llm.openai import ADDRESS as OPENAI_ADDRESS
from flyteplugins_codegen.llm.openai import ChatCompletions
from flyteplugins_codegen.llm.openai_responses import Responses
from flyteplugins_codegen.llm.protocol import Model
from flyteplugins_codegen.llm.replay import CachedModel, RecordingModel, ReplayModel
from flyteplugins_codegen.models.settings import Settings
from flyteplugins_codegen.store import ContentStore

ENTRY_POINT_GROUP = "flyteplugins_codegen.providers"
_REPLAY = "replay:"
# The request itself sets these; `model_params` may set all others.
_RESERVED_PARAMS = frozenset(
    {"model", "messages", "input", "system", "stream", "n", "response_format", "tools", "tool_choice"}
)
_CREDENTIAL = re.compile(r"(?i)authorization|api-?key|token|secret|cookie|password")


class Provider(NamedTuple):
    """One provider. `dialects` makes its dialects in the order in which they are tried.

    `bare_names` is a regular expression for the model names that need no `PROVIDER/` before them, used only for the
    providers of this package.
    """

    address: ProviderAddress
    dialects: Callable[[Settings], tuple[Dialect, ...]]
    bare_names: str = r"\b\B"


def find_plugin(name: str) -> EntryPoint | None:
    """The entry point of an installed distribution for the provider of this name; nothing is imported."""
    return next(iter(entry_points(group=ENTRY_POINT_GROUP, name=name)), None)


def load_plugin(entry: EntryPoint) -> Provider:
    """Import the provider. Raises SettingsError, which says what to install, where its module cannot be imported."""
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
    """Chat Completions first, which every server implements, then Responses; the reverse if the settings say so."""
    return (Responses(), ChatCompletions()) if settings.api == "responses" else (ChatCompletions(), Responses())


def _anthropic_dialects(settings: Settings) -> tuple[Dialect, ...]:
    del settings
    return (Messages(),)


_PROVIDERS = {
    "openai": Provider(OPENAI_ADDRESS, _openai_dialects, r"gpt-|chatgpt-|o[1-9]"),
    "anthropic": Provider(ANTHROPIC_ADDRESS, _anthropic_dialects, r"claude-"),
}


def address_variables() -> tuple[str, ...]:
    """The environment variables that hold providers' addresses, those of installed plugins among them.

    A plugin that cannot be loaded has none; what is wrong with it is said when its model is opened.
    """
    providers = [*_PROVIDERS.values()]
    for entry in entry_points(group=ENTRY_POINT_GROUP):
        with contextlib.suppress(SettingsError):
            providers.append(load_plugin(entry))
    return tuple(provider.address.base_variable for provider in providers)


def open_model(
    settings: Settings,
    *,
    store: ContentStore | None = None,
    key: SecretStr | None = None,
    wrap: Callable[[Model], Model] = lambda model: model,
) -> Model:
    """The model that the settings name, with its replies cached in `store`, and recorded if the settings say so.

    Nothing is sent yet, and no client is imported. `key` is the value of the provider's key, used in place of the
    variable that holds it. `wrap` puts another model, such as a `BudgetedModel`, between the cache and the provider: it
    sees every call that is made, and no cached reply.

    Raises:
        UnknownModelError: no provider knows the name.
        MissingKeyError: the provider needs a key and there is none.
        SettingsError: a recording is missing or damaged; a parameter or an address is not possible.
    """
    _check_params(settings)
    model = _open(settings, store, key, wrap)
    return RecordingModel(model, Path(settings.record)) if settings.record else model


def check_model_settings(settings: Settings) -> None:
    """Check the model's settings as far as that takes no key, recording or plugin, which may be on a cluster alone.

    Raises UnknownModelError, SettingsError.
    """
    _check_params(settings)
    if settings.model.startswith(_REPLAY):
        return
    prefix = settings.model.partition("/")[0]
    # First, and whatever the provider: what is given as the name of a key may be the key.
    check_endpoint(settings, _PROVIDERS.get(prefix, _PROVIDERS["openai"]).address)
    resolve_name(settings.model, has_address=settings.api_base is not None)


def _open(
    settings: Settings, store: ContentStore | None, key: SecretStr | None, wrap: Callable[[Model], Model]
) -> Model:
    if settings.model.startswith(_REPLAY):
        return wrap(ReplayModel(Path(settings.model.removeprefix(_REPLAY))))
    provider, model_id = resolve_name(settings.model, has_address=settings.api_base is not None)
    address, dialects, _ = _provider(provider)
    endpoint = resolve_endpoint(settings, model_id, address, key)
    plain = dialects(settings)
    streamed = tuple(StreamedDialect(dialect) for dialect in plain[:1]) if settings.stream else ()
    model = wrap(
        HttpModel(
            endpoint,
            *streamed,
            *plain,
            concurrency=concurrency_limit(endpoint.address, settings.max_concurrent_calls),
            capabilities=known_capabilities(str(endpoint), settings.api, settings.stream),
        )
    )
    return model if store is None else CachedModel(model, store, settings.cache, scope=endpoint.address)


def _provider(name: str) -> Provider:
    """The provider of this name. Raises SettingsError for a plugin that cannot be imported."""
    if name in _PROVIDERS:
        return _PROVIDERS[name]
    entry = find_plugin(name)
    if entry is None:
        raise UnknownModelError(f"no installed distribution declares a provider {name!r} any more")
    return load_plugin(entry)


def resolve_name(name: str, *, has_address: bool) -> tuple[str, str]:
    """The provider and its own name for the model. `has_address` says that the settings have an `api_base`.

    A server of the user's own is taken to implement OpenAI's API, whatever its models are called, unless the name says
    otherwise. Raises UnknownModelError.
    """
    prefix, slash, model_id = name.partition("/")
    if slash and model_id and (prefix in _PROVIDERS or find_plugin(prefix)):
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


def public_address(model: str) -> str:
    """The address of the model's provider itself. Raises UnknownModelError, SettingsError."""
    provider, _ = resolve_name(model, has_address=False)
    return _provider(provider).address.default


def own_address(settings: Settings, environment: Mapping[str, str] = MappingProxyType({})) -> str | None:
    """The address that the settings, or else the variables, put in place of the provider's; None where neither does.

    Without a user, a password and a query, which may be credentials.
    """
    if settings.model.startswith(_REPLAY):
        return None
    try:
        provider, _ = resolve_name(settings.model, has_address=settings.api_base is not None)
        address = _provider(provider).address
    except (UnknownModelError, SettingsError):  # a provider of another machine
        base, default = settings.api_base, None
    else:
        base, default = settings.api_base or environment.get(address.base_variable), address.default
    if not base or base.rstrip("/") == default:
        return None
    parts = urlsplit(base)
    return urlunsplit(parts._replace(netloc=parts.netloc.rpartition("@")[2], query="", fragment=""))


def _check_params(settings: Settings) -> None:
    reserved = sorted(_RESERVED_PARAMS & settings.model_params.keys())
    if reserved:
        raise SettingsError(f"model_params holds {', '.join(reserved)}, which the request itself sets; leave it out")
    headers = settings.model_params.get("extra_headers")
    credentials = [name for name in headers if _CREDENTIAL.search(name)] if isinstance(headers, dict) else []
    if credentials:
        raise SettingsError(
            f"model_params holds the header {credentials[0]!r}, whose value results, logs and a cluster's console "
            "would show; name the variable or secret that holds the key by api_key"
        )

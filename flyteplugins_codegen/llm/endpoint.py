"""The address and the key that a provider's client uses; the key's value is never shown."""

from __future__ import annotations

import functools
import os
import re
import sys
from typing import TYPE_CHECKING
from urllib.parse import urlsplit

from pydantic import ConfigDict, SecretStr

from flyteplugins_codegen.errors import MissingKeyError, SettingsError
from flyteplugins_codegen.models.base import Value
from flyteplugins_codegen.models.settings import Settings

if TYPE_CHECKING:
    import ssl

_PLACEHOLDER = "no-key"
_VARIABLE = re.compile(r"[A-Za-z_][A-Za-z0-9_]{0,100}\Z")


class Endpoint(Value):
    """One model at one address. `key_variable` names the source of the key, "" for a server that needs none."""

    model_config = ConfigDict(protected_namespaces=())

    provider: str
    model_id: str
    address: str
    key_variable: str = ""
    key: SecretStr = SecretStr(_PLACEHOLDER)

    def __str__(self) -> str:
        return f"{self.provider}/{self.model_id} at {self.address}"

    def redact(self, text: str) -> str:
        """The text without the key, which some servers quote in their error messages."""
        value = self.key.get_secret_value()
        return text if value == _PLACEHOLDER else text.replace(value, "[key]")


class ProviderAddress(Value):
    """A provider's default address, and the environment variables for another address and for the key."""

    provider: str
    default: str
    base_variable: str
    key_variable: str


def resolve_endpoint(
    settings: Settings, model_id: str, address: ProviderAddress, key: SecretStr | None = None
) -> Endpoint:
    """The endpoint for the settings. A server of the user's own needs no key, unless the settings name one.

    `key` is the value of the key, used in place of a variable.

    Raises:
        MissingKeyError: the endpoint needs a key and there is none.
        SettingsError: an address or a key is not valid.
    """
    base = _resolve_base(settings, address)
    if key is not None:
        _check_key("api_key", key.get_secret_value())
        endpoint = Endpoint(provider=address.provider, model_id=model_id, address=base.rstrip("/"))
        return endpoint.model_copy(update={"key_variable": "api_key", "key": key})
    variable = _resolve_key_variable(settings, address)
    endpoint = Endpoint(provider=address.provider, model_id=model_id, address=base.rstrip("/"))
    value = find_secret(variable)
    if value:
        _check_key(variable, value)
        return endpoint.model_copy(update={"key_variable": variable, "key": SecretStr(value)})
    if settings.api_key or endpoint.address == address.default:
        raise _missing_key(settings, variable)
    return endpoint


def check_endpoint(settings: Settings, address: ProviderAddress) -> None:
    """Check address and key's name, but not that there is a key. Raises SettingsError."""
    _resolve_base(settings, address)
    _resolve_key_variable(settings, address)


def _resolve_base(settings: Settings, address: ProviderAddress) -> str:
    base = settings.api_base or os.environ.get(address.base_variable) or address.default
    if not base.startswith(("http://", "https://")):
        raise SettingsError(f"api_base={base!r} is no address; it begins with http:// or https://")
    if urlsplit(base).username is not None:
        raise SettingsError("api_base holds a user or a password, which results and errors would show; use api_key")
    return base


def _resolve_key_variable(settings: Settings, address: ProviderAddress) -> str:
    variable = settings.api_key or address.key_variable
    if not _VARIABLE.match(variable):
        raise SettingsError(
            "api_key is the NAME of an environment variable or secret, in letters, digits and underscores; what was "
            f"given is none and is not shown, in case it is a key itself. Try api_key={address.key_variable!r}"
        )
    return variable


def find_secret(name: str) -> str | None:
    """The value of this environment variable, else of this Flyte secret if flytekit is loaded; None without either."""
    value = os.environ.get(name, "").strip()
    if value or "flytekit" not in sys.modules:
        return value or None
    import flytekit

    context = flytekit.current_context()
    try:
        return str(context.secrets.get(key=name)).strip() or None if context else None
    except ValueError:  # no such secret
        return None


def _check_key(variable: str, value: str) -> None:
    if not (value.isascii() and value.isprintable()):
        raise SettingsError(f"the value of {variable} holds characters that no key has; set it anew")


def _missing_key(settings: Settings, variable: str) -> MissingKeyError:
    return MissingKeyError(
        f"model {settings.model!r} needs a key, and {variable} is not set. Either set the environment variable "
        f"{variable}; or pass api_key='NAME' with the NAME (not the value) of the variable or Flyte secret that holds "
        f"it; or, on a cluster, give the task secret_requests=[Secret(key={variable!r})]; or run without any key on "
        f"recorded replies: model='replay:FILE'"
    )


@functools.cache
def tls_context() -> ssl.SSLContext:
    """The certificates that all clients share, read once; each client would take 18 ms to make its own context."""
    import httpx2  # the HTTP library of both providers' clients

    return httpx2.create_ssl_context()

"""Whether the package index answers: one request, before anything is paid for."""

from __future__ import annotations

import base64
import http.client
import logging
import os
import re
import urllib.error
import urllib.request
from collections.abc import Iterable
from typing import Final
from urllib.parse import unquote, urlsplit, urlunsplit

from flyteplugins_codegen.errors import PackageError, SettingsError
from flyteplugins_codegen.packages.resolve import RUNNER_REQUIREMENTS, resolve
from flyteplugins_codegen.packages.uv import index_settings

_log = logging.getLogger(__name__)
_TIMEOUT_S: Final = 5.0
_PROBED: Final = "pytest"
"""What every test run installs."""
_NO_HEAD: Final = 405
_NAME: Final = re.compile(r"\A[A-Za-z0-9._-]+=(?=\w+:)")
"""An index may have a name: NAME=ADDRESS."""


def check_index(packages: Iterable[str] = ()) -> None:
    """Check that the index answers, or else that uv can resolve these packages and the test runner's without it.

    One request to the index of `index_settings` is enough where it is answered. Otherwise uv decides: it has its own
    cache, credentials and configuration files, and our locks are cached too.

    Raises:
        IndexUnavailableError: the index, the disk or uv failed.
        SettingsError: the index has no such package.
    """
    flaw = _probe()
    if not flaw:
        return
    _log.debug("the package index was asked for %s: %s", _PROBED, flaw)
    try:
        resolve((*packages, *RUNNER_REQUIREMENTS))
    except PackageError as error:
        raise SettingsError(f"base_packages, or the package index: {error}") from error


def _probe() -> str:
    """Why the page of one distribution could not be had from the index; "" if it is there."""
    if os.environ.get("UV_OFFLINE", "").lower() in {"1", "true", "yes", "on"}:
        return "UV_OFFLINE is set"
    settings = index_settings()
    address = _NAME.sub("", settings.get("UV_DEFAULT_INDEX") or settings.get("UV_INDEX_URL") or "")
    if not address.startswith(("http://", "https://")):
        return "it is a folder" if address else "only uv knows which one it is"
    try:
        with urllib.request.urlopen(_request(address), timeout=_TIMEOUT_S):  # noqa: S310 - http or https, see above
            return ""
    except urllib.error.HTTPError as error:
        return "" if error.code == _NO_HEAD else str(error)
    except (OSError, ValueError, http.client.HTTPException) as error:
        return str(error)


def _request(address: str) -> urllib.request.Request:
    """A HEAD of the distribution's page, with the address's user and password as a header."""
    parts = urlsplit(address)
    host = parts.netloc.rpartition("@")[2]
    page = urlunsplit((parts.scheme, host, f"{parts.path.rstrip('/')}/{_PROBED}/", parts.query, ""))
    request = urllib.request.Request(page, method="HEAD")  # noqa: S310 - http or https, see the caller
    if parts.username is not None:
        login = f"{unquote(parts.username)}:{unquote(parts.password or '')}"
        request.add_header("Authorization", f"Basic {base64.b64encode(login.encode()).decode()}")
    return request

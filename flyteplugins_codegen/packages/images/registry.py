"""Ask a registry whether it has an image, through the HTTP API of the OCI distribution specification.

The builders cannot answer this: a remote one does not know, and each of the others answers in a form of its own.
"""

from __future__ import annotations

import base64
import binascii
import json
import re
import urllib.error
import urllib.parse
import urllib.request
from pathlib import Path

from flyteplugins_codegen.packages.images.builder import CREDENTIALS

_TIMEOUT_S = 20.0
_UNAUTHORIZED = 401
_LOOPBACK = re.compile(r"(?:localhost|127(?:\.\d+){3}|\[::1\])(?::\d+)?\Z")
# Joined here: this project's files contain no registry's host, so that a check finds one in a lock file.
_DOCKER_HUB = "docker" + ".io"
_HUB_API, _HUB_LOGIN = f"registry-1.{_DOCKER_HUB}", f"https://index.{_DOCKER_HUB}/v1/"
_MANIFESTS = (
    "application/vnd.oci.image.manifest.v1+json",
    "application/vnd.oci.image.index.v1+json",
    "application/vnd.docker.distribution.manifest.v2+json",
    "application/vnd.docker.distribution.manifest.list.v2+json",
)
_PARAMETER = re.compile(r'(\w+)="([^"]*)"')


def find_digest(name: str, login: Path | None = None) -> str | None:
    """The digest of the image in its registry; None where the registry does not have it or does not answer.

    Credentials are read from `config.json` in the folder `login`. Errors of the registry are not reported here, but by
    the push.
    """
    host, path, tag = split_name(name)
    scheme = "http" if is_loopback(name) else "https"
    api = _HUB_API if host == _DOCKER_HUB else host
    address = f"{scheme}://{api}/v2/{path}/manifests/{tag}"
    basic = _basic(login, host)
    try:
        return _ask(address, basic)
    except urllib.error.HTTPError as error:
        return _digest_by_token(error, address, basic) if error.code == _UNAUTHORIZED else None
    except (OSError, ValueError):
        return None


def split_name(name: str) -> tuple[str, str, str]:
    """Host, path and tag of an image's name; the host is Docker Hub where the name has none, as with every engine."""
    path, _, tag = name.rpartition(":")
    host, slash, rest = path.partition("/")
    if slash and ("." in host or ":" in host or host == "localhost"):
        return host, rest, tag
    return _DOCKER_HUB, path, tag


def is_loopback(name: str) -> bool:
    """Whether the registry is on this machine; engines use plain HTTP for it."""
    return bool(_LOOPBACK.match(split_name(name)[0]))


def login_file(secret: str, name: str) -> str | None:
    """The text of a Docker `config.json` for the registry in an image's name, made from the value of a secret.

    The value is the text of such a file, or `user:password`; None for anything else.
    """
    try:
        return secret if "auths" in json.loads(secret) else None
    except (ValueError, TypeError):
        pass
    user, colon, password = secret.strip().partition(":")
    if not (user and colon and password):
        return None
    host = split_name(name)[0]
    auth = base64.b64encode(f"{user}:{password}".encode()).decode()
    return json.dumps({"auths": {_HUB_LOGIN if host == _DOCKER_HUB else host: {"auth": auth}}})


def _basic(login: Path | None, host: str) -> str | None:
    try:
        auths = json.loads((login / CREDENTIALS).read_text())["auths"] if login else {}
        auth = auths.get(_HUB_LOGIN if host == _DOCKER_HUB else host, {}).get("auth")
        return f"Basic {auth}" if auth and base64.b64decode(auth) else None
    except (OSError, ValueError, KeyError, AttributeError, binascii.Error):
        return None


def _ask(address: str, authorization: str | None) -> str | None:
    with _open(address, authorization, "HEAD") as answer:
        return str(answer.headers["Docker-Content-Digest"] or "") or None


def _digest_by_token(refusal: urllib.error.HTTPError, address: str, basic: str | None) -> str | None:
    """The answer to the request with a token, fetched from where the registry's challenge says."""
    challenge = dict(_PARAMETER.findall(refusal.headers.get("WWW-Authenticate", "")))
    realm = challenge.pop("realm", "")
    # Credentials are never sent unencrypted, whatever the registry says.
    if not realm.startswith("https://") and not address.startswith("http://"):
        return None
    try:
        with _open(f"{realm}?{urllib.parse.urlencode(challenge)}", basic, "GET") as answer:
            reply = json.load(answer)
        return _ask(address, f"Bearer {reply.get('token') or reply['access_token']}")
    except (OSError, ValueError, KeyError):
        return None


def _open(address: str, authorization: str | None, method: str):  # type: ignore[no-untyped-def]  # noqa: ANN202 - urllib's own
    request = urllib.request.Request(address, method=method, headers={"Accept": ", ".join(_MANIFESTS)})  # noqa: S310 - http(s) by construction
    if authorization:
        # Unredirected, so that it is never sent to another host.
        request.add_unredirected_header("Authorization", authorization)
    return urllib.request.urlopen(request, timeout=_TIMEOUT_S)  # noqa: S310 - see above

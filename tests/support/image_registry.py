"""A registry of images on this machine: as much of the OCI distribution API as engines use to push and to pull.

It takes a user and a password, and counts what it is asked, so that a test can tell what was sent.
"""

from __future__ import annotations

import base64
import hashlib
import re
import threading
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from types import TracebackType
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from typing_extensions import Self

USER, PASSWORD = "pusher", "hunter2-in-a-test"
_EXPECTED = "Basic " + base64.b64encode(f"{USER}:{PASSWORD}".encode()).decode()
_UPLOAD = re.compile(r"/v2/(.+)/blobs/uploads/(\w*)(?:\?digest=(\S+))?\Z")
_BLOB = re.compile(r"/v2/(.+)/blobs/(sha256:\w+)\Z")
_MANIFEST = re.compile(r"/v2/(.+)/manifests/(\S+)\Z")


class ImageRegistry:
    """`with ImageRegistry() as registry:`; images are named `f"{registry.host}/team/name:tag"`."""

    def __init__(self, *, needs_login: bool = False) -> None:
        self.needs_login = needs_login
        self.blobs: dict[str, bytes] = {}
        self.manifests: dict[str, tuple[str, bytes]] = {}
        self.uploads: dict[str, bytes] = {}
        self.pushed: list[str] = []
        self._server = ThreadingHTTPServer(("127.0.0.1", 0), type("Handler", (_Handler,), {"registry": self}))

    @property
    def host(self) -> str:
        return f"127.0.0.1:{self._server.server_port}"

    def __enter__(self) -> Self:
        threading.Thread(target=self._server.serve_forever, daemon=True).start()
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, at: TracebackType | None) -> None:
        self._server.shutdown()
        self._server.server_close()


def digest_of(content: bytes) -> str:
    return f"sha256:{hashlib.sha256(content).hexdigest()}"


class _Handler(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"
    registry: ImageRegistry

    def do_GET(self) -> None:
        if not self._is_let_in():
            return
        if self.path.rstrip("/") == "/v2":
            self._answer(200, b"{}")
        elif found := _BLOB.match(self.path):
            self._show(self.registry.blobs.get(found[2]), "application/octet-stream")
        elif (found := _MANIFEST.match(self.path)) and (kept := self.registry.manifests.get(f"{found[1]}:{found[2]}")):
            self._show(kept[1], kept[0])
        else:
            self._answer(404)

    do_HEAD = do_GET  # noqa: N815 - as http.server has it

    def do_POST(self) -> None:
        if self._is_let_in():
            name = f"u{len(self.registry.uploads)}"
            self.registry.uploads[name] = self._body()
            self._answer(202, Location=f"{self.path.partition('?')[0].rstrip('/')}/{name}")

    def do_PATCH(self) -> None:
        if self._is_let_in() and (found := _UPLOAD.match(self.path)):
            self.registry.uploads[found[2]] += self._body()
            self._answer(202, Location=self.path)

    def do_PUT(self) -> None:
        body = self._body()
        if not self._is_let_in():
            return
        if found := _MANIFEST.match(self.path):
            self.registry.manifests[f"{found[1]}:{found[2]}"] = (self.headers["Content-Type"], body)
            self.registry.manifests[f"{found[1]}:{digest_of(body)}"] = (self.headers["Content-Type"], body)
            self.registry.pushed.append(f"{found[1]}:{found[2]}")
            self._answer(201, **{"Docker-Content-Digest": digest_of(body)})
        elif found := _UPLOAD.match(self.path.replace("%3A", ":")):
            content = self.registry.uploads.pop(found[2]) + body
            assert digest_of(content) == found[3]
            self.registry.blobs[found[3]] = content
            self._answer(201, **{"Docker-Content-Digest": found[3]})

    def _is_let_in(self) -> bool:
        if not self.registry.needs_login or self.headers["Authorization"] == _EXPECTED:
            return True
        self._body()
        self._answer(401, **{"WWW-Authenticate": 'Basic realm="registry"'})
        return False

    def _show(self, content: bytes | None, kind: str) -> None:
        if content is None:
            self._answer(404)
        else:
            self._answer(200, content, **{"Content-Type": kind, "Docker-Content-Digest": digest_of(content)})

    def _body(self) -> bytes:
        if self.headers.get("Transfer-Encoding") != "chunked":
            return self.rfile.read(int(self.headers.get("Content-Length") or 0))
        read = b""
        while size := int(self.rfile.readline(), 16):
            read += self.rfile.read(size)
            self.rfile.readline()
        self.rfile.readline()
        return read

    def _answer(self, status: int, content: bytes = b"", **headers: str) -> None:
        self.send_response(status)
        for name, value in headers.items():
            self.send_header(name, value)
        self.send_header("Content-Length", str(len(content)))
        self.end_headers()
        if self.command != "HEAD":
            self.wfile.write(content)

    def log_message(self, *_: Any) -> None:
        """Say nothing."""

"""The object store behind the data proxy: signed addresses on loopback that take one PUT and answer GET."""

from __future__ import annotations

import base64
import functools
import hashlib
import threading
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any
from urllib.parse import quote, unquote, urlsplit

from flyteidl.service import dataproxy_pb2, dataproxy_pb2_grpc

from flyte_admin.identifiers import Places
from flyte_admin.refusals import already_exists, invalid, missing, not_found

BUCKET = "s3://my-s3-bucket"
_MAX_EXPIRY_S = 3600


class ObjectStore:
    """Objects by address. `signed` are those addresses that may be written, with the digest that they are for."""

    def __init__(self) -> None:
        self.objects: dict[str, bytes] = {}
        self.signed: dict[str, bytes] = {}
        store = self

        class Exchange(_Exchange):
            objects = store

        self._server = ThreadingHTTPServer(("127.0.0.1", 0), Exchange)
        serve = functools.partial(self._server.serve_forever, poll_interval=0.02)
        threading.Thread(target=serve, name="object store", daemon=True).start()

    def url(self, address: str) -> str:
        """Where an object is read and written over HTTP."""
        return f"http://127.0.0.1:{self._server.server_port}/{quote(address, safe='')}"

    def close(self) -> None:
        """Stop serving."""
        self._server.shutdown()
        self._server.server_close()


class _Exchange(BaseHTTPRequestHandler):
    objects: ObjectStore

    def do_PUT(self) -> None:
        body = self.rfile.read(int(self.headers["Content-Length"]))
        digest = hashlib.md5(body, usedforsecurity=False).digest()
        expected = self.objects.signed.get(self._address)
        if expected is None:
            return self._answer(403, b"the address was not signed")
        claimed = base64.b64decode(self.headers.get("Content-MD5", "")) or digest
        if claimed != digest or (expected and expected != digest):
            return self._answer(400, b"BadDigest")
        self.objects.objects[self._address] = body
        return self._answer(200, b"")

    def do_GET(self) -> None:
        body = self.objects.objects.get(self._address)
        self._answer(404 if body is None else 200, body or b"")

    @property
    def _address(self) -> str:
        return unquote(urlsplit(self.path).path[1:])

    def _answer(self, status: int, body: bytes) -> None:
        self.send_response(status)
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    def log_message(self, *arguments: Any) -> None:
        """Say nothing."""


class DataProxy(dataproxy_pb2_grpc.DataProxyServiceServicer):
    """Hands out signed addresses."""

    def __init__(self, places: Places, store: ObjectStore) -> None:
        self.places = places
        self.store = store

    def CreateUploadLocation(self, request: Any, _: Any) -> Any:
        if not (request.project and request.domain):
            raise invalid("project and domain are required parameters")
        self.places.check(request.project, request.domain)
        if not (request.filename_root or request.content_md5):
            raise invalid("content_md5 or filename_root is a required parameter")
        _check_expiry(request.expires_in)
        root = request.filename_root or base64.b32encode(request.content_md5).decode()
        name = request.filename or "unnamed"
        address = f"{BUCKET}/{request.project}/{request.domain}/{root}/{name}"
        self._check_rewrite(address, request)
        self.store.signed[address] = request.content_md5
        return dataproxy_pb2.CreateUploadLocationResponse(signed_url=self.store.url(address), native_url=address)

    def _check_rewrite(self, address: str, request: Any) -> None:
        """Only the same content may be written anew where the caller chose the whole name."""
        present = self.store.objects.get(address)
        if present is None or not (request.filename and request.filename_root):
            return
        if hashlib.md5(present, usedforsecurity=False).digest() != request.content_md5:
            raise already_exists(
                f"file already exists at location [{address}], specify a matching hash if you wish to rewrite"
            )

    def CreateDownloadLocation(self, request: Any, _: Any) -> Any:
        _check_expiry(request.expires_in)
        return dataproxy_pb2.CreateDownloadLocationResponse(signed_url=self.store.url(request.native_url))

    def CreateDownloadLink(self, request: Any, _: Any) -> Any:
        if request.artifact_type == dataproxy_pb2.ARTIFACT_TYPE_UNDEFINED:
            raise invalid("invalid artifact type [ARTIFACT_TYPE_UNDEFINED]")
        if request.WhichOneof("source") is None:
            raise missing("source")
        raise not_found("node execution: nothing is executed here")

    def GetData(self, request: Any, _: Any) -> Any:
        if not request.flyte_url.startswith("flyte://"):
            raise invalid("request does not start with the correct prefix")
        raise not_found("node execution: nothing is executed here")


def _check_expiry(expires_in: Any) -> None:
    if not 0 <= expires_in.seconds <= _MAX_EXPIRY_S:
        raise invalid(f"expiresIn [{expires_in.seconds}s] cannot exceed max allowed expiration [{_MAX_EXPIRY_S}s]")

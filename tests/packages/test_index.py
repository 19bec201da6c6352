"""Whether the index answers: one request decides, and uv where that does not."""

from __future__ import annotations

import threading
from collections.abc import Iterator
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path

import pytest

from flyteplugins_codegen.errors import IndexUnavailableError
from flyteplugins_codegen.packages import index, resolve


class Index(ThreadingHTTPServer):
    """An index that has every distribution, for those who log in if it wants that."""

    login = ""

    def __init__(self) -> None:
        super().__init__(("127.0.0.1", 0), Page)
        self.asked: list[tuple[str, str]] = []


class Page(BaseHTTPRequestHandler):
    server: Index

    def do_HEAD(self) -> None:
        self.server.asked.append((self.path, self.headers.get("Authorization", "")))
        is_known = self.server.login in {"", self.headers.get("Authorization", "")}
        self.send_response(200 if is_known else 401)
        self.end_headers()

    def log_message(self, *_: object) -> None:
        """Nothing."""


@pytest.fixture
def simple() -> Iterator[Index]:
    with Index() as server:
        threading.Thread(target=server.serve_forever, daemon=True).start()
        yield server
        server.shutdown()


@pytest.fixture
def without_uv(monkeypatch: pytest.MonkeyPatch) -> None:
    """uv would ask the index by itself; here it must not be needed."""

    def fail(*_: object, **__: object) -> None:
        raise AssertionError("uv was started")

    monkeypatch.setattr(resolve, "run_uv", fail)


@pytest.mark.usefixtures("without_uv")
@pytest.mark.parametrize(
    ("variable", "address"),
    [
        ("UV_DEFAULT_INDEX", "http://127.0.0.1:{}/simple"),
        ("UV_DEFAULT_INDEX", "company=http://127.0.0.1:{}/simple/"),
        ("UV_INDEX_URL", "http://127.0.0.1:{}/simple"),
        ("PIP_INDEX_URL", "http://127.0.0.1:{}/simple"),
    ],
)
def test_the_index_of_the_settings_is_asked_once(
    simple: Index, monkeypatch: pytest.MonkeyPatch, variable: str, address: str
) -> None:
    for name in ("UV_DEFAULT_INDEX", "UV_INDEX_URL", "PIP_INDEX_URL"):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setenv(variable, address.format(simple.server_port))
    index.check_index()
    assert simple.asked == [("/simple/pytest/", "")]


@pytest.mark.usefixtures("without_uv")
def test_the_login_of_an_address_is_sent_as_a_header(simple: Index, monkeypatch: pytest.MonkeyPatch) -> None:
    simple.login = "Basic bWU6cEBzcw=="
    monkeypatch.setenv("UV_DEFAULT_INDEX", f"http://me:p%40ss@127.0.0.1:{simple.server_port}/simple")
    index.check_index()
    assert simple.asked == [("/simple/pytest/", simple.login)]


def test_an_index_that_does_not_answer_is_an_error_of_the_machine(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("UV_DEFAULT_INDEX", "http://127.0.0.1:9/simple")
    monkeypatch.setenv("UV_HTTP_RETRIES", "0")
    with pytest.raises(IndexUnavailableError, match="Check that the package index is reachable") as caught:
        index.check_index()
    assert caught.value.is_transient


def test_without_an_index_a_lock_that_was_made_before_is_enough(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.setenv("FLYTE_CODEGEN_CACHE", str(tmp_path))
    monkeypatch.setenv("UV_CACHE_DIR", str(tmp_path / "uv"))
    monkeypatch.setenv("UV_OFFLINE", "1")
    with pytest.raises(IndexUnavailableError):
        index.check_index(["six==1.17.0"])
    monkeypatch.delenv("UV_OFFLINE")
    resolve.resolve(["six==1.17.0", *resolve.RUNNER_REQUIREMENTS])
    monkeypatch.setenv("UV_OFFLINE", "1")
    index.check_index(["six==1.17.0"])


def test_where_no_index_is_named_uv_asks_its_own(monkeypatch: pytest.MonkeyPatch) -> None:
    asked = []
    for name in ("UV_DEFAULT_INDEX", "UV_INDEX_URL", "PIP_INDEX_URL"):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setattr(index, "resolve", asked.append)
    index.check_index(["six"])
    assert asked == [("six", *resolve.RUNNER_REQUIREMENTS)]

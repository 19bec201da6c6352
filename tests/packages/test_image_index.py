"""The files that tell a build about index and registry: uv's settings as a `pip.conf`, logins as a `config.json`."""

from __future__ import annotations

import base64
import json
from pathlib import Path

import pytest

from flyteplugins_codegen.packages.images.builder import write_index_files
from flyteplugins_codegen.packages.images.registry import is_loopback, login_file, split_name

DOCKER_HUB = "docker" + ".io"  # no file contains a registry's host: see tests/house/test_repository.py


def test_the_index_of_uv_becomes_pip_s_for_the_owner_s_eyes_only(tmp_path: Path) -> None:
    certificates = tmp_path / "ca.pem"
    certificates.touch()
    environ = {
        "UV_DEFAULT_INDEX": "acme=https://user:key@index.example/simple",
        "UV_EXTRA_INDEX_URL": "https://more.example/simple file:///opt/wheels",
        "SSL_CERT_FILE": str(certificates),
    }
    files = write_index_files(tmp_path, environ)
    assert files["pip"].read_text().splitlines() == [
        "[global]",
        "index-url = https://user:key@index.example/simple",
        "extra-index-url = https://more.example/simple",
        "cert = /run/secrets/ca",
    ]
    assert files["pip"].stat().st_mode & 0o077 == 0
    assert files["ca"] == certificates


def test_without_settings_pip_has_its_own(tmp_path: Path) -> None:
    files = write_index_files(tmp_path, {"SSL_CERT_FILE": str(tmp_path / "gone.pem")})
    assert set(files) == {"pip"}
    assert files["pip"].read_text() == "[global]\n"


@pytest.mark.parametrize(
    ("name", "parts", "is_here"),
    [
        ("row-counter:1a", (DOCKER_HUB, "row-counter", "1a"), False),
        ("team/row-counter:1a", (DOCKER_HUB, "team/row-counter", "1a"), False),
        ("localhost:5000/x:1", ("localhost:5000", "x", "1"), True),
        ("127.0.0.1:80/a/x:1", ("127.0.0.1:80", "a/x", "1"), True),
        ("images.example.org/a/b/x:1", ("images.example.org", "a/b/x", "1"), False),
        ("127.0.0.1.evil.example/x:1", ("127.0.0.1.evil.example", "x", "1"), False),
    ],
)
def test_the_registry_is_read_from_the_name(name: str, parts: tuple[str, str, str], is_here: bool) -> None:  # noqa: FBT001 - a parameter of the table
    assert split_name(name) == parts
    assert is_loopback(name) is is_here


def test_user_and_password_become_the_login_of_that_registry() -> None:
    login = json.loads(login_file("me:pass:word\n", "host.example/team/x:1") or "")
    assert list(login["auths"]) == ["host.example"]
    assert base64.b64decode(login["auths"]["host.example"]["auth"]) == b"me:pass:word"
    assert f"https://index.{DOCKER_HUB}/v1/" in (login_file("me:key", "team/x:1") or "")


def test_a_docker_config_is_taken_as_it_is_and_anything_else_refused() -> None:
    config = '{"auths": {"host.example": {"auth": "eA=="}}}'
    assert login_file(config, "host.example/x:1") == config
    for wrong in ("", "just-a-token", ":password", "user:", "{}", "[]", "7"):
        assert login_file(wrong, "host.example/x:1") is None

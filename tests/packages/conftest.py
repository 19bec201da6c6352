"""An empty cache for each test over one download cache for the session, so that packages are downloaded once."""

from __future__ import annotations

from pathlib import Path

import pytest


@pytest.fixture(scope="session")
def downloads(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tmp_path_factory.mktemp("uv")


@pytest.fixture
def cache(tmp_path: Path, downloads: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """An empty cache folder, without the user's own settings of uv and pip."""
    for variable in ("UV_DEFAULT_INDEX", "UV_INDEX_URL", "UV_OFFLINE", "UV_FIND_LINKS"):
        monkeypatch.delenv(variable, raising=False)
    folder = tmp_path / "cache"
    monkeypatch.setenv("FLYTE_CODEGEN_CACHE", str(folder))
    monkeypatch.setenv("UV_CACHE_DIR", str(downloads))
    return folder

"""Sandboxes with what suites need."""

from __future__ import annotations

from collections.abc import Iterator

import pytest
from suites import environment_with

from flyteplugins_codegen.sandbox.contract import Sandbox
from flyteplugins_codegen.sandbox.opening import open_sandbox


@pytest.fixture(scope="session")
def suite_sandbox(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Sandbox]:
    """A sandbox with the pytest that suites are run with."""
    environment = environment_with(tmp_path_factory.mktemp("pytest") / "packages", "pytest==9.2.0")
    with open_sandbox("bubblewrap", environment=environment) as opened:
        yield opened

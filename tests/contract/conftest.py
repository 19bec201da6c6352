"""The backends that isolate, and a machine around them with something to be got at."""

from __future__ import annotations

from collections.abc import Iterator

import pytest
from backends import ISOLATING, open_backend
from hostile.host import Host, open_host

from flyteplugins_codegen.models.environment import InstalledEnvironment
from flyteplugins_codegen.sandbox import Sandbox
from flyteplugins_codegen.sandbox.python_files import find_interpreter


@pytest.fixture(scope="session")
def host() -> Iterator[Host]:
    with open_host() as opened:
        yield opened


@pytest.fixture(scope="session", params=ISOLATING)
def sandbox(request: pytest.FixtureRequest, host: Host) -> Iterator[Sandbox]:
    python = str(find_interpreter(None).executable)
    environment = InstalledEnvironment(python=python, site_packages=(str(host.packages),), digest="d")
    with open_backend(request.param, environment, lambda: request.getfixturevalue("container_image")) as opened:
        yield opened

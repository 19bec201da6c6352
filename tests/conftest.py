"""What every test shares."""

from __future__ import annotations

import os
from collections.abc import Iterator
from pathlib import Path

import hypothesis
import pytest
from base_image import BaseImageError, base_image
from suites import environment_with

from flyteplugins_codegen.sandbox.contract import Sandbox
from flyteplugins_codegen.sandbox.opening import open_sandbox

# What takes longest comes first, so that no worker is left with it when the others have finished.
LONGEST = (
    "contract/test_sandbox.py",
    "stages/test_nothing_lost.py",
    "contract/test_hostile_programs.py",
    "flyte/test_generate.py",
    "flyte/test_walk.py",
    "house/test_documents.py",
    "judging/suites/test_forgeries.py",
    "stages/test_generate.py",
    "judging/values/test_forgeries.py",
    "flyte/test_runner_image.py",
    "sandbox/warm/test_warm.py",
    "stages/candidates/test_generating.py",
    "llm/test_providers.py",
    "contract/test_image_builders.py",
    "evaluation/test_forgeries.py",
    "house/test_readme.py",
)


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Sort the longest files to the front; the order within a file stays."""
    order = {str(Path(__file__).parent / name): number for number, name in enumerate(LONGEST)}
    items.sort(key=lambda item: order.get(str(item.path), len(order)))


# A machine that does other things too is no failure of what is tested.
hypothesis.settings.register_profile("unhurried", deadline=None)
hypothesis.settings.load_profile("unhurried")


@pytest.fixture(scope="session", autouse=True)
def _private_cache(tmp_path_factory: pytest.TempPathFactory) -> Iterator[None]:
    """Keep every test away from the user's own cache, and from any provider that costs money."""
    patch = pytest.MonkeyPatch()
    patch.setenv("FLYTE_CODEGEN_CACHE", str(tmp_path_factory.mktemp("cache")))
    others = ("_BASE_URL", "FLYTE_CODEGEN_SECRET")
    for variable in [name for name in os.environ if name.endswith(("_API_KEY", *others))]:
        patch.delenv(variable)
    yield
    patch.undo()


@pytest.fixture(scope="session")
def container_image() -> str:
    """The name of a small image with Debian's Python; made once on a machine, in less than a minute."""
    try:
        return base_image()
    except BaseImageError as error:
        pytest.skip(f"no container can be run here: {error}")


@pytest.fixture(scope="session")
def suite_sandbox(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Sandbox]:
    """A sandbox with the pytest that suites are run with."""
    environment = environment_with(tmp_path_factory.mktemp("pytest") / "packages", "pytest==9.2.0")
    with open_sandbox("bubblewrap", environment=environment) as opened:
        yield opened

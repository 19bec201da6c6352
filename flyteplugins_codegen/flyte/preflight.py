"""What the first pod of a run checks, before anything is spent.

Each of these would otherwise be found in a later pod, after model calls were paid. What no retry can help ends the
run at once; an index or a control plane that does not answer is asked again by Flyte's retries.
"""

from __future__ import annotations

import contextlib
import tempfile
from collections.abc import Iterable
from pathlib import Path
from typing import Final

from flytekit.core.context_manager import FlyteContextManager

from flyteplugins_codegen.errors import RequestError
from flyteplugins_codegen.models.settings import ImageConfig, SandboxKind, Settings
from flyteplugins_codegen.packages.images.build import NO_BUILDER, open_builder
from flyteplugins_codegen.packages.index import check_index
from flyteplugins_codegen.solution.flytekit import logger, runs_locally
from flyteplugins_codegen.solution.registration.record import check_control_plane
from flyteplugins_codegen.stages.preflight import Check, check_together, checks_of
from flyteplugins_codegen.stages.prepare import check_sandbox

_PROBE: Final = ".codegen-write-test"

# --- in the first pod ---


def check_before_spending(settings: Settings, *, save_to: str = "", register: bool = False) -> None:
    """Check what a run with these settings needs: sandbox, model, key, recording, index, and where its results go.

    In local execution the index is not asked: packages may be in uv's cache, and replies that were paid for are kept.

    Raises:
        CodegenError: the error of the only check that failed, or NotReadyError with the messages of all.
    """
    checks = [*checks_of(settings), lambda: check_destination(save_to)]
    if not runs_locally():
        checks.append(lambda: check_index(settings.base_packages))
    if register:
        checks += _checks_of_registration(settings)
    check_together(checks)


def check_before_judging(sandbox: SandboxKind, packages: Iterable[str] = (), *, save_to: str = "") -> None:
    """Check what judging programs needs, of which no model is asked. Raises as `check_before_spending`."""
    checks: list[Check] = [lambda: check_sandbox(sandbox), lambda: check_destination(save_to)]
    if packages and not runs_locally():
        checks.append(lambda: check_index(packages))
    check_together(checks)


def _checks_of_registration(settings: Settings) -> list[Check]:
    config = settings.image_config or ImageConfig()
    if config.registry is None:
        warn_of_registry()
    if config.registry is None or config.builder == NO_BUILDER:
        return [check_control_plane]
    return [check_control_plane, lambda: open_builder(config.builder)]


def warn_of_registry() -> None:
    """Log that a solution will be registered with an image that few clusters can pull."""
    logger.warning(
        "register: image_config names no registry, so that no cluster can pull the solution's image; pass image_config "
        "with a registry, and it is built and pushed when the solution is registered"
    )


# --- where results go ---


def check_destination(save_to: str) -> None:
    """Check that a folder can be written: an address by a write of an empty file, which is removed again.

    Raises RequestError.
    """
    if not save_to:
        return
    if "://" in save_to:
        _check_address(save_to)
        return
    if not runs_locally():
        check_reaches_beyond_pod(save_to)
    _check_folder(Path(save_to).absolute())


def check_reaches_beyond_pod(folder: str, option: str = "save_to") -> None:
    """Check that this is no folder that ends with a pod; a volume's is an absolute path. Raises RequestError."""
    if folder and "://" not in folder and not Path(folder).is_absolute():
        raise RequestError(
            f"{option}: {folder!r} would be a folder in a pod, which is gone when the pod ends; on a cluster pass an "
            "address such as s3://bucket/folder"
        )


def _check_folder(folder: Path) -> None:
    """Check that files can be made in a folder, or in the nearest one above it that exists. Raises RequestError."""
    nearest = next(path for path in (folder, *folder.parents) if path.exists())
    try:
        with tempfile.TemporaryFile(dir=nearest):
            pass
    except OSError as error:
        raise RequestError(
            f"save_to: {folder} cannot be written: {error.strerror or error}; pass another folder"
        ) from error


def _check_address(address: str) -> None:
    probe = f"{address.rstrip('/')}/{_PROBE}"
    try:
        store = FlyteContextManager.current_context().file_access.get_filesystem_for_path(probe)
        store.pipe_file(probe, b"")
    except Exception as error:  # each store has exceptions of its own
        reason = " ".join(str(error).split()) or type(error).__name__
        raise RequestError(
            f"save_to: {address} cannot be written: {reason}; pass the address of a bucket or folder that the pods' "
            "service account may write to"
        ) from error
    with contextlib.suppress(Exception):  # one may write without being allowed to remove
        store.rm_file(probe)

"""What a container of the project's image can start: the folders of its user, and the modules that it has.

A control plane registers all of this, and its pods die: the code of a fast registration is unpacked by the image's
user, and without one a task is loaded from a module of the image.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from pathlib import Path, PurePosixPath

from flyte_admin.refusals import invalid

DOCKERFILE = Path(__file__).parents[3] / "Dockerfile"
_RUNNER = re.compile(r"(\A|/)[\w-]*runner(:|\Z)")
_MODULES = ("flyteplugins_codegen", "flytekit")


def check_start(image: str, command: Sequence[str]) -> None:
    """Refuse a command of flytekit that an image called runner, or what is made from it, could not start."""
    if "--dest-dir" in command:
        check_destination(command[command.index("--dest-dir") + 1])
    elif "task-module" in command and _RUNNER.search(image):
        module = command[command.index("task-module") + 1]
        if module.partition(".")[0] not in _MODULES:
            raise invalid(f"No module named '{module}' in image [{image}], and no code is copied into its pods")


def check_destination(folder: str) -> None:
    """Refuse a folder that the image's user cannot write; a relative one begins in its working directory."""
    text = DOCKERFILE.read_text()
    (working,) = re.findall(r"^WORKDIR (\S+)", text, re.MULTILINE)
    path = PurePosixPath(working) / folder
    if not any(path.is_relative_to(own) for own in user_folders(text)):
        raise invalid(f"Failed to get data to {path}/ (recursive=False): Forbidden for the image's user")


def user_folders(dockerfile: str) -> list[str]:
    """The folders that a Dockerfile gives to its user, beside /tmp: the home, and what is changed to be the user's."""
    created = re.search(r"useradd .*--home-dir (\S+) (\w+)", dockerfile)
    assert created, "no user is made"
    return ["/tmp", created[1], *re.findall(rf"chown {created[2]}\S* (\S+)", dockerfile)]

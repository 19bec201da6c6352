"""A mount namespace in which an unprivileged user reaches what lies below root's own folders.

bubblewrap must not run as root, and what it binds must be reachable for the user that it runs as; but interpreters and
caches of root lie below /root, which is closed to others. So a process of root's holds a copy of the host's mounts in
which those folders appear in an open place as well. Each job enters it with `nsenter`, which drops root on the way in.
"""

from __future__ import annotations

import subprocess
import tempfile
from collections.abc import Iterable
from pathlib import Path
from typing import Final

from flyteplugins_codegen.errors import SandboxUnavailableError
from flyteplugins_codegen.sandbox.folders import open_place
from flyteplugins_codegen.sandbox.owner import owned_prefix

UNPRIVILEGED_UID: Final = 65532  # no user of any distribution; within the range that every container maps

# Nothing below /sys is shown to a job, and bubblewrap reads the list of mounts once for each that it makes.
_HOLD = """
umount -R -l /sys 2>/dev/null
while [ $# -gt 1 ]; do mount --rbind "$1" "$2" || exit 1; shift 2; done
echo ready
read -r _
"""


class Antechamber:
    """Holds `sources` reachable until it is closed. Raises SandboxUnavailableError where root may not mount."""

    def __init__(self, sources: Iterable[Path]) -> None:
        self._folder = Path(tempfile.mkdtemp(prefix=owned_prefix("reach"), dir=open_place()))
        self._folder.chmod(0o711)
        self._places = {source: self._folder / str(index) for index, source in enumerate(dict.fromkeys(sources))}
        for place in self._places.values():
            place.mkdir()
        try:
            self._holder = self._hold()
        except BaseException:
            self._remove_folder()
            raise

    def place(self, source: Path) -> Path:
        """Where that source is reachable for a command that starts with `entry()`."""
        return self._places[source]

    def entry(self) -> list[str]:
        """The beginning of a command that is to run in here, without root."""
        user = str(UNPRIVILEGED_UID)
        return ["nsenter", f"--mount=/proc/{self._holder.pid}/ns/mnt", "--setuid", user, "--setgid", user, "--"]

    def close(self) -> None:
        """End the namespace; commands that run in it keep it until they end."""
        self._holder.communicate()
        self._remove_folder()

    def _hold(self) -> subprocess.Popen[bytes]:
        pairs = [str(path) for pair in self._places.items() for path in pair]
        # "slave": what the host mounts later appears here too, and nothing that is mounted here appears on the host.
        command = ["unshare", "--mount", "--propagation", "slave", "sh", "-c", _HOLD, "sh", *pairs]
        try:
            holder = subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.PIPE)
        except FileNotFoundError as error:
            raise SandboxUnavailableError("root needs `unshare` to set up a sandbox: apt install util-linux") from error
        if holder.stdout is None or holder.stdout.readline() != b"ready\n":
            reason = holder.communicate()[1].decode(errors="replace").strip()
            raise SandboxUnavailableError(f"root cannot make a mount namespace here ({reason}); run as another user")
        return holder

    def _remove_folder(self) -> None:
        # One by one, never a tree: were something still mounted here, a tree would reach into it.
        for folder in (*self._places.values(), self._folder):
            folder.rmdir()

"""A mount namespace in which an unprivileged user reaches folders that lie below root's own.

When this process is root, jobs run as another user, who may not pass through, say, root's home to the interpreter.
"""

from __future__ import annotations

import subprocess
import tempfile
from collections.abc import Iterable
from pathlib import Path
from typing import Final

from flyteplugins_codegen.errors import SandboxUnavailableError
from flyteplugins_codegen.sandbox.temporary import owned_prefix, temporary_root

UNPRIVILEGED_UID: Final = 65532  # no user of any distribution; within the range that every container maps

# No job is shown anything below /sys, and bubblewrap reads the list of mounts again for each mount that it makes.
_HOLD = """
umount -R -l /sys 2>/dev/null
while [ $# -gt 1 ]; do mount --rbind "$1" "$2" || exit 1; shift 2; done
echo ready
read -r _
"""


class StagingMounts:
    """Keeps `sources` reachable until it is closed. Raises SandboxUnavailableError if root may not mount here."""

    def __init__(self, sources: Iterable[Path]) -> None:
        self._folder = Path(tempfile.mkdtemp(prefix=owned_prefix("reach"), dir=temporary_root()))
        self._folder.chmod(0o711)
        self._paths = {source: self._folder / str(index) for index, source in enumerate(dict.fromkeys(sources))}
        for path in self._paths.values():
            path.mkdir()
        try:
            self._holder = self._hold()
        except BaseException:
            self._remove_folder()
            raise

    def path_of(self, source: Path) -> Path:
        """The path at which a command that starts with `entry_command()` reaches that source."""
        return self._paths[source]

    def entry_command(self) -> list[str]:
        """The beginning of a command that runs in this namespace, as a user without rights."""
        user = str(UNPRIVILEGED_UID)
        return ["nsenter", f"--mount=/proc/{self._holder.pid}/ns/mnt", "--setuid", user, "--setgid", user, "--"]

    def close(self) -> None:
        """Let go of the namespace; commands that run in it keep it until they end."""
        self._holder.communicate()
        self._remove_folder()

    def _hold(self) -> subprocess.Popen[bytes]:
        pairs = [str(path) for pair in self._paths.items() for path in pair]
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
        # One by one, never as a tree: if something were still mounted here, removing a tree would reach into it.
        for folder in (*self._paths.values(), self._folder):
            folder.rmdir()

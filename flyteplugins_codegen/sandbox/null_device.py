"""Whether a failure of a program is that of a machine whose /dev/null cannot be used.

What a program says about it proves nothing: a program of our own tries the device in the same sandbox.
"""

from __future__ import annotations

import os
from typing import Final

from flyteplugins_codegen.errors import SandboxError
from flyteplugins_codegen.sandbox.contract import APP, Job, Limits, Sandbox
from flyteplugins_codegen.text import decoded

_PROBE_S: Final = 30.0
_UNUSABLE: Final = 3
_PROBE: Final = f"""\
import os, stat, sys

try:
    device = os.open("{os.devnull}", os.O_RDWR)
    is_null = stat.S_ISCHR(os.fstat(device).st_mode) and os.write(device, b"x") == 1 and os.read(device, 1) == b""
    flaw = "" if is_null else "it is no null device"
except OSError as error:
    flaw = str(error)
sys.stderr.write(flaw)
sys.exit({_UNUSABLE} if flaw else 0)
"""


def check_null_device(sandbox: Sandbox, failure: str) -> None:
    """Raise SandboxError if the text of a failure mentions /dev/null, and no program can use it in this sandbox."""
    if os.devnull not in failure:
        return
    job = Job(
        command=("python", f"{APP}/probe.py"), program={"probe.py": _PROBE.encode()}, limits=Limits(wall_s=_PROBE_S)
    )
    tried = sandbox.run(job)
    if tried.status == "exited" and tried.exit_code == _UNUSABLE:
        raise SandboxError(
            f"{os.devnull} cannot be used in the sandbox, so that programs fail that open it: "
            f"{decoded(tried.stderr, tried.stderr_cut)}; on this machine it must be the null device that everyone may "
            f"read and write (mknod -m 666 {os.devnull} c 1 3)"
        )

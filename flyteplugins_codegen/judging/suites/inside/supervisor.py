"""The parent of the candidate's process: it forwards the child's reports and adds how the child really ended."""

from __future__ import annotations

import marshal
import os
import sys

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable
    from typing import Any

LONG_TEXTS = ("message", "traceback", "variables")
MAX_TEXT_CHARS = 8_000
MAX_RELAYED_CHARS = 600_000
MAX_LINE_BYTES = 10 * (len(LONG_TEXTS) * MAX_TEXT_CHARS + 4_000)  # at most 10 bytes for an escaped character
MAX_FORGED = 3
MAX_KEPT_OUTPUT_BYTES = 16_384
PATIENCE_S = 0.1


def supervise(child: int, reports: int, output: int, go: int) -> None:
    """Give the tests to the child, forward its reports until it has ended, then report how it ended."""
    import signal
    from contextlib import suppress

    nonce, tests = _read_stdin()
    secret = os.urandom(32)
    supervisor, kept_output = Supervisor(nonce, secret), bytearray()
    handed_over = marshal.dumps([tests, secret])
    supervisor.write({"kind": "begun"})  # before the solution is imported: a later failure is not the environment's
    with suppress(BrokenPipeError), open(go, "wb") as file:
        file.write(handed_over)
    status = _pump(child, {reports: supervisor.feed, output: kept_output.extend}, kept_output)
    with suppress(ProcessLookupError):
        os.killpg(child, signal.SIGKILL)
    supervisor.close(os.waitstatus_to_exitcode(status), bytes(kept_output))


def _read_stdin() -> tuple[str, bytes]:
    """The nonce and the tests, from stdin."""
    with open(0, "rb", closefd=False) as file:
        nonce, _, tests = file.read().partition(b"\n")
    return nonce.decode().strip(), tests


def _pump(child: int, sinks: dict[int, Callable[[bytes], None]], kept_output: bytearray) -> int:
    """Read until the child has ended and its pipes are closed; do not wait long for a descendant that holds one."""
    import select
    from time import monotonic

    open_ends, status, deadline = set(sinks), None, 0.0
    while open_ends and (status is None or monotonic() < deadline):
        ready, _, _ = select.select(open_ends, (), (), PATIENCE_S)
        for end in ready:
            chunk = os.read(end, 65_536)
            sinks[end](chunk)
            del kept_output[MAX_KEPT_OUTPUT_BYTES // 2 : -MAX_KEPT_OUTPUT_BYTES // 2]
            open_ends -= set() if chunk else {end}
        if status is None:
            ended, code = os.waitpid(child, os.WNOHANG)
            status, deadline = (code, monotonic() + PATIENCE_S) if ended else (None, 0.0)
    return os.waitpid(child, 0)[1] if status is None else status


class Supervisor:
    """Turns the child's sealed lines into JSON lines marked with the nonce. Reports a line without a seal as forged.

    A test confirms its end by a token that only this secret makes (`instrument.token_for`). The record of a test gets
    the names that were confirmed while it ran, and the number of assertions that failed.
    """

    def __init__(self, nonce: str, secret: bytes) -> None:
        self._nonce, self._secret = nonce, secret
        self._seal: Any = None
        self._expected = self._forged = 0
        self._rest = b""
        self._left = MAX_RELAYED_CHARS
        self._confirmed: list[str] = []
        self._failed_assertions = 0

    def feed(self, chunk: bytes) -> None:
        """Process bytes from the channel; a line may come in parts."""
        lines = (self._rest + chunk).split(b"\n")
        self._rest = lines.pop()
        for line in lines:
            self._take(line)
        if len(self._rest) > MAX_LINE_BYTES:
            self._write_forged(self._rest)
            self._rest = b""

    def close(self, status: int, output: bytes) -> None:
        """Report how the child ended, and how many lines were not sealed."""
        text = output.decode(errors="replace")
        self.write({"kind": "exit", "status": status, "forged": self._forged, "output": text})

    def write(self, record: dict[str, Any]) -> None:
        """Write one record to the judge, without its long texts once the report has become too long."""
        import json

        text = json.dumps(record)
        if len(text) > self._left:
            text = json.dumps({key: value for key, value in record.items() if key not in LONG_TEXTS})
        self._left -= len(text)
        sys.stdout.write(f"{self._nonce} {text}\n")
        sys.stdout.flush()

    def _take(self, line: bytes) -> None:
        from _blake2 import blake2b

        if self._seal is None:
            self._seal = blake2b(key=bytes.fromhex(line.decode()), digest_size=16)
            return
        fields = self._unsealed(line)
        if fields is None:
            self._write_forged(line)
            return
        self._expected += 1
        kind, *values = fields
        self._receive(kind, dict(zip(values[::2], values[1::2], strict=True)))

    def _receive(self, kind: str, record: dict[str, Any]) -> None:
        if kind == "confirmed":
            self._confirm(record["name"], record["token"])
            return
        if kind == "assertion_failed":
            self._failed_assertions += 1
            return
        if kind == "started":
            self._confirmed, self._failed_assertions = [], 0
        if kind == "finished":
            record |= {"confirmed": self._confirmed, "failed_assertions": self._failed_assertions}
        self.write({"kind": kind, **record})

    def _confirm(self, name: str, token: str) -> None:
        from _blake2 import blake2b

        if token != blake2b(name.encode(), key=self._secret, digest_size=16).hexdigest():
            self.write({"kind": "tampered", "text": "a test was told to have come to its end by what did not know it"})
        elif name not in self._confirmed:
            self._confirmed.append(name)

    def _unsealed(self, line: bytes) -> list[str] | None:
        """The fields of a sealed line; None for another line, of which only the seal is looked at."""
        sealed, _, body = line.partition(b"\t")
        seal = self._seal.copy()
        seal.update(body)
        number, *fields = body.split(b"\t")
        if sealed != seal.hexdigest().encode() or number != str(self._expected).encode():
            return None
        return [field.decode("unicode_escape") for field in fields]

    def _write_forged(self, line: bytes) -> None:
        self._forged += 1
        if self._forged <= MAX_FORGED:
            self.write({"kind": "forged", "text": line[:200].decode("ascii", "replace")})

"""Rewrite the recording of `make eval-repair`: the real client, and the loopback server with hand-written replies."""

from __future__ import annotations

import tempfile
from pathlib import Path

from model_server import ModelServer

from benchmarks.repair.study import RECORDING, repair_bug, replies_to, seeded_bugs


def main() -> None:
    """Repair every bug once, and keep what was asked and answered."""
    kept = []
    with tempfile.TemporaryDirectory() as folder:
        for number, (task, bug) in enumerate(seeded_bugs()):
            aside = Path(folder) / f"{number}.jsonl"
            with ModelServer({"RepairReply": replies_to(task, bug)}) as server:
                done = repair_bug(task, bug, model="openai/recorded", api_base=server.url, record=str(aside))
            if not done.is_repaired or done.calls != len(replies_to(task, bug)):
                raise SystemExit(f"not recorded: {task.name}, {bug.kind}: {done.calls} calls, {done.error}")
            kept.append(aside.read_bytes() if aside.exists() else b"")
            print(f"{task.name}, {bug.kind}: {done.found_as}, {done.calls}", flush=True)
    RECORDING.write_bytes(b"".join(kept))
    print(f"{RECORDING.name}: {len(b''.join(kept).splitlines())} exchanges")


if __name__ == "__main__":
    main()

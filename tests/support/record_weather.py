"""Rewrite the demo's recording: the real client against the loopback server that speaks the hand-written replies."""

from __future__ import annotations

import tempfile
from pathlib import Path

from model_server import ModelServer
from weather_job import REPLIES

from flyteplugins_codegen import AutoCoderAgent
from workflows.demo import OUTPUTS, PROMPT, RECORDING, SEATTLE

ROOT = Path(__file__).parents[2]


def main() -> None:
    """Run the demo's job once, and keep what was asked and answered."""
    with ModelServer(REPLIES) as server, tempfile.TemporaryDirectory() as folder:
        aside = Path(folder) / "recording.jsonl"
        agent = AutoCoderAgent(model="openai/recorded", api_base=server.url, record=str(aside), cache="disable")
        result = agent.generate(PROMPT, samples={"weather": ROOT / SEATTLE}, outputs=OUTPUTS)
        if not result.success or len(server.calls) != 3:
            raise SystemExit(f"not recorded: {len(server.calls)} calls, {result.error}\n{result.output}")
        (ROOT / RECORDING).write_bytes(aside.read_bytes())
    print(f"{RECORDING}: 3 exchanges")


if __name__ == "__main__":
    main()

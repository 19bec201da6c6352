"""`make bench`: measures this project beside its peer, then its sandbox; prints a table of each.

Needs Linux and root (the peer's containers become mount namespaces). Ends with 1 when a target is missed.
"""

from __future__ import annotations

import argparse
import os
import platform
import sys
import tempfile
from collections.abc import Sequence
from pathlib import Path

import uv

from benchmarks.data.run import main as data_figures
from benchmarks.evaluation.run import main as evaluation_figures
from benchmarks.figures import Effort, measure_figures
from benchmarks.flyte.run import main as flyte_figures
from benchmarks.images.run import main as image_figures
from benchmarks.measure import ROOT, Bench, Side, machine
from benchmarks.peer.environments import PeerEnvironments, make_environments
from benchmarks.sandbox.run import main as sandbox_figures
from benchmarks.table import render_json, render_table

FOLDER = ROOT / "benchmarks" / ".peer"
PARTS = ("all", "peer", "sandbox", "data", "evaluation", "images", "flyte")


def main(words: Sequence[str] | None = None) -> int:
    """Measure, print, write; 0 when every target is met."""
    arguments = _read_arguments(words)
    missed = False
    if arguments.part in ("all", "peer"):
        missed |= _compare_with_peer(Effort(arguments.processes, arguments.generations))
    if arguments.part in ("all", "sandbox"):
        missed |= bool(sandbox_figures([]))
    if arguments.part in ("all", "data"):
        missed |= bool(data_figures([]))
    if arguments.part in ("all", "evaluation"):
        missed |= bool(evaluation_figures([]))
    if arguments.part in ("all", "images"):
        missed |= bool(image_figures([]))
    if arguments.part in ("all", "flyte"):
        missed |= bool(flyte_figures([]))
    return int(missed)


def _compare_with_peer(effort: Effort) -> bool:
    """Whether a target is missed."""
    _tell("The peer's environments")
    peer = make_environments(FOLDER, uv.find_uv_bin())
    with tempfile.TemporaryDirectory() as home:
        figures = measure_figures(_bench(peer, Path(home)), effort, _tell)
    written = FOLDER / "figures.json"
    written.write_text(render_json(figures, {**machine(), "python": platform.python_version()}))
    print(render_table(figures), f"\nIn full: {written.relative_to(ROOT)}", sep="\n")
    return any(figure.is_met is False for figure in figures)


def _read_arguments(words: Sequence[str] | None) -> argparse.Namespace:
    parser = argparse.ArgumentParser(prog="make bench ARGS=...", description=__doc__)
    parser.add_argument("--part", choices=PARTS, default="all", help="what is measured")
    parser.add_argument("--processes", type=int, default=5, help="processes of each side that are timed")
    parser.add_argument("--generations", type=int, default=5, help="generations in each of them after the first")
    return parser.parse_args(words)


def _bench(peer: PeerEnvironments, home: Path) -> Bench:
    # The machine's own settings stay: where its index is, how it is reached.
    surroundings = {**os.environ, "OPENAI_API_KEY": "none"}
    peer_environment = {
        **surroundings,
        "HOME": str(home / "peer"),
        # Its client would fetch a price list from the network otherwise.
        "LITELLM_LOCAL_MODEL_COST_MAP": "True",
        "PEER_SANDBOX_BIN": str(peer.sandbox_bin),
        "PEER_FULL_SANDBOX_BIN": str(peer.full_sandbox_bin),
    }
    our_environment = {
        **surroundings,
        "HOME": str(home / "ours"),
        "FLYTE_CODEGEN_CACHE": str(home / "ours" / "cache"),
    }
    for folder in ("peer", "ours"):
        (home / folder).mkdir()
    return Bench(
        Side("peer", (str(peer.python), "-m", "benchmarks.peer.drive"), peer_environment),
        Side("ours", (sys.executable, "-m", "benchmarks.ours"), our_environment),
    )


def _tell(what: str) -> None:
    print(f"{what.rstrip('.')} ...", file=sys.stderr, flush=True)


if __name__ == "__main__":
    sys.exit(main())

"""How many pods of a job run one after the other: walked as by a cluster, each a process with a disk of its own."""

from __future__ import annotations

import tempfile
from collections.abc import Iterator
from pathlib import Path

import row_count_job as job
from model_server import ModelServer
from pod_forker import forked_pods
from walked_job import generated, package_workflows, registered

from benchmarks.sandbox.figures import Measurement

MOST_OF_A_FIRST_DRAFT = 8
MOST_OF_A_REPAIR = 2
_TESTS = {"TestsReply": [job.TESTS]}
_RIGHT = {"SolutionReply": [job.solution()], **_TESTS}
_REPAIRED = {"SolutionReply": [job.solution(0)], **_TESTS, "RepairReply": [job.repair(0, 1)]}


def count_rows() -> Iterator[Measurement]:
    """A job whose first draft is right, and one with a repair."""
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        archive = package_workflows(folder / "package.tgz")
        with forked_pods(archive) as start_pod:
            rows = []
            for number, script in enumerate((_RIGHT, _REPAIRED)):
                walk = registered(archive, folder / str(number), start_pod)
                with ModelServer(script) as server:
                    assert generated(walk, server, folder).success
                rows.append((walk.row, len(walk.pods)))
    (right, all_right), (repaired, all_repaired) = rows
    yield Measurement(
        "pods in a row, the first draft right",
        f"{right} ({all_right} in all)",
        f"at most {MOST_OF_A_FIRST_DRAFT}",
        right <= MOST_OF_A_FIRST_DRAFT,
    )
    yield Measurement(
        "pods in a row that a repair adds",
        f"{repaired - right} ({all_repaired} in all)",
        f"at most {MOST_OF_A_REPAIR}",
        repaired - right <= MOST_OF_A_REPAIR,
    )

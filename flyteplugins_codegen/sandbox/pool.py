"""Running many jobs over a few threads."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from concurrent.futures import ThreadPoolExecutor
from threading import Lock

from flyteplugins_codegen.sandbox.contract import Execution, Job


def run_all(
    run: Callable[[Job], Execution],
    jobs: Iterable[Job],
    *,
    workers: int,
    on_result: Callable[[int, Execution], None] | None,
) -> list[Execution]:
    """Run every job, `workers` at a time; return the results in the order of the jobs.

    Jobs are drawn one by one, so a generator of many stays lazy. `on_result` is called by one thread at a time. If
    `run` or `on_result` raises, jobs that have begun are finished, no other is drawn, and the error is raised here.
    """
    numbered_jobs, lock, results = enumerate(jobs), Lock(), dict[int, Execution]()
    failed = False

    def draw() -> tuple[int, Job] | None:
        with lock:
            return None if failed else next(numbered_jobs, None)

    def work() -> None:
        nonlocal failed
        try:
            while drawn := draw():
                index, job = drawn
                execution = run(job)
                with lock:
                    results[index] = execution
                    if on_result:
                        on_result(index, execution)
        except BaseException:
            failed = True
            raise

    with ThreadPoolExecutor(max_workers=workers) as pool:
        finished = [pool.submit(work) for _ in range(workers)]
    for worker in finished:
        worker.result()
    return [results[index] for index in sorted(results)]

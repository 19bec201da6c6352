"""Runs in evalplus's environment: its own evaluation of a file of samples, timed.

What the canonical solutions give is computed before, as it is once for all evaluations. `base` leaves out the extra
inputs.
"""

from __future__ import annotations

import contextlib
import json
import os
import sys
import time
import traceback
from pathlib import Path


def main(problems: str, samples: str, *words: str) -> None:
    """Evaluate, and print what passed in the order of the samples."""
    os.environ["HUMANEVAL_OVERRIDE_PATH"] = problems
    from evalplus.data import get_human_eval_plus, get_human_eval_plus_hash
    from evalplus.evaluate import evaluate, get_groundtruth

    with contextlib.redirect_stdout(sys.stderr):
        get_groundtruth(get_human_eval_plus(), get_human_eval_plus_hash(), [])
        started = time.perf_counter()
        is_base = "base" in words
        evaluate("humaneval", samples=samples, base_only=is_base, parallel=os.cpu_count(), i_just_wanna_run=True)
        seconds = time.perf_counter() - started
    results = Path(samples.replace(".jsonl", "_eval_results.json"))
    found = json.loads(results.read_text(encoding="utf-8"))["eval"]
    results.unlink()
    kinds = ("base_status",) if is_base else ("base_status", "plus_status")
    passed = [all(each[kind] == "pass" for kind in kinds) for task in found.values() for each in task]
    print(json.dumps({"seconds": seconds, "passed": passed}))


if __name__ == "__main__":
    try:
        main(*sys.argv[1:])
    except BaseException:  # noqa: BLE001 - the process ends here, whatever it is
        traceback.print_exc()
        # A thread of evalplus's waits for samples for ever, and would hold the process.
        os._exit(1)

"""The demo's job, whose replies are recorded."""

from __future__ import annotations

import runpy
from typing import Any

from benchmarks.measure import ROOT

_DEMO = runpy.run_path(str(ROOT / "workflows" / "demo.py"))
PROMPT: str = _DEMO["PROMPT"]
OUTPUTS: dict[str, Any] = _DEMO["OUTPUTS"]
SEATTLE: str = _DEMO["SEATTLE"]
RECORDING: str = _DEMO["RECORDING"]

"""The recorded form: twenty problems of HumanEval, and what a cheap and a strong model were made to reply to them."""

from __future__ import annotations

from pathlib import Path
from typing import Final

_HERE: Final = Path(__file__).parent

CHEAP: Final = "openai/gpt-6-luna"
STRONG: Final = "openai/gpt-6.1-sol"
RECORDINGS: Final = {CHEAP: _HERE / "cheap.replay.jsonl", STRONG: _HERE / "strong.replay.jsonl"}
CONFIGS: Final = tuple({"model": f"replay:{file}"} for file in RECORDINGS.values())
_NUMBERS: Final = (0, 1, 4, 10, 17, 26, 31, 36, 39, 46, 57, 64, 75, 76, 83, 91, 93, 99, 108, 145)
TASK_IDS: Final = tuple(f"HumanEval/{number}" for number in _NUMBERS)

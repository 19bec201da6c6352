"""The names of signals, for messages."""

from __future__ import annotations

import signal


def signal_name(number: int) -> str:
    """`SIGKILL` of 9; `signal 99` of a number that has no name."""
    return signal.Signals(number).name if number in set(signal.Signals) else f"signal {number}"

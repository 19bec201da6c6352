"""When a failed call is tried again, and after how long."""

from __future__ import annotations

import asyncio
import email.utils
import math
import random
import time
from collections.abc import Awaitable, Callable, Mapping
from typing import TypeVar

from flyteplugins_codegen.models.base import Value
from flyteplugins_codegen.models.spending import Usage

T = TypeVar("T")

_TRANSIENT = frozenset({408, 409, 429, 500, 502, 503, 504, 529})
_FINAL_CODES = frozenset({"insufficient_quota", "billing_hard_limit_reached"})


class CallFailure(Value):
    """A call that brought no reply. `status` is None when no answer came; `code` is the provider's word for it.

    `usage` is what a reply that broke off took, None where none had begun.
    """

    status: int | None
    message: str
    code: str = ""
    retry_after_s: float | None = None
    usage: Usage | None = None

    @property
    def is_transient(self) -> bool:
        """Whether the same call may succeed later."""
        return self.code not in _FINAL_CODES and (self.status is None or self.status in _TRANSIENT)


class RetryPolicy(Value):
    """Exponential back-off with jitter. A server that cannot be reached is given up sooner than one that is busy."""

    max_retries: int = 6
    max_reconnects: int = 2
    first_delay_s: float = 0.5
    max_delay_s: float = 30.0

    def delay_s(self, failure: CallFailure, retries: int, left_s: float) -> float | None:
        """Seconds to wait before the next try, None to give up. `retries` were made; `left_s` remain to the deadline.

        What the server asks for (Retry-After) is honoured when it fits; when it does not, waiting is in vain.
        """
        allowed = self.max_reconnects if failure.status is None else self.max_retries
        if not failure.is_transient or retries >= allowed:
            return None
        ceiling = min(self.first_delay_s * 2**retries, self.max_delay_s)
        # Half of it at chance: enough to part callers that failed together (AWS's "equal jitter").
        delay = ceiling * random.uniform(0.5, 1.0) if failure.retry_after_s is None else failure.retry_after_s  # noqa: S311 - no secret depends on it
        return delay if delay < left_s else None


async def retry(
    call: Callable[[], Awaitable[T | CallFailure]], policy: RetryPolicy, deadline_s: float
) -> T | CallFailure:
    """The first answer, or the failure after which waiting made no sense."""
    gives_up_at = time.monotonic() + deadline_s
    retries = 0
    while True:
        outcome = await call()
        if not isinstance(outcome, CallFailure):
            return outcome
        delay = policy.delay_s(outcome, retries, gives_up_at - time.monotonic())
        if delay is None:
            return outcome
        await asyncio.sleep(delay)
        retries += 1


def parse_retry_after(headers: Mapping[str, str], now: float) -> float | None:
    """Seconds that the server asks to wait, from `retry-after-ms` or `Retry-After` (RFC 9110, section 10.2.3).

    The latter gives seconds or a date; `now` is the Unix time. None when it asks for nothing that makes sense.
    """
    milliseconds = _finite(headers.get("retry-after-ms"))
    if milliseconds is not None:
        return max(0.0, milliseconds / 1000)
    text = headers.get("retry-after")
    seconds = _finite(text)
    if seconds is not None:
        return max(0.0, seconds)
    return _seconds_until(text, now) if text else None


def _finite(text: str | None) -> float | None:
    try:
        number = float(text or "")
    except ValueError:
        return None
    return number if math.isfinite(number) else None


def _seconds_until(date: str, now: float) -> float | None:
    try:
        return max(0.0, email.utils.parsedate_to_datetime(date).timestamp() - now)
    except (ValueError, OverflowError):
        return None

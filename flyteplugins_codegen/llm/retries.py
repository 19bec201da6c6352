"""Whether a failed call is retried, and after how long."""

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
    """A call without a reply. `status` is None when there was no answer; `code` is the provider's code for the error.

    `usage` is that of a reply that broke off, None where none had begun.
    """

    status: int | None
    message: str
    code: str = ""
    retry_after_s: float | None = None
    usage: Usage | None = None

    @property
    def is_final(self) -> bool:
        """Whether the provider says that no later call will succeed either, whatever the status."""
        return self.code in _FINAL_CODES

    @property
    def is_transient(self) -> bool:
        """Whether the same call may succeed in a moment."""
        return not self.is_final and (self.status is None or self.status in _TRANSIENT)


class RetryPolicy(Value):
    """Exponential back-off with jitter. A server that cannot be reached gets fewer retries than one that is busy."""

    max_retries: int = 6
    max_reconnects: int = 2
    first_delay_s: float = 0.5
    max_delay_s: float = 30.0

    def delay_s(self, failure: CallFailure, retries: int, remaining_s: float) -> float | None:
        """Seconds to wait before the next retry, None to give up.

        `retries` were made before; `remaining_s` is the time to the deadline. A delay that the server asks for
        (Retry-After) is used if it ends before the deadline; otherwise the call is given up.
        """
        allowed = self.max_reconnects if failure.status is None else self.max_retries
        if not failure.is_transient or retries >= allowed:
            return None
        ceiling = min(self.first_delay_s * 2**retries, self.max_delay_s)
        # Half of the delay is random, which spreads callers that failed together (AWS's "equal jitter").
        delay = ceiling * random.uniform(0.5, 1.0) if failure.retry_after_s is None else failure.retry_after_s  # noqa: S311 - no secret depends on it
        return delay if delay < remaining_s else None


async def retry(
    call: Callable[[], Awaitable[T | CallFailure]], policy: RetryPolicy, deadline_s: float
) -> T | CallFailure:
    """Call until there is a result. Returns it, or the failure that the policy does not retry."""
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
    """The seconds to wait that the server asks for in `retry-after-ms` or `Retry-After` (RFC 9110, section 10.2.3).

    The latter gives seconds or a date; `now` is the Unix time. None without a header that can be read.
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

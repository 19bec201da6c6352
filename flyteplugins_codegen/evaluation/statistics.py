"""Statistics over problems: pass@k, the bootstrap interval of a mean, and McNemar's test.

Samples of one problem are not independent, so the bootstrap resamples whole problems (clusters), as in Miller 2024,
"Adding Error Bars to Evals", and the exact test of McNemar 1947 counts the problems in which two evaluations differ.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import TYPE_CHECKING, Final, TypeAlias

from flyteplugins_codegen.errors import RequestError

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

Interval: TypeAlias = tuple[float, float]

_DRAWS: Final = 10_000
_MOST_AT_ONCE: Final = 1 << 22  # numbers in memory
_SEED: Final = 20_210_707  # fixed, so that the same samples have the same interval


def bootstrap_interval(values: Sequence[float], *, level: float = 0.95) -> Interval:
    """The percentile bootstrap interval of the mean of one value for each problem; NaN for no values, or with a NaN.

    For a single problem the interval is its value: the spread between problems is unknown.
    """
    if not values or any(math.isnan(value) for value in values):
        return math.nan, math.nan
    if min(values) == max(values):
        return values[0], values[0]  # the mean of every draw; importing numpy would take longer
    import numpy as np

    means = _means_of_draws(np.asarray(values, dtype=float))
    low, high = np.quantile(means, [(1 - level) / 2, (1 + level) / 2])
    return float(low), float(high)


def _means_of_draws(values: NDArray[np.float64]) -> NDArray[np.float64]:
    import numpy as np

    random = np.random.default_rng(_SEED)
    at_once = max(1, _MOST_AT_ONCE // len(values))
    sizes = [min(at_once, _DRAWS - start) for start in range(0, _DRAWS, at_once)]
    parts = [values[random.integers(0, len(values), (size, len(values)))].mean(axis=1) for size in sizes]
    return np.concatenate(parts)


def mcnemar_p_value(only_first: int, only_second: int) -> float:
    """The exact two-sided p-value: the chance of a split at least as uneven, if each problem were a fair coin toss.

    `only_first` counts the problems in which the first evaluation does better, `only_second` those in which the second
    does; ties do not count. 1 if there is no difference at all.
    """
    n, fewer = only_first + only_second, min(only_first, only_second)
    if n == 0:
        return 1.0
    logs = [_log_binomial(n, count) - n * math.log(2) for count in range(fewer + 1)]
    return min(1.0, 2 * math.fsum(math.exp(value) for value in logs))


def _log_binomial(n: int, k: int) -> float:
    return math.lgamma(n + 1) - math.lgamma(k + 1) - math.lgamma(n - k + 1)


# --- pass@k, estimated from n samples of which c passed ---


def estimate_pass_at_k(n: int, c: int, k: int) -> float:
    """The chance that at least one of k samples drawn without replacement passes; NaN for fewer samples than k.

    Correct to 12 digits for n up to a million, in time proportional to the lesser of k and c.
    Raises RequestError for k < 1 or c outside of 0 to n.
    """
    _check(n, c, k)
    if n < k:
        return math.nan
    return 0.0 - math.expm1(_log_share(n, n - c, k))


def estimate_pass_hat_k(n: int, c: int, k: int) -> float:
    """The chance that all of k samples drawn without replacement pass; NaN for fewer samples than k.

    Raises RequestError as `estimate_pass_at_k` does.
    """
    _check(n, c, k)
    if n < k:
        return math.nan
    return math.exp(_log_share(n, c, k))


def _check(n: int, c: int, k: int) -> None:
    if k < 1:
        raise RequestError(f"pass@k is asked for k={k}; k counts samples, give 1 or more")
    if not 0 <= c <= n:
        raise RequestError(f"{c} of {n} samples are said to have passed; it is between none and all")


def _log_share(n: int, m: int, k: int) -> float:
    """log(C(m, k) / C(n, k)): the log of the chance that k of n samples are all among m of them.

    The quotient is a product of k factors or, by symmetry, of n - m factors; the logs of the fewer are summed.
    """
    if m < k:
        return -math.inf
    fewer, more = sorted((k, n - m))
    return math.fsum(_log_rest(more, n - index) for index in range(fewer))


def _log_rest(part: int, whole: int) -> float:
    """log(1 - part / whole), exact whether the difference is close to 1 or to 0."""
    return math.log1p(-part / whole) if 2 * part < whole else math.log((whole - part) / whole)

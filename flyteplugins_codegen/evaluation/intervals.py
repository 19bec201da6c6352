"""How sure a score is: intervals and paired comparisons, over problems, of which samples are no independent draws.

The percentile bootstrap that draws whole problems (clusters) anew, as in Miller 2024, "Adding Error Bars to Evals"; the
exact test of McNemar 1947, on the problems in which two candidates differ.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import TYPE_CHECKING, Final, TypeAlias

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

Interval: TypeAlias = tuple[float, float]

_DRAWS: Final = 10_000
_MOST_AT_ONCE: Final = 1 << 22  # numbers in memory
_SEED: Final = 20_210_707  # any will do; one, so that the same samples have the same interval


def bootstrap_interval(values: Sequence[float], *, level: float = 0.95) -> Interval:
    """The interval of the mean of one value for each problem; NaN where a value is NaN, or there is none.

    Of a single problem, the interval is its value: nothing is known of how problems differ.
    """
    if not values or any(math.isnan(value) for value in values):
        return math.nan, math.nan
    if min(values) == max(values):
        return values[0], values[0]  # as every draw has it; numpy would take longer to be imported
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
    """The exact two-sided chance of a split at least as uneven, were both equally good: a fair coin for each problem.

    `only_first` counts problems that the first one does better in, `only_second` the others; ties say nothing. 1 where
    there is no difference at all.
    """
    n, fewer = only_first + only_second, min(only_first, only_second)
    if n == 0:
        return 1.0
    logs = [_log_binomial(n, count) - n * math.log(2) for count in range(fewer + 1)]
    return min(1.0, 2 * math.fsum(math.exp(value) for value in logs))


def _log_binomial(n: int, k: int) -> float:
    return math.lgamma(n + 1) - math.lgamma(k + 1) - math.lgamma(n - k + 1)

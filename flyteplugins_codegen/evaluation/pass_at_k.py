"""pass@k: the chance that at least one of k samples passes, estimated from n samples of which c passed.

The unbiased estimator of Chen et al. 2021, "Evaluating Large Language Models Trained on Code", section 2.1:
1 - C(n-c, k) / C(n, k), and its counterpart for all k passing, C(c, k) / C(n, k) (pass^k, Yao et al. 2024, tau-bench).
"""

from __future__ import annotations

import math

from flyteplugins_codegen.errors import RequestError


def estimate_pass_at_k(n: int, c: int, k: int) -> float:
    """The chance that one of k samples drawn without replacement passes; NaN for fewer samples than k.

    Good to 12 digits for n up to a million, in time proportional to the lesser of k and c.
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

    The quotient is a product of k factors or, the same by symmetry, of n - m: the logs of the fewer are summed.
    """
    if m < k:
        return -math.inf
    fewer, more = sorted((k, n - m))
    return math.fsum(_log_rest(more, n - index) for index in range(fewer))


def _log_rest(part: int, whole: int) -> float:
    """log(1 - part / whole), with all its digits whether the rest is close to 1 or to 0."""
    return math.log1p(-part / whole) if 2 * part < whole else math.log((whole - part) / whole)

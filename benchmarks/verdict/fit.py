"""The weights of confidence, fitted to verdicts whose truth is known: logistic regression with signs that are given.

The product ships the numbers (`stages/candidates/confidence.py`); `python -m benchmarks.verdict --fit` prints them.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace

import numpy as np

from benchmarks.verdict.verdicts import Verdict

EXPECTED = {"agreed": 0.5, "unsettled": -0.5, "strength": 1.5}
"""The features that the corpus varies, with their weights before any pair is seen; each weight keeps its sign."""
PENALTY = 0.1
"""How strongly weights are held to the expected ones: the inverse of the variance of a Gaussian prior."""
_STEPS = 5_000


@dataclass(frozen=True, slots=True)
class Model:
    """Log-odds that a solution is right."""

    bias: float
    weights: dict[str, float]

    def probability(self, features: Mapping[str, float]) -> float:
        """Of a solution with these features."""
        log_odds = self.bias + sum(weight * features[name] for name, weight in self.weights.items())
        return 1 / (1 + math.exp(-max(-30.0, min(30.0, log_odds))))


def judged(verdicts: Iterable[Verdict]) -> list[Verdict]:
    """Those that the weights are fitted to: the solution passed, so that there is a confidence."""
    return [verdict for verdict in verdicts if verdict.features]


def fit(verdicts: Sequence[Verdict]) -> Model:
    """The model that makes these verdicts likeliest, by projected gradient descent."""
    values = np.array([[1.0, *(verdict.features[name] for name in EXPECTED)] for verdict in verdicts])
    truth = np.array([float(verdict.is_right) for verdict in verdicts])
    expected = np.array([0.0, *EXPECTED.values()])
    held = np.array([0.0, *(PENALTY for _ in EXPECTED)])  # the bias is free
    signs = np.sign(expected)
    weights = expected
    rate = 1 / (np.linalg.norm(values, 2) ** 2 / 4 + PENALTY)  # the inverse of the gradient's Lipschitz constant
    for _ in range(_STEPS):
        errors = 1 / (1 + np.exp(-values @ weights)) - truth
        weights = weights - rate * (values.T @ errors + held * (weights - expected))
        weights = np.where(weights * signs < 0, 0.0, weights)
    bias, *others = (float(weight) for weight in weights)
    return Model(bias, dict(zip(EXPECTED, others, strict=True)))


def cross_validated(verdicts: Sequence[Verdict]) -> list[Verdict]:
    """The same verdicts with the confidence of a model that was fitted to the other jobs."""
    found = []
    for job in dict.fromkeys(verdict.job for verdict in verdicts):
        model = fit(judged(verdict for verdict in verdicts if verdict.job != job))
        for verdict in verdicts:
            if verdict.job == job:
                has_one = verdict.confidence is not None
                confidence = model.probability(verdict.features) if has_one else None
                found.append(replace(verdict, confidence=confidence))
    return found


def weight_of_checks(right_by_chance: Sequence[float]) -> float:
    """The weight of log(1 + examples), by how often a wrong solution passes one example of other data."""
    return -math.log(sum(right_by_chance) / len(right_by_chance)) / math.log(2)

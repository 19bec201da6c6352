"""The weights of confidence, fitted to verdicts whose truth is known: logistic regression with signs that are given.

The product ships the numbers (`stages/candidates/confidence.py`); `python -m benchmarks.verdict --fit` prints them.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace

from benchmarks.verdict.verdicts import Verdict

EXPECTED = {"agrees": 1.0, "files": 0.2, "unsettled": -0.5, "strength": 1.0, "tests": 0.2}
"""The features that the corpus varies, with the weights that they have before any pair is seen, and keep the sign of."""
PENALTY = 1.0
"""How strongly weights are held to the expected ones: the inverse of the variance of a Gaussian prior."""
_STEPS = 3_000


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
    model = Model(0.0, EXPECTED)
    rate = 2.0 / max(1, len(verdicts))
    for _ in range(_STEPS):
        errors = [model.probability(verdict.features) - verdict.is_right for verdict in verdicts]
        gradients = {
            name: sum(error * verdict.features[name] for error, verdict in zip(errors, verdicts, strict=True))
            for name in EXPECTED
        }
        moved = {
            name: weight - rate * (gradients[name] + PENALTY * (weight - EXPECTED[name]))
            for name, weight in model.weights.items()
        }
        signed = {name: weight if weight * EXPECTED[name] > 0 else 0.0 for name, weight in moved.items()}
        model = Model(model.bias - rate * sum(errors), signed)
    return model


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

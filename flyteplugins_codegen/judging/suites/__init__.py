"""Verdicts on pytest suites: the runner inside, its evidence, the judgement outside."""

"""Verdicts by values: the judge and the judged in processes of their own, plain data between them."""

"""What `implement` achieves and costs on HumanEval: a cascade of models, and each of them alone."""

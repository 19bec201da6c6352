"""The finished solution: its script, folder, image, Flyte task and registration."""

"""The stages as Flyte tasks and workflows."""

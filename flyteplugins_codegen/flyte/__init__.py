"""The stages as Flyte tasks: tasks, workflow, and the finished solution as a task of its own."""

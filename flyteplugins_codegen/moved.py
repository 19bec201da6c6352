"""Module paths of version 0.1.0 that still import, because saved folders, documents and users' code hold them.

A `task.py` of 0.1.0 imports `flyteplugins_codegen.flyte.sandbox_task`, and a serialised function holds the name of its
module. Each old path imports the module that has its names now: one module object under two names.
"""

from __future__ import annotations

import sys
from collections.abc import Sequence
from importlib import import_module
from importlib.abc import Loader, MetaPathFinder
from importlib.machinery import ModuleSpec
from types import MappingProxyType, ModuleType
from typing import Final

MOVED: Final = MappingProxyType(
    {
        "data.extracting": "data.context",
        "evaluation.evaluating": "evaluation.run",
        "evaluation.metric": "evaluation.eval_framework",
        "evaluation.metric.pass_at_one": "evaluation.eval_framework.metric",
        "evaluation.metric.snippets": "evaluation.eval_framework.snippets",
        "evaluation.problems.loading": "evaluation.problems.load",
        "evaluation.problems.own": "evaluation.problems.load",
        "flyte.evaluating": "flyte.evaluation",
        "flyte.imaging": "flyte.tasks",
        "flyte.implementing": "flyte.implement",
        "flyte.preparing": "flyte.workflow",
        "flyte.profiling": "flyte.data",
        "flyte.refresh_tasks": "flyte.refresh",
        "flyte.refreshing": "flyte.refresh",
        "flyte.registering": "flyte.tasks",
        "flyte.registration": "solution.registration",
        "flyte.registration.launch_plan": "solution.registration.launch_plans",
        "flyte.registration.solutions": "registered",
        "flyte.registration.values": "solution.registration.record",
        "flyte.rounds": "flyte.map_tasks",
        "flyte.sandbox_task": "solution.task",
        "flyte.strength": "flyte.map_tasks",
        "llm.hosted": "llm.http_model",
        "llm.provider": "llm.registry",
        "models.budget": "models.spending",
        "models.bundle": "models.job",
        "models.candidate": "models.job",
        "models.drift": "models.data",
        "models.pods": "models.settings",
        "models.privacy": "models.settings",
        "models.profile": "models.data",
        "models.report": "models.run",
        "models.resources": "models.settings",
        "sandbox.outputs": "sandbox.contract",
        "source.blocks": "source.extraction.blocks",
        "source.code_block": "source.extraction.passage",
        "source.content": "source.extraction.blocks",
        "source.infer_lang": "source.languages.infer",
        "stages.execute": "solution.execute",
        "terminal": "telemetry",
        "toolkit": "autogen",
        "toolkit.assertion_filter": "autogen.completions",
        "toolkit.command_line": "autogen.command_line",
        "toolkit.completions": "autogen.completions",
        "toolkit.execute_code": "autogen.run_code",
        "toolkit.generate_assertions": "autogen.generate",
        "toolkit.generate_code": "autogen.generate",
        "toolkit.implement": "autogen.implement",
        "toolkit.improve_code": "autogen.improve",
        "toolkit.improve_function": "autogen.improve",
        "toolkit.model_config": "autogen.model_config",
        "toolkit.run_code": "autogen.run_code",
        "toolkit.virtual_env": "autogen.virtual_env",
    }
)
"""The path of a module in 0.1.0 and its path now, both relative to the package."""

_PACKAGE: Final = __name__.rpartition(".")[0]


def moved_name(module: str) -> str:
    """The full name of a module today: the new one for a path in `MOVED`, otherwise the name itself."""
    package, _, path = module.partition(".")
    return f"{package}.{MOVED[path]}" if package == _PACKAGE and path in MOVED else module


class _MovedModules(MetaPathFinder, Loader):
    """Finds a module by its old path, before any other finder.

    A package that moved has the folder of its new name, where the finder of files would find a second copy of a module.
    """

    def find_spec(
        self,
        fullname: str,
        path: Sequence[str] | None,  # noqa: ARG002 - the import system passes it
        target: ModuleType | None = None,  # noqa: ARG002 - the same
    ) -> ModuleSpec | None:
        """A spec for an old path, None for any other name."""
        return ModuleSpec(fullname, self) if moved_name(fullname) != fullname else None

    def create_module(self, spec: ModuleSpec) -> ModuleType:
        """Import the module by its new name and return it."""
        module = import_module(moved_name(spec.name))
        spec.loader_state = module.__spec__  # the import system is about to replace it
        return module

    def exec_module(self, module: ModuleType) -> None:
        """Restore the module's own spec. The module has been executed already."""
        spec = module.__spec__
        assert spec is not None  # noqa: S101 - the import system has just set it
        module.__spec__ = spec.loader_state


def install() -> None:
    """Make the old paths importable. A second call changes nothing."""
    if not any(isinstance(finder, _MovedModules) for finder in sys.meta_path):
        sys.meta_path.insert(0, _MovedModules())

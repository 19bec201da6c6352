"""The names that `flyteplugins_codegen.evaluation` exports are never modules, whatever was imported before."""

from __future__ import annotations

import importlib
import inspect
import pkgutil

import pytest

from flyteplugins_codegen import evaluation


@pytest.mark.parametrize("name", evaluation.__all__)
def test_an_exported_name_is_not_hidden_by_a_module_of_the_same_name(name: str) -> None:
    for module in pkgutil.iter_modules(evaluation.__path__, f"{evaluation.__name__}."):
        importlib.import_module(module.name)
    assert not inspect.ismodule(getattr(evaluation, name))

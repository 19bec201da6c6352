"""Who may import whom: DESIGN's picture of the house, held against the syntax tree of every module.

Every import counts, inside functions and under TYPE_CHECKING too: a late import is still a direction.
"""

from __future__ import annotations

import ast
import sys
from collections.abc import Iterator
from functools import cache
from graphlib import CycleError, TopologicalSorter
from pathlib import Path

import pytest

PACKAGE = "flyteplugins_codegen"
ROOT = Path(__file__).parents[2] / PACKAGE
LEAVES = frozenset({"errors", "moved", "store", "sync", "telemetry", "text"})
# From the ground up. A module imports from its own room and from the levels below; rooms of one level are siblings
# and never import each other.
LEVELS: tuple[frozenset[str], ...] = (
    LEAVES,
    frozenset({"html", "models", "portable"}),
    frozenset({"data", "llm", "packages", "sandbox", "source"}),
    frozenset({"judging"}),
    frozenset({"solution"}),
    frozenset({"stages"}),
    frozenset({"result_parts"}),
    frozenset({"result"}),
    frozenset({"registered"}),
    frozenset({"agent", "autogen"}),
    frozenset({"evaluation"}),
    frozenset({"flyte"}),
    frozenset({"__init__"}),
)
PURE_ROOMS = ("models", "source")
PURE_LIBRARIES = sys.stdlib_module_names | {"pydantic", "pydantic_core", "packaging", PACKAGE}


@cache
def modules() -> dict[str, Path]:
    """Every module by its dotted name without the package's: `models.run`, `errors`; a room itself: `models`."""
    found = {}
    for path in sorted(ROOT.rglob("*.py")):
        parts = path.relative_to(ROOT).with_suffix("").parts
        found[".".join(parts[:-1] if parts[-1] == "__init__" and len(parts) > 1 else parts)] = path
    return found


def imported_names(path: Path) -> Iterator[str]:
    """The full dotted names that a file imports; `from a import b` counts as `a.b`."""
    for node in ast.walk(ast.parse(path.read_bytes(), str(path))):
        if isinstance(node, ast.Import):
            yield from (alias.name for alias in node.names)
        elif isinstance(node, ast.ImportFrom):
            assert node.level == 0, f"{path}:{node.lineno} imports relatively; write the whole name"
            yield from (f"{node.module}.{alias.name}" for alias in node.names)


@cache
def own_imports(module: str) -> frozenset[str]:
    """The package's own modules that a module imports."""
    inside = (name for name in imported_names(modules()[module]) if name.partition(".")[0] == PACKAGE)
    return frozenset(nearest_module(name) for name in inside)


def nearest_module(name: str) -> str:
    """`flyteplugins_codegen.models.run.Run` is a name in `models.run`; one of the package itself is in `__init__`."""
    parts = name.split(".")[1:]
    while parts and ".".join(parts) not in modules():
        parts.pop()
    return ".".join(parts) or "__init__"


def room(module: str) -> str:
    return module.partition(".")[0]


def level(of_room: str) -> int:
    found = [number for number, rooms in enumerate(LEVELS) if of_room in rooms]
    assert found, f"{of_room!r} has no place in the house; give it one in LEVELS and in DESIGN"
    return found[0]


def is_allowed(importer: str, imported: str) -> bool:
    ours, theirs = room(importer), room(imported)
    return ours == theirs or level(theirs) < level(ours)


@pytest.mark.parametrize("module", modules())
def test_a_module_imports_only_from_its_room_and_from_below(module: str) -> None:
    wrong = sorted(name for name in own_imports(module) if not is_allowed(module, name))
    assert not wrong, f"{modules()[module]} must not import {', '.join(wrong)}"


@pytest.mark.parametrize("leaf", sorted(LEAVES))
def test_a_leaf_imports_nothing_of_the_package(leaf: str) -> None:
    assert not own_imports(leaf)


@pytest.mark.parametrize("module", [name for name in modules() if name.partition(".")[0] in PURE_ROOMS])
def test_a_pure_room_imports_the_standard_library_and_small_parsers_only(module: str) -> None:
    libraries = {name.partition(".")[0] for name in imported_names(modules()[module])}
    assert libraries <= PURE_LIBRARIES, f"{modules()[module]} imports {', '.join(sorted(libraries - PURE_LIBRARIES))}"


def test_no_file_imports_itself_in_a_circle() -> None:
    graph = {module: own_imports(module) - {module} for module in modules()}
    try:
        TopologicalSorter(graph).prepare()
    except CycleError as error:
        pytest.fail(" imports ".join(reversed(error.args[1])))


def test_every_room_says_what_it_is_for() -> None:
    rooms = [path for path in modules().values() if path.name == "__init__.py"]
    silent = [str(path) for path in rooms if not ast.get_docstring(ast.parse(path.read_bytes()))]
    assert not silent


def test_the_rules_tell_a_wrong_direction() -> None:
    assert is_allowed("stages.repair", "llm.ask")
    assert is_allowed("agent", "result")
    assert is_allowed("models.run", "errors")
    assert not is_allowed("llm.ask", "stages.repair")
    assert not is_allowed("data.profile", "source.edits")
    assert not is_allowed("autogen", "agent")
    assert not is_allowed("stages.repair", "__init__")

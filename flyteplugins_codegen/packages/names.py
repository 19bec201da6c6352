"""Which distributions a candidate may ask for, and which ones its imports need.

Import name to distribution: a table of our own, `distributions.json`, with the names that really differ, over the rule
that an import name is the normalised distribution name (PEP 503). No library was fit to depend on, as of 2026-11:
pipreqs (a table of 2017 vintage that still maps to abandoned forks; pins IPython), pigar (77 MB of SQLite), conda-pypi
and grayskull (made for conda names, without `PIL` or `yaml`; the conda stack), deptry and fawltydeps (read what is
installed). The table holds what data work meets; `namespaces` says how many parts of a dotted import name a
distribution; `alternatives` are other distributions that provide the same module.
"""

from __future__ import annotations

import json
import re
import sys
from collections.abc import Iterable, Iterator
from functools import cache
from pathlib import Path
from typing import Final, NamedTuple

from packaging.requirements import InvalidRequirement, Requirement
from packaging.utils import canonicalize_name

from flyteplugins_codegen.errors import PackageError
from flyteplugins_codegen.models.environment import EnvironmentLock

MAX_NAME_LENGTH = 100
MAX_REQUIREMENT_LENGTH = 300

# No `/`, `:`, `@`, `\`: neither URL nor path. No `$`, `#`, newline: uv would expand, cut or split what holds them.
_PLAIN = re.compile(r"[A-Za-z0-9 ._\-\[\],<>=!~;()'\"*+]*\Z")
_DEBIAN_NAME = re.compile(r"[a-z0-9][a-z0-9+.-]{1,99}\Z")


class _Distributions(NamedTuple):
    modules: dict[str, str]
    namespaces: dict[str, int]
    alternatives: dict[str, list[str]]


@cache
def _distributions() -> _Distributions:
    return _Distributions(**json.loads(Path(__file__).with_name("distributions.json").read_text(encoding="utf-8")))


def distribution_for(module: str) -> str:
    """The normalised name of the distribution that provides a module, told by its dotted name or top-level name."""
    table = _distributions()
    for prefix in _prefixes(module):
        if prefix in table.modules:
            return table.modules[prefix]
        if prefix in table.namespaces:
            return canonicalize_name("-".join(module.split(".")[: table.namespaces[prefix]]))
    return canonicalize_name(module.partition(".")[0])


def is_shared_name(module: str) -> bool:
    """Whether several distributions put their modules below this name, so that it alone tells none of them."""
    table = _distributions()
    if module in table.modules:
        return False
    return any(name.startswith(f"{module}.") for name in (*table.modules, *table.namespaces)) or (
        table.namespaces.get(module, 0) > module.count(".") + 1
    )


def check_name(requirement: str) -> str:
    """A requirement of PEP 508 in normal form: name, extras, versions, marker.

    Raises PackageError for what is not a plain name on the index: an URL, a path, a repository, an option of pip.
    """
    text = requirement.strip()
    if len(text) > MAX_REQUIREMENT_LENGTH:
        raise _refusal(text[:60] + "…", f"is longer than {MAX_REQUIREMENT_LENGTH} characters")
    if text.startswith("-"):
        raise _refusal(text, "is an option of the installer")
    if not _PLAIN.match(text):
        raise _refusal(text, "is an URL, a path, or holds characters that no requirement needs")
    try:
        parsed = Requirement(text)
    except InvalidRequirement as error:
        raise _refusal(text, f"is no requirement ({str(error).splitlines()[0]})") from error
    if "===" in str(parsed.specifier):
        raise _refusal(text, "compares versions as text (`===`)")
    if len(parsed.name) > MAX_NAME_LENGTH:
        raise _refusal(text[:60] + "…", f"has a name of more than {MAX_NAME_LENGTH} characters")
    return _render(parsed, canonicalize_name(parsed.name))


def check_system_name(package: str) -> str:
    """The name of a Debian package. Raises PackageError for anything else, options and shell syntax above all."""
    name = package.strip()
    if not _DEBIAN_NAME.match(name):
        raise PackageError(
            f"system package {name[:60]!r} is refused: it is no name of a Debian package; write one such as 'libgomp1'",
            package,
        )
    return name


def requirements_of(
    imported: Iterable[str], packages: Iterable[str], base_packages: Iterable[str] = ()
) -> tuple[str, ...]:
    """What the candidate needs installed: what it lists, `base_packages`, and what it imports beyond those.

    `imported` are the dotted names of its third-party imports (`source.imports.third_party_names`).

    Sorted and normalised, the same for the same arguments. A listed import name (`cv2`, `sklearn`) becomes its
    distribution; one that only names a standard module (`json`, `pathlib`) is dropped, for such distributions are
    outdated copies that would hide the module. Raises PackageError by policy.
    """
    listed = frozenset(_listed([*packages, *base_packages]))
    names = frozenset(Requirement(requirement).name for requirement in listed)
    beyond = {distribution_for(name) for name in imported if names.isdisjoint(_providers(name))}
    return tuple(sorted(_without_repeats(listed | beyond)))


def _listed(requirements: Iterable[str]) -> Iterator[str]:
    for requirement in map(check_name, requirements):
        parsed = Requirement(requirement)
        if parsed.name.replace("-", "_") not in sys.stdlib_module_names:
            yield _render(parsed, _meant(parsed.name))


def _meant(name: str) -> str:
    """The distribution that a listed name means: `sklearn` is nobody's distribution but scikit-learn's module."""
    by_lower_case = {module.lower(): distribution for module, distribution in _distributions().modules.items()}
    return by_lower_case.get(name.replace("-", "_"), name)


def _providers(module: str) -> frozenset[str]:
    """Every distribution that is known to provide the module."""
    others = [name for prefix in _prefixes(module) for name in _distributions().alternatives.get(prefix, ())]
    return frozenset({distribution_for(module), canonicalize_name(module.partition(".")[0]), *others})


def _without_repeats(requirements: frozenset[str]) -> Iterator[str]:
    """Leave out a bare name where another requirement says more about it."""
    qualified = {Requirement(text).name for text in requirements if Requirement(text).name != text}
    return (text for text in requirements if text not in qualified)


def _prefixes(module: str) -> Iterator[str]:
    """`a.b.c`, `a.b`, `a`."""
    while module:
        yield module
        module = module.rpartition(".")[0]


def _render(parsed: Requirement, name: str) -> str:
    extras = f"[{','.join(sorted(map(canonicalize_name, parsed.extras)))}]" if parsed.extras else ""
    marker = f" ; {parsed.marker}" if parsed.marker else ""
    return f"{name}{extras}{parsed.specifier}{marker}"


def _refusal(requirement: str, reason: str) -> PackageError:
    return PackageError(
        f"package {requirement!r} is refused: it {reason}; name a distribution on the package index, "
        "such as 'pandas' or 'pandas>=2.2'",
        requirement,
    )


# Which Debian packages this machine has, read from dpkg's own files; no process is started.

_DPKG_INFO = Path("/var/lib/dpkg/info")


def missing_system_packages(lock: EnvironmentLock, info: Path = _DPKG_INFO) -> tuple[str, ...]:
    """The lock's system packages that are not installed here; none where the machine has no dpkg to ask.

    A local sandbox cannot install them: this says why a library may be absent.
    """
    if not info.is_dir():
        return ()
    return tuple(name for name in lock.system_packages if not _is_installed(name, info))


def _is_installed(name: str, info: Path) -> bool:
    return (info / f"{name}.list").exists() or any(info.glob(f"{name}:*.list"))


# Which Debian package brings what a program missed: a shared library or a command that it calls. Pure text.

_LIBRARY: Final = re.compile(
    r"(lib[\w.+-]+): cannot open shared object file|cannot load library ['\"](lib[\w.+-]+)['\"]"
)
_NOT_FOUND: Final = re.compile(r"(?:\bsh: (?:\d+: )?|^)([\w.+-]+): (?:command )?not found", re.MULTILINE)
_NO_SUCH_FILE: Final = re.compile(r"No such file or directory: ['\"](?:/usr/(?:local/)?bin/)?([\w.+-]+)['\"]")
# A file of that name may be missing too: only where a program was to be started.
_STARTING: Final = re.compile(r"subprocess|Popen|check_output|check_call|_execute_child")


class _SystemNeeds(NamedTuple):
    libraries: dict[str, str]
    programs: dict[str, str]
    phrases: dict[str, str]


@cache
def _system_needs() -> _SystemNeeds:
    return _SystemNeeds(**json.loads(Path(__file__).with_name("system_needs.json").read_text(encoding="utf-8")))


def system_packages_for(message: str) -> tuple[str, ...]:
    """The Debian packages that a failure's message asks for, sorted; none for what the table does not know."""
    table = _system_needs()
    found = [table.libraries.get(name) for name in _libraries(message)]
    found += [table.programs.get(name) for name in _programs(message)]
    found += [package for phrase, package in table.phrases.items() if phrase in message]
    return tuple(sorted({package for package in found if package}))


def _libraries(message: str) -> Iterator[str]:
    return (linked or loaded for linked, loaded in _LIBRARY.findall(message))


def _programs(message: str) -> Iterator[str]:
    yield from _NOT_FOUND.findall(message)
    if _STARTING.search(message):
        yield from _NO_SUCH_FILE.findall(message)

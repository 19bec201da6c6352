"""Which distributions a candidate may ask for, and which ones its imports need.

By rule, an import name is the normalised name of its distribution (PEP 503). The table `distributions.json` lists the
names that differ. No library that maps import names was fit to depend on, as of 2026-11:
pipreqs (a table of 2017 vintage that still maps to abandoned forks; pins IPython), pigar (77 MB of SQLite), conda-pypi
and grayskull (made for conda names, without `PIL` or `yaml`; the conda stack), deptry and fawltydeps (read what is
installed). The table covers what data work uses. `namespaces` says how many parts of a dotted import name make up the
name of the distribution; `alternatives` are other distributions that provide the same module.
"""

from __future__ import annotations

import json
import re
import sys
from collections.abc import Iterable, Iterator
from functools import cache
from pathlib import Path
from typing import NamedTuple

from packaging.requirements import InvalidRequirement, Requirement
from packaging.utils import canonicalize_name

from flyteplugins_codegen.errors import PackageError

MAX_NAME_LENGTH = 100
MAX_REQUIREMENT_LENGTH = 300

# No `/`, `:`, `@`, `\`, so neither URL nor path. No `$`, `#` or newline, which uv would expand, cut or split at.
_PLAIN = re.compile(r"[A-Za-z0-9 ._\-\[\],<>=!~;()'\"*+]*\Z")


class _Distributions(NamedTuple):
    modules: dict[str, str]
    namespaces: dict[str, int]
    alternatives: dict[str, list[str]]


@cache
def _distributions() -> _Distributions:
    return _Distributions(**json.loads(Path(__file__).with_name("distributions.json").read_text(encoding="utf-8")))


def distribution_for(module: str) -> str:
    """The normalised name of the distribution that provides a module, given by its dotted or top-level name."""
    table = _distributions()
    for prefix in _prefixes(module):
        if prefix in table.modules:
            return table.modules[prefix]
        if prefix in table.namespaces:
            return canonicalize_name("-".join(module.split(".")[: table.namespaces[prefix]]))
    return canonicalize_name(module.partition(".")[0])


def is_shared_name(module: str) -> bool:
    """Whether several distributions put modules below this name, so that the name alone identifies none of them."""
    table = _distributions()
    if module in table.modules:
        return False
    return any(name.startswith(f"{module}.") for name in (*table.modules, *table.namespaces)) or (
        table.namespaces.get(module, 0) > module.count(".") + 1
    )


def check_name(requirement: str) -> str:
    """Return a PEP 508 requirement in normal form: name, extras, versions, marker.

    Raises PackageError for anything but a name on the index: an URL, a path, a repository, an option of pip.
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


def requirements_of(
    imported: Iterable[str], packages: Iterable[str], base_packages: Iterable[str] = ()
) -> tuple[str, ...]:
    """The requirements of a candidate: its listed `packages`, `base_packages`, and what else its imports need.

    `imported` are the dotted names of its third-party imports (`source.python.third_party_names`). The result is sorted
    and normalised. A listed import name (`cv2`, `sklearn`) becomes its distribution. A listed name of a standard module
    (`json`, `pathlib`) is dropped: distributions of that name are outdated copies that would hide the module.

    Raises PackageError for a package that `check_name` refuses.
    """
    listed = frozenset(_listed([*packages, *base_packages]))
    names = frozenset(Requirement(requirement).name for requirement in listed)
    beyond = {distribution_for(name) for name in imported if names.isdisjoint(_providers(name))}
    return tuple(sorted(_without_repeats(listed | beyond)))


def _listed(requirements: Iterable[str]) -> Iterator[str]:
    for requirement in map(check_name, requirements):
        parsed = Requirement(requirement)
        if parsed.name.replace("-", "_") not in sys.stdlib_module_names:
            yield _render(parsed, _distribution_named(parsed.name))


def _distribution_named(name: str) -> str:
    """The distribution that a listed name stands for: `sklearn` is an import name, its distribution is scikit-learn."""
    by_lower_case = {module.lower(): distribution for module, distribution in _distributions().modules.items()}
    return by_lower_case.get(name.replace("-", "_"), name)


def _providers(module: str) -> frozenset[str]:
    """Every distribution that is known to provide the module."""
    others = [name for prefix in _prefixes(module) for name in _distributions().alternatives.get(prefix, ())]
    return frozenset({distribution_for(module), canonicalize_name(module.partition(".")[0]), *others})


def _without_repeats(requirements: frozenset[str]) -> Iterator[str]:
    """Leave out a bare name where another requirement has a version, an extra or a marker for it."""
    qualified = {Requirement(text).name for text in requirements if Requirement(text).name != text}
    return (text for text in requirements if text not in qualified)


def _prefixes(module: str) -> Iterator[str]:
    """For `a.b.c` yields `a.b.c`, `a.b`, `a`."""
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

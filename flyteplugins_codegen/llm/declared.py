"""Providers of other distributions, by the entry point group `flyteplugins_codegen.providers`.

    [project.entry-points."flyteplugins_codegen.providers"]
    acme = "acme_models:PROVIDER"

`PROVIDER` is a `flyteplugins_codegen.llm.provider.Provider`; its models are then named `acme/NAME`.
"""

from __future__ import annotations

from importlib.metadata import EntryPoint, entry_points

from flyteplugins_codegen.errors import SettingsError
from flyteplugins_codegen.llm.provider import Provider

GROUP = "flyteplugins_codegen.providers"


def find_declared(name: str) -> EntryPoint | None:
    """The provider of this name that an installed distribution declares. Nothing of it is imported yet."""
    return next(iter(entry_points(group=GROUP, name=name)), None)


def load_declared(entry: EntryPoint) -> Provider:
    """The provider itself. Raises SettingsError that names what to install where its module cannot be imported."""
    owner = entry.dist.name if entry.dist is not None else entry.module
    try:
        provider = entry.load()
    except ImportError as error:
        extras = f"[{','.join(entry.extras)}]" if entry.extras else ""
        raise SettingsError(
            f"the provider {entry.name!r} of {owner} cannot be imported: {error}; install what it needs: "
            f"pip install '{owner}{extras}'"
        ) from error
    if not isinstance(provider, Provider):
        raise SettingsError(f"the provider {entry.name!r} of {owner} is {type(provider).__name__}, and no Provider")
    return provider

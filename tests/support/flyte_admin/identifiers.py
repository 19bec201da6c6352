"""Names, versions, projects and domains."""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import Any
from urllib.parse import quote

from flyteidl.core import identifier_pb2

from flyte_admin.refusals import invalid, missing

_EXECUTION = re.compile(r"[a-z]([-a-z0-9]*[a-z0-9])?\Z")
_MAX_EXECUTION_NAME = 63
_MAX_LABELS = 16
_LABEL_NAME = re.compile(r"[A-Za-z0-9]([-A-Za-z0-9_.]{0,61}[A-Za-z0-9])?\Z")
_LABEL_PREFIX = re.compile(r"[a-z0-9]([-a-z0-9.]{0,251}[a-z0-9])?\Z")


class Places:
    """The projects and domains that there are."""

    def __init__(self, projects: Sequence[str], domains: Sequence[str]) -> None:
        self.projects = tuple(projects)
        self.domains = tuple(domains)

    def check(self, project: str, domain: str) -> None:
        """Refuse a place that is not there."""
        if project not in self.projects:
            raise invalid(
                f"failed to validate that project [{project}] and domain [{domain}] are registered, "
                f"err: [missing entity of type Project with identifier id:{project}]"
            )
        if domain not in self.domains:
            raise invalid(f"domain [{domain}] is unrecognized by system")

    def check_id(self, identifier: Any, kind: int) -> None:
        """Refuse an id that is not whole, is of another kind, or of a place that is not there."""
        check_whole_id(identifier, kind)
        self.check(identifier.project, identifier.domain)
        check_version(identifier.version)


def check_whole_id(identifier: Any, kind: int) -> None:
    """Refuse an id with an empty part, or of another kind of resource."""
    if identifier.resource_type != kind:
        wanted = identifier_pb2.ResourceType.Name(kind).lower()
        got = identifier_pb2.ResourceType.Name(identifier.resource_type).lower()
        raise invalid(f"unexpected resource type {got} for identifier [{identifier}], expected {wanted} instead")
    for part in ("project", "domain", "name", "version"):
        if not getattr(identifier, part):
            raise missing(part)


def check_version(version: str) -> None:
    """Refuse a version that would have to be escaped in an address."""
    if quote(version, safe="~") != version:
        raise invalid(f"version [{version}] must be url safe, cannot contains chars [!*'();:@&=+$,/?#[]]")


def check_execution_name(name: str) -> None:
    """Refuse a name that cannot be a pod's; an empty one is made up by the server."""
    if len(name) > _MAX_EXECUTION_NAME:
        raise invalid(f"size of name exceeded length {_MAX_EXECUTION_NAME} : {name}")
    if name and not _EXECUTION.match(name):
        raise invalid(f"invalid name format: {name}")


def check_labels(labels: Any) -> None:
    """Refuse what Kubernetes takes for no label."""
    if len(labels.values) > _MAX_LABELS:
        raise invalid(f"labels map cannot exceed {_MAX_LABELS} entries")
    for key, value in labels.values.items():
        prefix, _, name = key.rpartition("/")
        if not _LABEL_NAME.match(name) or (prefix and not _LABEL_PREFIX.match(prefix)):
            raise invalid(f"invalid label key [{key}]")
        if value and not _LABEL_NAME.match(value):
            raise invalid(f"invalid label value [{value}]")

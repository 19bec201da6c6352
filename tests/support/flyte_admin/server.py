"""The server as a whole, and how clients are told of it."""

from __future__ import annotations

import json
import sys
from collections.abc import Iterable, Mapping
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from types import TracebackType
from typing import Any

import grpc
from flyteidl.core import execution_pb2, literals_pb2
from flyteidl.service import (
    admin_pb2_grpc,
    auth_pb2_grpc,
    dataproxy_pb2_grpc,
    identity_pb2_grpc,
)
from typing_extensions import Self

from flyte_admin.admin_service import PRINCIPAL, AdminService, State
from flyte_admin.identifiers import Places
from flyte_admin.object_store import DataProxy, ObjectStore
from flyte_admin.people import AuthMetadata, Gate, Identity

PROJECT = "flytesnacks"
DOMAINS = ("development", "staging", "production")
LIMITS = {"cpu": "8", "memory": "32Gi", "ephemeral_storage": "100Gi", "gpu": "4"}


class FlyteAdmin:
    """As the package says."""

    def __init__(
        self,
        *,
        projects: Iterable[str] = (PROJECT,),
        domains: Iterable[str] = DOMAINS,
        limits: Mapping[str, str] = LIMITS,
        token: str | None = None,
    ) -> None:
        self.state = State(places=Places(tuple(projects), tuple(domains)), limits=limits)
        self.token = token
        self.calls: list[str] = []
        self.endpoint = ""

    def __enter__(self) -> Self:
        self._store = ObjectStore()
        self._server = grpc.server(ThreadPoolExecutor(4), interceptors=[Gate(self.token, self.calls)])
        admin_pb2_grpc.add_AdminServiceServicer_to_server(AdminService(self.state), self._server)
        proxy = DataProxy(self.state.places, self._store)
        dataproxy_pb2_grpc.add_DataProxyServiceServicer_to_server(proxy, self._server)
        identity_pb2_grpc.add_IdentityServiceServicer_to_server(Identity(PRINCIPAL), self._server)
        auth_pb2_grpc.add_AuthMetadataServiceServicer_to_server(AuthMetadata(), self._server)
        self.endpoint = f"127.0.0.1:{self._server.add_insecure_port('127.0.0.1:0')}"
        self._server.start()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._server.stop(None).wait()
        self._store.close()

    @property
    def tasks(self) -> list[Any]:
        """The tasks, oldest first: `.id`, `.closure.compiled_task.template`, `.short_description`."""
        return list(self.state.tasks)

    @property
    def workflows(self) -> list[Any]:
        """The workflows: `.id`, `.closure.compiled_workflow`."""
        return list(self.state.workflows)

    @property
    def launch_plans(self) -> list[Any]:
        """The launch plans: `.id`, `.spec`, `.closure.state`."""
        return list(self.state.launch_plans)

    @property
    def executions(self) -> list[Any]:
        """The executions: `.id`, `.spec`, `.closure.phase`."""
        return list(self.state.executions)

    @property
    def objects(self) -> dict[str, bytes]:
        """Everything uploaded, by its address."""
        return self._store.objects

    def inputs(self, execution: str) -> dict[str, Any]:
        """The literals that an execution was started with, defaults and fixed ones among them."""
        return dict(self.state.inputs[execution].literals)

    def finish(self, execution: str, outputs: Mapping[str, Any] | None = None, *, error: str = "") -> None:
        """End an execution: with outputs (literals by name), or with an error."""
        (found,) = [one for one in self.state.executions if one.id.name == execution]
        phases = execution_pb2.WorkflowExecution
        found.closure.phase = phases.FAILED if error else phases.SUCCEEDED
        if error:
            found.closure.error.message = error
            found.closure.error.code = "USER:Unknown"
        self.state.outputs[execution] = literals_pb2.LiteralMap(literals=dict(outputs or {}))

    def write_config(self, home: Path) -> Path:
        """Write the file that flytekit's clients read in this home folder; returns its path."""
        path = home / ".flyte" / "config.yaml"
        path.parent.mkdir(parents=True, exist_ok=True)
        lines = ["admin:", f"  endpoint: dns:///{self.endpoint}", "  insecure: true"]
        if self.token is not None:
            command = [sys.executable, "-c", f"print({self.token!r}, end='')"]
            lines += ["  authType: ExternalCommand", f"  command: {json.dumps(command)}"]
        path.write_text("\n".join(lines) + "\n")
        return path

    def remote(self, project: str = PROJECT, domain: str = DOMAINS[0]) -> Any:
        """A FlyteRemote of this process that talks to the server."""
        from flytekit.configuration import Config
        from flytekit.remote import FlyteRemote

        config = Config.for_endpoint(self.endpoint, insecure=True)
        return FlyteRemote(config, default_project=project, default_domain=domain, interactive_mode_enabled=False)

"""Who asks: the identity service, the metadata of authentication, and the token that a locked server wants."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import grpc
from flyteidl.service import auth_pb2, auth_pb2_grpc, identity_pb2, identity_pb2_grpc

from flyte_admin.refusals import RefusedError

_OPEN_TO_ALL = "flyteidl.service.AuthMetadataService"


class Identity(identity_pb2_grpc.IdentityServiceServicer):
    """Says who is logged in."""

    def __init__(self, name: str) -> None:
        self.name = name

    def UserInfo(self, request: Any, _: Any) -> Any:
        return identity_pb2.UserInfoResponse(
            subject=self.name, name=self.name, preferred_username=self.name, email=f"{self.name}@example.org"
        )


class AuthMetadata(auth_pb2_grpc.AuthMetadataServiceServicer):
    """Says where one would log in."""

    def GetOAuth2Metadata(self, request: Any, _: Any) -> Any:
        return auth_pb2.OAuth2MetadataResponse(
            issuer="https://login.example.org",
            authorization_endpoint="https://login.example.org/authorize",
            token_endpoint="https://login.example.org/token",
        )

    def GetPublicClientConfig(self, request: Any, _: Any) -> Any:
        return auth_pb2.PublicClientAuthConfigResponse(
            client_id="flytectl",
            redirect_uri="http://localhost:53593/callback",
            authorization_metadata_key="flyte-authorization",
        )


class Gate(grpc.ServerInterceptor):
    """Notes every call, asks for the token where there is one, and turns a refusal into a status."""

    def __init__(self, token: str | None, calls: list[str]) -> None:
        self.token = token
        self.calls = calls

    def intercept_service(self, continuation: Callable[[Any], Any], details: Any) -> Any:
        handler = continuation(details)
        _, service, method = details.method.split("/")
        self.calls.append(method)
        is_allowed = service == _OPEN_TO_ALL or self._is_known(dict(details.invocation_metadata))
        if handler is None:
            return None
        return grpc.unary_unary_rpc_method_handler(
            _answering(handler.unary_unary, is_allowed),
            request_deserializer=handler.request_deserializer,
            response_serializer=handler.response_serializer,
        )

    def _is_known(self, metadata: dict[str, str]) -> bool:
        brought = metadata.get("flyte-authorization") or metadata.get("authorization")
        return self.token is None or brought == f"Bearer {self.token}"


def _answering(serve: Callable[[Any, Any], Any], is_allowed: bool) -> Callable[[Any, Any], Any]:  # noqa: FBT001 - decided once a call
    def answer(request: Any, context: Any) -> Any:
        if not is_allowed:
            context.abort(grpc.StatusCode.UNAUTHENTICATED, "token parse error [JWT_VERIFICATION_FAILED]")
        try:
            return serve(request, context)
        except RefusedError as error:
            context.abort(error.status, str(error))

    return answer

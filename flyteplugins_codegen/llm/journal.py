"""Paid replies, kept on disk before anybody sees them: a run that was killed goes on without paying again."""

from __future__ import annotations

from flyteplugins_codegen.llm.claims import claimed
from flyteplugins_codegen.llm.protocol import Model, ModelReply, ModelRequest
from flyteplugins_codegen.models.settings import CacheMode
from flyteplugins_codegen.store import ContentStore, digest

REPLIES = "replies"
"""The kind of their entries in the store."""
_CLAIMS = "asking"


class RememberedModel:
    """A model that asks nothing twice.

    `mode`: "auto" reads and writes the store, "override" asks anew and overwrites, "disable" leaves the store alone.
    `scope` sets apart models of one name at different addresses.
    """

    def __init__(self, model: Model, store: ContentStore, mode: CacheMode = "auto", scope: str = "") -> None:
        self._model = model
        self._store = store
        self._mode = mode
        self._scope = scope

    @property
    def name(self) -> str:
        """The name of the model that is asked."""
        return self._model.name

    async def complete(self, request: ModelRequest) -> ModelReply:
        """See `Model`. The same question, asked at the same time by another task or process, is paid for once."""
        if self._mode == "disable":
            return await self._model.complete(request)
        key = self._key(request)
        if self._mode == "override":
            return await self._ask(key, request)
        return self._find(key) or await self._find_or_ask(key, request)

    async def _find_or_ask(self, key: str, request: ModelRequest) -> ModelReply:
        async with claimed(self._store.path(_CLAIMS, key).with_suffix(""), request.deadline_s) as waited_s:
            return self._find(key) or await self._ask(key, _sooner(request, waited_s))

    def _find(self, key: str) -> ModelReply | None:
        found = self._store.get(REPLIES, key, ModelReply)
        return found and found.model_copy(update={"is_reused": True})

    async def _ask(self, key: str, request: ModelRequest) -> ModelReply:
        reply = await self._model.complete(request)
        # Before anybody sees it: it is paid for.
        self._store.keep(REPLIES, key, reply)
        return reply

    def _key(self, request: ModelRequest) -> str:
        # How long to wait for the answer is no part of the question.
        return digest(self.name, self._scope, request.model_dump(mode="json", exclude={"deadline_s"}))


def _sooner(request: ModelRequest, waited_s: float) -> ModelRequest:
    """The request with what is left of its deadline after waiting for another who asked the same, in vain."""
    if not waited_s:
        return request
    return request.model_copy(update={"deadline_s": max(request.deadline_s - waited_s, 0.001)})

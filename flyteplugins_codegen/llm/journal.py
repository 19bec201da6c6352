"""Paid replies, kept on disk before anybody sees them: a run that was killed goes on without paying again."""

from __future__ import annotations

import logging

from flyteplugins_codegen.llm.protocol import Model, ModelReply, ModelRequest
from flyteplugins_codegen.models.settings import CacheMode
from flyteplugins_codegen.store import ContentStore, digest

_KIND = "replies"
_log = logging.getLogger(__name__)


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
        """See `Model`."""
        key = self._key(request)
        found = self._store.get(_KIND, key, ModelReply) if self._mode == "auto" else None
        if found is not None:
            return found.model_copy(update={"is_reused": True})
        reply = await self._model.complete(request)
        if self._mode != "disable":
            self._keep(key, reply)
        return reply

    def _key(self, request: ModelRequest) -> str:
        # How long to wait for the answer is no part of the question.
        return digest(self.name, self._scope, request.model_dump(mode="json", exclude={"deadline_s"}))

    def _keep(self, key: str, reply: ModelReply) -> None:
        try:
            self._store.put(_KIND, key, reply)
        except OSError as error:
            # The reply is in hand and paid for: a full disk must not take it away.
            _log.warning("a reply could not be kept in %s, a resumed run will ask again: %s", self._store.root, error)

"""The table of `routing.py` as a request router of Ray Serve's."""

from __future__ import annotations

from typing import Any

from ray.serve.request_router import PendingRequest, ReplicaID, RequestRouter, RunningReplica
from routing import PrefixTable


class PrefixRouter(RequestRouter):
    """For deployments whose calls have the prompt's keys as their first argument and the ids of
    replicas that have failed this request as the second."""

    def initialize_state(self, **kwargs: Any) -> None:
        self._table = PrefixTable(**kwargs)

    async def choose_replicas(
        self,
        candidate_replicas: list[RunningReplica],
        pending_request: PendingRequest | None = None,
    ) -> list[list[RunningReplica]]:
        replicas = {replica.replica_id.unique_id: replica for replica in candidate_replicas}
        keys, failed = pending_request.args[:2] if pending_request else ((), ())
        sound = {name: r for name, r in replicas.items() if name not in failed} or replicas
        loads = {name: self._load(replica.replica_id) for name, replica in sound.items()}
        return [[sound[name]] for name in self._table.rank(keys, loads)]

    def on_request_routed(
        self, pending_request: PendingRequest, replica_id: ReplicaID, result: Any
    ) -> None:
        self._table.record(pending_request.args[0], replica_id.unique_id)

    def on_replica_actor_died(self, replica_id: ReplicaID) -> None:
        super().on_replica_actor_died(replica_id)
        self._table.forget(replica_id.unique_id)

    def _load(self, replica_id: ReplicaID) -> int:
        return self.replica_queue_len_cache.get(replica_id) or 0

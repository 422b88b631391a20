"""Replicas of `mlc_llm serve`, and the gateway before them.

A request goes to a replica by its prompt's beginning. When a replica dies, a request of which the
client has no byte yet is sent to another one; a stream that has begun ends with an error event.
Some replicas may compute the prompts of the others: those ask the gateway, as clients do.
"""

from __future__ import annotations

import asyncio
import ctypes
import json
import os
import re
import signal
import subprocess
import threading
from collections.abc import AsyncIterator, Sequence
from typing import Any

import httpx
from prefix_router import PrefixRouter
from ray import serve
from ray.serve.config import RequestRouterConfig
from routing import block_keys, prompt_text
from starlette.requests import Request
from starlette.responses import JSONResponse, Response, StreamingResponse

ATTEMPTS = 4
EVENT_STREAM = "text/event-stream"
PREFILL = "/admin/prefill"  # what replicas ask of those that compute prompts
Head = tuple[int, dict[str, str], str]  # status, headers, the replica's id


def die_with_parent() -> None:
    """In a child: Linux ends it when the process that started it ends, however that was."""
    ctypes.CDLL(None).prctl(1, signal.SIGKILL)


@serve.deployment(
    max_ongoing_requests=512,
    health_check_period_s=2,
    graceful_shutdown_timeout_s=30,
    request_router_config=RequestRouterConfig(request_router_class=PrefixRouter),
)
class Replica:
    """One `mlc_llm serve`, in a process of its own, on a port that only this machine reaches."""

    def __init__(self, command: Sequence[str]) -> None:
        self._id = serve.get_replica_context().replica_id.unique_id
        self._process = subprocess.Popen(
            [*command, "--host", "127.0.0.1", "--port", "0"],
            stdout=subprocess.DEVNULL,
            stderr=subprocess.PIPE,
            text=True,
            preexec_fn=die_with_parent,
        )
        self._http = httpx.AsyncClient(base_url=self._wait_for_url(), timeout=None)
        threading.Thread(target=self._watch, daemon=True).start()

    def _wait_for_url(self) -> str:
        assert self._process.stderr is not None
        lines = []
        for line in self._process.stderr:
            lines.append(line)
            if found := re.search(r"ready on (\S+:\d+)", line):
                return found.group(1)
        raise RuntimeError("mlc_llm serve did not start:\n" + "".join(lines[-20:]))

    def _watch(self) -> None:
        """A replica without its server ends, so that nothing more is sent to it and Ray starts
        another one. It leaves a moment in which what was running learns that it failed."""
        assert self._process.stderr is not None
        for _ in self._process.stderr:
            pass
        self._process.wait()
        threading.Event().wait(0.2)
        os._exit(1)

    def check_health(self) -> None:
        if self._process.poll() is not None:
            raise RuntimeError("mlc_llm serve has ended")

    def address(self, keys: Sequence[int], failed: Sequence[str]) -> tuple[str, int]:
        """The replica's id and its server's process (for tests)."""
        return self._id, self._process.pid

    async def forward(
        self,
        keys: Sequence[int],
        failed: Sequence[str],
        method: str,
        path: str,
        headers: dict[str, str],
        body: bytes,
    ) -> AsyncIterator[Head | bytes]:
        """The answer's head, then its body in pieces. The router reads the first two arguments."""
        async with self._http.stream(method, path, headers=headers, content=body) as answer:
            wanted = ("content-type", "retry-after", "allow", "www-authenticate")
            kept = {name: answer.headers[name] for name in wanted if name in answer.headers}
            yield answer.status_code, kept, self._id
            async for piece in answer.aiter_raw():
                yield piece


@serve.deployment(max_ongoing_requests=4096)
class Gateway:
    """Speaks to clients."""

    def __init__(self, replicas: Any, prefill: Any = None) -> None:
        """`prefill`: the replicas that compute prompts, if there are such."""
        self._replicas = replicas.options(method_name="forward", stream=True)
        self._prefill = (prefill or replicas).options(method_name="forward", stream=True)
        self._addresses = replicas.options(method_name="address")

    async def __call__(self, request: Request) -> Response:
        path = request.url.path
        if path == "/scale-out/replica":  # one of them, as luck has it (for tests)
            return JSONResponse(await self._addresses.remote((), ()))
        body = await request.body()
        given = ("content-type", "authorization")
        headers = {name: request.headers[name] for name in given if name in request.headers}
        call = (request.method, path, headers, body)
        keys = block_keys(prompt_text(path, body)) if body else []
        failed: list[str] = []
        for attempt in range(ATTEMPTS):
            try:
                return await self._try(keys, failed, call)
            except ReplicaLost as lost:
                failed.append(lost.replica)
                await asyncio.sleep(0.1 * 2**attempt)
        return JSONResponse(
            lost_error(f"{ATTEMPTS} replicas failed one after the other; try again"),
            status_code=503,
            headers={"Retry-After": "5"},
        )

    async def _try(self, keys: list[int], failed: list[str], call: tuple[Any, ...]) -> Response:
        """Raises ReplicaLost while the client has no byte yet: whole answers are read to their end
        first, streams up to their first piece."""
        replicas = self._prefill if call[1] == PREFILL else self._replicas
        pieces = replicas.remote(keys, tuple(failed), *call)
        replica = ""
        try:
            status, headers, replica = await anext(pieces)
            headers["X-Replica"] = replica
            first = await anext(pieces, b"")
            if not headers.get("content-type", "").startswith(EVENT_STREAM):
                rest = [piece async for piece in pieces]
                return Response(b"".join([first, *rest]), status_code=status, headers=headers)
        except asyncio.CancelledError:
            pieces.cancel()  # the client has left
            raise
        except Exception as error:  # Ray has many for an actor that died or could not be reached
            raise ReplicaLost(replica) from error
        return StreamingResponse(relay(first, pieces), status_code=status, headers=headers)


async def relay(first: bytes, pieces: Any) -> AsyncIterator[bytes]:
    try:
        yield first
        async for piece in pieces:
            yield piece
    except (asyncio.CancelledError, GeneratorExit):
        pieces.cancel()
        raise
    except Exception:
        error = lost_error("the replica that wrote this answer is gone; ask again")
        yield b"data: " + json.dumps(error).encode() + b"\n\n"


class ReplicaLost(Exception):
    def __init__(self, replica: str) -> None:
        super().__init__(replica)
        self.replica = replica


def lost_error(message: str) -> dict[str, dict[str, str | None]]:
    fields = {"message": message, "type": "server_error", "param": None}
    return {"error": {**fields, "code": "replica_lost"}}


def build(replicas: int, prefill: int, url: str, command: Sequence[str]) -> serve.Application:
    """The application: `command` starts one `mlc_llm serve` with its model and options. `prefill`:
    how many more compute the prompts; `url`: of the gateway, as replicas reach it."""
    few = {"num_cpus": 0.1}
    if not prefill:
        deployment = Replica.options(num_replicas=replicas, ray_actor_options=few)
        return Gateway.options(ray_actor_options=few).bind(deployment.bind(command))
    answers = Replica.options(name="Answers", num_replicas=replicas, ray_actor_options=few)
    prompts = Replica.options(name="Prompts", num_replicas=prefill, ray_actor_options=few)
    return Gateway.options(ray_actor_options=few).bind(
        answers.bind([*command, "--prefill-from", url]),
        prompts.bind([*command, "--enable-admin"]),
    )

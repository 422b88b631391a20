"""Responses with state: those that follow another one, and those that are made later."""

from __future__ import annotations

import asyncio
import contextlib
import json
import logging
import sqlite3
import threading
import uuid
from collections.abc import Callable, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from typing import Any, TypeVar

from mlc_llm import _core
from mlc_llm.errors import MLCError, error_of
from mlc_llm.errors import reasons_gen as reasons
from mlc_llm.serve.body_room import Body
from mlc_llm.serve.core_request import CoreRequest
from mlc_llm.serve.options import ServeOptions
from mlc_llm.serve.responses import ResponsesAnswerFormat
from mlc_llm.serve.responses_store import UNFINISHED, KeptResponse, ResponseStore
from mlc_llm.serve.slot import Lease

_T = TypeVar("_T")
_Result = TypeVar("_Result")
_log = logging.getLogger("uvicorn.error")
_MAX_IN_BACKGROUND = 256
_MAX_UNWRITTEN = 256
_ID_PREFIXES = {"function_call": "fc", "function_call_output": "fco", "reasoning": "rs"}


@dataclass
class _Running:
    core: CoreRequest
    lease: Lease
    body: Body  # until the core has it
    id: str  # what was asked is in the store
    task: asyncio.Task[None] | None = None


class ResponseState:
    """The kept responses of a server, and those that it makes in the background. It belongs to the
    event loop. One thread of its own reads and writes them, in the order in which it is asked: a
    conversation can be as long as a body."""

    def __init__(self, options: ServeOptions) -> None:
        self.store = ResponseStore(options.responses_db, options.responses_bytes)
        self._thread = ThreadPoolExecutor(1, "mlc-responses")
        self._options = options
        self._running: dict[str, _Running] = {}
        self._beginning = 0  # responses in the background that the store does not have yet
        self._room_to_keep = threading.BoundedSemaphore(_MAX_UNWRITTEN)

    async def conversation(self, asked: Mapping[str, Any]) -> list[dict[str, Any]]:
        """The items before those of a request. Raises MLCError if they are not kept."""
        previous = asked.get("previous_response_id")
        if previous is None:
            return []
        return await self._ask_store(
            self.store.conversation, previous, self._options.max_body_bytes
        )

    async def get(self, response_id: str) -> KeptResponse:
        """Raises MLCError if it is not kept."""
        return await self._ask_store(self.store.get, response_id)

    async def _ask_store(self, work: Callable[..., _Result], *arguments: Any) -> _Result:
        """What the store returns or raises, behind all that it was asked before."""
        loop = asyncio.get_running_loop()
        return await loop.run_in_executor(self._thread, work, *arguments)

    def update(self, response: dict[str, Any]) -> None:
        """Keeps a new state of a response, unless it was deleted. Does not wait for that."""
        self._write(response["id"], self.store.update, response)

    def keep(self, items: Sequence[dict[str, Any]], response: dict[str, Any]) -> bool:
        """Keeps a response. `items`: of its own request. Does not wait for that: a client has its
        answer also where it cannot be kept, as behind many that wait for a slow disk (False)."""
        kept = KeptResponse(response["id"], response["previous_response_id"], items, response)
        if not self._room_to_keep.acquire(blocking=False):
            _log.error("The response %s is not kept: %d wait", kept.id, _MAX_UNWRITTEN)
            return False
        self._write(kept.id, self._put, kept)
        return True

    def keep_from_begin(self, items: Sequence[dict[str, Any]]) -> Callable[[dict[str, Any]], None]:
        """What keeps a response when it begins, and each later state of it unless it was deleted
        meanwhile."""
        begun = False

        def keep(response: dict[str, Any]) -> None:
            nonlocal begun
            if begun:
                self.update(response)
            else:
                begun = self.keep(items, response)

        return keep

    def _put(self, kept: KeptResponse) -> None:
        try:
            self.store.put(kept)
        finally:
            self._room_to_keep.release()

    def _write(self, response_id: str, work: Callable[[_T], None], argument: _T) -> None:
        try:
            self._thread.submit(_logged, response_id, work, argument)
        except RuntimeError:
            _log.error("The response %s is not kept: the server ends", response_id)

    async def begin(
        self,
        items: Sequence[dict[str, Any]],
        answer: ResponsesAnswerFormat,
        lease: Lease,
        body: Body,
        core: CoreRequest,
    ) -> dict[str, Any]:
        """Begins a response in the background. Returns it as it is now. Releases the lease and the
        body at its end."""
        queued = answer.describe("queued")
        kept = KeptResponse(queued["id"], queued["previous_response_id"], items, queued)
        self._beginning += 1
        try:
            if len(self._running) + self._beginning > _MAX_IN_BACKGROUND:
                words = f"{_MAX_IN_BACKGROUND} responses are made in the background"
                raise error_of(reasons.SERVER_BUSY, words)
            await self._ask_store(self.store.put, kept)
        except BaseException as error:
            body.release()
            if isinstance(error, asyncio.CancelledError):  # the store may have it all the same
                self._write(kept.id, self.store.remove, kept.id)
            raise
        finally:
            self._beginning -= 1
        running = self._running[kept.id] = _Running(core, lease, body, kept.id)
        running.task = asyncio.ensure_future(self._run(running, answer))
        running.task.add_done_callback(lambda _: lease.release())
        running.task.add_done_callback(lambda _: body.release())
        return queued

    async def cancel(self, response_id: str) -> dict[str, Any]:
        """Ends a response in the background. One that has ended stays as it is."""
        running = self._running.get(response_id)  # its task takes it away
        if running is not None:
            running.core.end()
            assert running.task is not None
            running.task.cancel()
            with contextlib.suppress(asyncio.CancelledError):
                await running.task
            found = (await self.get(response_id)).response
            if found["status"] in UNFINISHED:
                self.update({**found, "status": "cancelled"})
        found = (await self.get(response_id)).response
        if not found["background"]:
            raise error_of(
                reasons.INVALID_REQUEST,
                "Cannot cancel a synchronous response.",
                param="response_id",
            )
        return found

    async def delete(self, response_id: str) -> None:
        if response_id in self._running:
            await self.cancel(response_id)
        await self._ask_store(self.store.delete, response_id)

    async def close(self) -> None:
        """Ends what runs. Its responses have failed."""
        tasks = []
        for response_id in list(self._running):
            running = self._running.pop(response_id)
            running.core.end()
            assert running.task is not None
            running.task.cancel()
            tasks.append(running.task)
        await asyncio.gather(*tasks, return_exceptions=True)
        await asyncio.to_thread(self._thread.shutdown)
        self.store.close()

    async def _run(self, running: _Running, answer: ResponsesAnswerFormat) -> None:
        try:
            with contextlib.suppress(asyncio.TimeoutError):
                await asyncio.wait_for(self._ask(running, answer), self._options.request_timeout)
                return
            error = error_of(reasons.TIMEOUT, "the response took longer than the server allows")
            answer.failed(error.to_dict()["error"])
        finally:
            running.core.end()
            self._running.pop(running.id, None)

    async def _ask(self, running: _Running, answer: ResponsesAnswerFormat) -> None:
        try:
            served = await running.lease.model()
            await running.core.submit_body(served, "chat.completions", running.body, self._options)
            self.update(answer.describe("in_progress"))
        except MLCError as error:
            answer.failed(error.to_dict()["error"])
            return
        kind, text = (await running.core.next_events())[-1]
        if kind == _core.EVENT_ERROR:
            answer.failed(json.loads(text)["error"])
        else:
            answer.whole(text)


def _logged(response_id: str, work: Callable[[_T], None], argument: _T) -> None:
    try:
        work(argument)
    except (MLCError, sqlite3.Error) as error:  # as of a full disk
        _log.error("The response %s is not kept: %s", response_id, error)
    except Exception:
        _log.exception("The response %s could not be kept", response_id)


def own_items(asked: Mapping[str, Any]) -> list[dict[str, Any]]:
    """The input items of a request, each with an id."""
    given = asked["input"]
    if isinstance(given, str):
        given = [{"role": "user", "content": given}]
    return [_item(item) for item in given]


def _item(item: Mapping[str, Any]) -> dict[str, Any]:
    kind = item.get("type") or "message"
    out = {**item, "type": kind}
    out["id"] = item.get("id") or f"{_ID_PREFIXES.get(kind, 'msg')}_{uuid.uuid4().hex}"
    if kind == "message":
        part = "output_text" if item["role"] == "assistant" else "input_text"
        if isinstance(item["content"], str):
            out["content"] = [{"type": part, "text": item["content"]}]
        out["status"] = "completed"
    return out

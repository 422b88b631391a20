"""Prompts that another server computes (`--prefill-from`): their states come from it over HTTP.

The prefix cache is asked what it holds of a request's prompt. If much is missing, the other server
computes the prompt, and its state comes in the format of `kv.save`. `kv.load` checks it and puts it
into the prefix cache, where the request finds it. The prompt's last token is computed here: its
logits are no part of the state.
"""

from __future__ import annotations

import asyncio
import contextlib
import json
import shutil
import tempfile
from collections.abc import AsyncIterator, Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Any
from urllib.parse import urlsplit

from mlc_llm.errors import InvalidRequestError, MLCError, ResourceError, error_of
from mlc_llm.errors import reasons_gen as reasons
from mlc_llm.sdk.core_engine import raise_if_error
from mlc_llm.serve.body_room import Body
from mlc_llm.serve.core_request import CoreRequest
from mlc_llm.serve.slot import ServedModel

if TYPE_CHECKING:
    import httpcore

ROUTE = "/admin/prefill"
_KINDS = {"chat.completions": "chat", "completions": "completion"}  # members of KVHeldRequest
_PIECE = 1 << 20  # bytes that are written at a time
_CONNECT_SECONDS = 1.5
_MAX_REFUSAL = 1 << 16  # bytes of an answer that is no state


class RemotePrefill:
    """The server that computes prompts. Without one, `bring` does nothing."""

    def __init__(
        self, url: str | None = None, key: str | None = None, least_tokens: int = 1
    ) -> None:
        """`least_tokens`: a prompt of which fewer are missing is computed here."""
        self.url = url if url is None else _checked(url)
        self._headers: dict[bytes | str, bytes | str] = {"Content-Type": "application/json"}
        if key:
            self._headers["Authorization"] = b"Bearer " + _checked_key(key)
        if least_tokens < 1:
            raise InvalidRequestError(
                "--prefill-least-tokens must be at least 1", param="prefill_least_tokens"
            )
        self._least_tokens = least_tokens
        if url is not None:
            import httpcore  # noqa: F401  (here, because it takes a third of a server's start)

    async def bring(self, served: ServedModel, route: str, body: Body) -> None:
        """Brings the states of a request's prompts into the model's prefix cache. Raises MLCError
        if the other server does not give them. A wrong request gets its error when it is
        submitted."""
        if self.url is None or route not in _KINDS:
            return
        for tokens in await self._missing(served, _KINDS[route], body):
            with state_file() as path:
                await self._fetch(served.name, tokens, path)
                await _load(served, path)

    async def _missing(self, served: ServedModel, kind: str, body: Body) -> list[list[int]]:
        """The prompts of which much is missing, each without its last token."""
        async with body.parsing():
            try:
                asked = b'{"' + kind.encode() + b'":' + body.data + b"}"
                found = await ask_engine(served, "kv.held", asked)
            except MLCError:
                return []
        return [
            prompt["tokens"][:-1]
            for prompt in found["prompts"]
            if len(prompt["tokens"]) - 1 - prompt["held"] >= self._least_tokens
        ]

    async def _fetch(self, model: str, tokens: list[int], path: Path) -> None:
        """Writes a prompt's state to a file."""
        import httpcore

        asked = json.dumps({"model": model, "prompt_tokens": tokens}).encode()
        try:
            # A connection of its own: one that was kept may be closed while it is taken.
            async with httpcore.AsyncConnectionPool(
                max_keepalive_connections=0, socket_options=_socket_options()
            ) as pool:
                async with pool.stream(
                    "POST",
                    f"{self.url}{ROUTE}",
                    headers=self._headers,
                    content=asked,
                    extensions={"timeout": {"connect": _CONNECT_SECONDS}},
                ) as answer:
                    if answer.status != 200:
                        raise _failed(f"{self.url} refuses: {await _refusal(answer)}")
                    await _write(answer.aiter_stream(), path)
        except httpcore.TimeoutException:
            raise _failed(f"{self.url} does not answer") from None
        except (httpcore.NetworkError, httpcore.ProtocolError) as error:
            raise _failed(f"{self.url} is gone: {str(error) or type(error).__name__}") from None
        except OSError as error:
            raise _failed(f"its state cannot be kept: {error}") from None


async def ask_engine(served: ServedModel, route: str, asked: bytes) -> dict[str, Any]:
    """The answer of a route of the model's engine. Raises MLCError."""
    core = CoreRequest()
    try:
        await core.submit(served.engine, route, asked)
        kind, text = (await core.next_events())[-1]
    finally:
        core.end()
    raise_if_error(kind, text)
    answer: dict[str, Any] = json.loads(text)
    return answer


@contextlib.contextmanager
def state_file() -> Iterator[Path]:
    """The name of a file in a folder that only this user can read. Both go at the end of the block.
    Whoever writes the file later has no folder for it."""
    try:
        folder = tempfile.mkdtemp(prefix="mlc_llm-prefill-")
    except OSError as error:
        raise _failed(f"its state cannot be kept: {error}") from None
    try:
        yield Path(folder, "state.kv")
    finally:
        for _ in range(2):  # the core may have renamed its file meanwhile
            shutil.rmtree(folder, ignore_errors=True)


async def _load(served: ServedModel, path: Path) -> None:
    """If the prefix cache has no room, the prompt is computed here."""
    try:
        await ask_engine(served, "kv.load", json.dumps({"path": str(path)}).encode())
    except ResourceError:
        return
    except MLCError as error:
        raise _failed(str(error)) from None


async def _write(pieces: AsyncIterator[bytes], path: Path) -> None:
    with path.open("wb") as file:
        waiting = bytearray()
        async for piece in pieces:
            waiting += piece
            if len(waiting) >= _PIECE:
                await asyncio.to_thread(file.write, waiting)
                waiting = bytearray()
        await asyncio.to_thread(file.write, waiting)


async def _refusal(answer: httpcore.Response) -> str:
    text = bytearray()
    async for piece in answer.aiter_stream():
        text += piece
        if len(text) > _MAX_REFUSAL:
            break
    try:
        return str(json.loads(text)["error"]["message"])
    except (ValueError, LookupError, TypeError, RecursionError):
        return f"status {answer.status}"


def _failed(why: str) -> MLCError:
    return error_of(reasons.PREFILL_FAILED, f"the prompt was not computed by another server: {why}")


def _socket_options() -> list[tuple[int, int, int]]:
    """The system finds within two seconds that the other machine is gone."""
    import socket

    options = [(socket.SOL_SOCKET, socket.SO_KEEPALIVE, 1)]
    for name in ("TCP_KEEPIDLE", "TCP_KEEPINTVL", "TCP_KEEPCNT"):
        if (number := getattr(socket, name, None)) is not None:  # not on every system
            options.append((socket.IPPROTO_TCP, number, 1))
    return options


def _checked(url: str) -> str:
    try:
        place = urlsplit(url)
        is_address = place.scheme in ("http", "https") and bool(place.hostname)
        _ = place.port  # which may be none
    except ValueError:
        is_address = False
    if not is_address or not url.isascii() or place.query or place.fragment or place.username:
        raise InvalidRequestError(
            f"--prefill-from {url}: is no address of a server, such as http://127.0.0.1:8001",
            param="prefill_from",
        )
    return url.rstrip("/")


def _checked_key(key: str) -> bytes:
    """Its bytes. A key that no header can have would be shown by the errors of requests."""
    if not key.isprintable() or key != key.strip():
        raise InvalidRequestError(
            "--prefill-key: has a line's end or another character that no header can have, or "
            "begins or ends with a space",
            param="prefill_key",
        )
    return key.encode()

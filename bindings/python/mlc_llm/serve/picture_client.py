"""Fetches pictures over HTTP, for `remote_pictures`. Only a server that fetches some imports this:
the HTTP client takes a third of a server's start."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Iterable
from urllib.parse import SplitResult, urljoin, urlsplit

import httpcore

from mlc_llm.errors import MLCError, error_of
from mlc_llm.errors import reasons_gen as reasons
from mlc_llm.errors.reasons_gen import Reason
from mlc_llm.serve.remote_pictures import ANY, Place, RemoteLimits, Resolve

_REDIRECTS = (301, 302, 303, 307, 308)


class _Checked(httpcore.AsyncNetworkBackend):
    """Connects to public addresses only."""

    def __init__(self, resolve: Resolve, allow: Callable[[str], bool]) -> None:
        self._resolve, self._allow = resolve, allow
        self._inner = httpcore.AnyIOBackend()

    async def connect_tcp(
        self,
        host: str,
        port: int,
        timeout: float | None = None,
        local_address: str | None = None,
        socket_options: Iterable[httpcore.SOCKET_OPTION] | None = None,
    ) -> httpcore.AsyncNetworkStream:
        addresses = await self._resolve(host, port)
        if not addresses or not all(map(self._allow, addresses)):
            raise _Refused(f"'{host}' is no public address")
        return await self._inner.connect_tcp(
            addresses[0], port, timeout, local_address, socket_options
        )


class _Refused(Exception):
    """Why a picture is not fetched."""

    def __init__(self, why: str, reason: Reason = reasons.FAILED_TO_DOWNLOAD_IMAGE) -> None:
        super().__init__(why)
        self.reason = reason


_FAULTS = (
    _Refused, asyncio.TimeoutError, OSError, ValueError, httpcore.NetworkError,
    httpcore.ProtocolError, httpcore.TimeoutException,
)  # fmt: skip


class PictureClient:
    """Fetches from some hosts, within limits. `resolve`: how names become addresses; `allow`: which
    of these are allowed."""

    def __init__(
        self,
        hosts: frozenset[str],
        limits: RemoteLimits,
        resolve: Resolve,
        allow: Callable[[str], bool],
    ) -> None:
        self._hosts, self._limits = hosts, limits
        self._backend = _Checked(resolve, allow)

    async def fetch_all(
        self, places: list[Place], deadline: float, limit: float
    ) -> dict[str, bytes]:
        """By the places that errors name."""
        left, found = self._limits.max_bytes, {}
        async with httpcore.AsyncConnectionPool(network_backend=self._backend) as pool:
            for param, url in places:
                try:
                    seconds = max(0.0, deadline - asyncio.get_running_loop().time())
                    picture = await asyncio.wait_for(self._get(pool, url, left), seconds)
                except _FAULTS as error:
                    raise _error(error, url, param, limit) from None
                left -= len(picture)
                found[param] = picture
        return found

    async def _get(self, pool: httpcore.AsyncConnectionPool, url: str, most: int) -> bytes:
        for _ in range(self._limits.max_redirects + 1):
            place = self._checked(url)
            async with pool.stream("GET", _request_url(place), headers=_headers(place)) as answer:
                if answer.status not in _REDIRECTS:
                    return await _content(answer, most)
                url = urljoin(url, _header(answer, b"location"))
        raise _Refused(f"there are more than {self._limits.max_redirects} redirects")

    def _checked(self, url: str) -> SplitResult:
        try:
            place = urlsplit(url)
            _ = place.port  # which may be none
        except ValueError:
            raise _Refused("it is no valid address") from None
        host = (place.hostname or "").lower()
        if place.scheme not in ("http", "https") or not host:
            raise _Refused("only addresses of http and https are fetched")
        if not url.isascii():
            raise _Refused("an address consists of ASCII characters; encode the others")
        if place.username is not None or place.password is not None:
            raise _Refused("an address with a user's name is not fetched")
        if ANY not in self._hosts and host not in self._hosts:
            raise _Refused(f"'{host[:100]}' is none of the hosts of --allow-picture-hosts")
        return place


def _error(error: Exception, url: str, param: str, seconds: float) -> MLCError:
    reason = reasons.FAILED_TO_DOWNLOAD_IMAGE
    why = "it does not answer as a web server does"
    if isinstance(error, _Refused):
        reason, why = error.reason, str(error)
    elif isinstance(error, asyncio.TimeoutError | httpcore.TimeoutException):
        why = f"it took longer than {seconds:g} s"
    elif isinstance(error, OSError | httpcore.ConnectError):
        why = "it cannot be reached"
    return error_of(reason, f"the picture {url[:200]} was not fetched: {why}", param=param)


def _request_url(place: SplitResult) -> httpcore.URL:
    target = (place.path or "/") + (f"?{place.query}" if place.query else "")
    host = place.hostname or ""
    return httpcore.URL(scheme=place.scheme, host=host, port=place.port, target=target)


def _headers(place: SplitResult) -> dict[bytes | str, bytes | str]:
    return {"Host": place.netloc, "User-Agent": "mlc_llm", "Accept": "image/*",
            "Accept-Encoding": "identity", "Connection": "close"}  # fmt: skip


async def _content(answer: httpcore.Response, most: int) -> bytes:
    if answer.status != 200:
        raise _Refused(f"it answers with status {answer.status}")
    found = bytearray()
    async for piece in answer.aiter_stream():
        found += piece
        if len(found) > most:
            raise _Refused(
                f"there are more than {most} bytes left for it in this request",
                reasons.IMAGE_FILE_TOO_LARGE,
            )
    return bytes(found)


def _header(answer: httpcore.Response, name: bytes) -> str:
    values = [value for key, value in answer.headers if key.lower() == name]
    if not values:
        raise _Refused("it redirects to nowhere")
    return values[0].decode("ascii")

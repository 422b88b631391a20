"""Pictures of requests that are addresses: fetched from hosts that the server's owner has named.

Whoever may ask this server could otherwise reach what this machine reaches: its own services, its
network (request forgery). So an address is looked up once, each of its answers must be public, and
the connection goes to one of these answers. A redirect is checked like the first address.
"""

from __future__ import annotations

import asyncio
import ipaddress
import json
import re
import socket
from collections.abc import Awaitable, Callable, Iterable, Iterator
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from typing import Any
from urllib.parse import SplitResult, urljoin, urlsplit

import httpcore

from mlc_llm.errors import MLCError, error_of
from mlc_llm.errors import reasons_gen as reasons
from mlc_llm.errors.reasons_gen import Reason
from mlc_llm.serve.body import parse_object
from mlc_llm.serve.body_room import Body
from mlc_llm.serve.pictures import data_url, parts_with_urls

_Place = tuple[str, str]  # of a picture, as errors name it, and its URL
Resolve = Callable[[str, int], Awaitable[list[str]]]
ANY = "*"
_SCHEMES = ("http:", "https:")
_MAYBE_REMOTE = re.compile(rb'"https?:', re.IGNORECASE)  # in a body that need not be parsed else
_AT_ONCE = 4  # requests that fetch at the same time, for their memory
_REDIRECTS = (301, 302, 303, 307, 308)
_UNICAST = ipaddress.ip_network("2000::/3")  # all that IPv6 has given to the internet
# NAT64, where the IPv4 address is the last 32 bits. (RFC 8215's network has it in other places.)
_NAT64 = ipaddress.ip_network("64:ff9b::/96")
# A name that nobody answers holds a thread for long, and others of the server are not for that.
_LOOKING_UP = ThreadPoolExecutor(_AT_ONCE, thread_name_prefix="picture hosts")


@dataclass(frozen=True, kw_only=True)
class RemoteLimits:
    """Of one request. Sizes are in bytes."""

    max_bytes: int = 20 << 20  # of all its pictures
    max_pictures: int = 16
    max_redirects: int = 3  # of one picture
    seconds: float = 10.0  # for all of them


async def _look_up(host: str, port: int) -> list[str]:
    found = await asyncio.get_running_loop().run_in_executor(
        _LOOKING_UP, lambda: socket.getaddrinfo(host, port, type=socket.SOCK_STREAM)
    )
    return [str(address[0]) for *_, address in found]


def is_public(address: str) -> bool:
    """Whether an address belongs to the internet, and not to a machine or a network."""
    try:
        found = ipaddress.ip_address(address)
    except ValueError:  # such as an IPv6 address with a zone
        return False
    if isinstance(found, ipaddress.IPv6Address):
        inner = found.ipv4_mapped or found.sixtofour
        if found in _NAT64:
            inner = ipaddress.IPv4Address(int(found) & 0xFFFFFFFF)
        if inner is not None:
            return is_public(str(inner))
        if found.teredo is not None or found not in _UNICAST:
            return False
    return found.is_global and not found.is_multicast and not found.is_reserved


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


class RemotePictures:
    """Fetches the pictures of requests. `hosts`: from which; `*` is any. `resolve` and `allow` are
    for tests: how names become addresses, and which of these are allowed."""

    def __init__(
        self,
        hosts: Iterable[str] = (),
        limits: RemoteLimits | None = None,
        *,
        resolve: Resolve = _look_up,
        allow: Callable[[str], bool] = is_public,
    ) -> None:
        self._hosts = frozenset(map(_host, hosts))
        self._limits = limits or RemoteLimits()
        self._backend = _Checked(resolve, allow)
        self._turns = asyncio.Semaphore(_AT_ONCE)

    async def fetch(self, body: Body, seconds: float | None = None) -> None:
        """Puts the pictures themselves into the request of a chat, in place of their addresses.
        `seconds`: those that the request has left. Raises MLCError, which names the part, if one
        cannot be fetched."""
        if not _MAYBE_REMOTE.search(body.data):
            return
        async with body.parsing():
            places = await asyncio.to_thread(_places, body.data)
        if not places:
            return
        self._check_count(places)
        limit = self._limits.seconds if seconds is None else min(seconds, self._limits.seconds)
        deadline = self._now() + limit
        try:
            await asyncio.wait_for(self._turns.acquire(), limit)
        except asyncio.TimeoutError:
            raise error_of(
                reasons.SERVER_BUSY,
                "the server fetches pictures for other requests; try again later",
                param=places[0][0],
            ) from None
        try:
            pictures = await self._fetch_all(places, deadline, limit)
        finally:
            self._turns.release()
        async with body.parsing():
            body.replace(await asyncio.to_thread(_with_pictures, body.data, pictures))

    async def _fetch_all(
        self, places: list[_Place], deadline: float, limit: float
    ) -> dict[str, bytes]:
        """By the places that errors name."""
        left, found = self._limits.max_bytes, {}
        async with httpcore.AsyncConnectionPool(network_backend=self._backend) as pool:
            for param, url in places:
                try:
                    seconds = max(0.0, deadline - self._now())
                    picture = await asyncio.wait_for(self._get(pool, url, left), seconds)
                except _FAULTS as error:
                    raise _error(error, url, param, limit) from None
                left -= len(picture)
                found[param] = picture
        return found

    def _check_count(self, places: list[_Place]) -> None:
        most = self._limits.max_pictures
        if not self._hosts:
            raise error_of(
                reasons.UNSUPPORTED_PARAMETER,
                "this server fetches no pictures: send the picture as a data: URL, or start the "
                "server with --allow-picture-hosts and the hosts to fetch from",
                param=places[0][0],
            )
        if len(places) > most:
            raise error_of(
                reasons.ARRAY_ABOVE_MAX_LENGTH,
                f"this server fetches at most {most} pictures for a request; send the others as "
                "data: URLs",
                param=places[most][0],
            )

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

    @staticmethod
    def _now() -> float:
        return asyncio.get_running_loop().time()


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


def _host(name: str) -> str:
    """An entry of --allow-picture-hosts."""
    host = name.lower()
    try:
        is_host = ":" not in host or ipaddress.ip_address(host).version == 6
    except ValueError:
        is_host = False
    if not host or not is_host or not host.isascii() or "/" in host:
        raise error_of(
            reasons.INVALID_VALUE,
            f"--allow-picture-hosts: {name!r} is no host; write it as in example.org, without "
            "scheme, port and path",
            param="allow_picture_hosts",
        )
    return host


def _places(body: bytes) -> list[_Place]:
    return [(param, url) for param, _, url in _remote_parts(parse_object(body))]


def _with_pictures(body: bytes, pictures: dict[str, bytes]) -> bytes:
    request = parse_object(body)
    for param, part, _ in _remote_parts(request):
        source = part["image_url"]
        others = source if isinstance(source, dict) else {}
        part["image_url"] = {**others, "url": data_url(pictures[param])}
    return json.dumps(request).encode()


def _remote_parts(request: Any) -> Iterator[tuple[str, dict[str, Any], str]]:
    for param, part, url in parts_with_urls(request):
        if url[:6].lower().startswith(_SCHEMES):
            yield param, part, url


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

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
from typing import TYPE_CHECKING, Any

from mlc_llm.errors import error_of
from mlc_llm.errors import reasons_gen as reasons
from mlc_llm.serve.body import parse_object
from mlc_llm.serve.body_room import Body
from mlc_llm.serve.pictures import data_url, parts_with_urls

if TYPE_CHECKING:
    from mlc_llm.serve.picture_client import PictureClient

Place = tuple[str, str]  # of a picture, as errors name it, and its URL
Resolve = Callable[[str, int], Awaitable[list[str]]]
ANY = "*"
_SCHEMES = ("http:", "https:")
_MAYBE_REMOTE = re.compile(rb'"https?:', re.IGNORECASE)  # in a body that need not be parsed else
_AT_ONCE = 4  # requests that fetch at the same time, for their memory
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
        self._turns = asyncio.Semaphore(_AT_ONCE)
        self._client: PictureClient | None = None
        if self._hosts:
            # here, because the import takes up to a second
            from mlc_llm.serve.picture_client import PictureClient

            self._client = PictureClient(self._hosts, self._limits, resolve, allow)

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
        client = self._client_for(places)
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
            pictures = await client.fetch_all(places, deadline, limit)
        finally:
            self._turns.release()
        async with body.parsing():
            body.replace(await asyncio.to_thread(_with_pictures, body.data, pictures))

    def _client_for(self, places: list[Place]) -> PictureClient:
        """Raises MLCError if this server fetches none, or not so many."""
        most = self._limits.max_pictures
        if self._client is None:
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
        return self._client

    @staticmethod
    def _now() -> float:
        return asyncio.get_running_loop().time()


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


def _places(body: bytes) -> list[Place]:
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

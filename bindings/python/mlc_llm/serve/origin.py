"""Keeps web pages of other sites away from this server, which may have no other protection.

A browser sends a request for any page that asks for it. Two headers say for whom: `Origin` names
the page's site, and `Host` the name under which the browser found this server. A page of another
site has another origin. A site whose name is pointed at this server's address after its page was
loaded (DNS rebinding) has the same origin, but a foreign host.
"""

from __future__ import annotations

import ipaddress
import socket
from collections.abc import Collection
from urllib.parse import urlsplit

from starlette.datastructures import Headers
from starlette.types import ASGIApp, Receive, Scope, Send

from mlc_llm.errors import MLCError, error_of
from mlc_llm.errors import reasons_gen as reasons
from mlc_llm.serve.errors import response_of
from mlc_llm.serve.options import ServeOptions

_ANY = "*"
_PROBES = {"/health", "/ready"}  # of load balancers, under any name
_READING = {"GET", "HEAD", "OPTIONS"}


class OriginMiddleware:
    """Refuses requests of pages of other sites, and requests that came by a foreign name."""

    def __init__(self, app: ASGIApp, *, options: ServeOptions) -> None:
        self._app = app
        self._hosts = HostNames(options.host, options.allow_hosts)
        self._origins = options.allow_origins

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        error = self._fault(scope) if scope["type"] == "http" else None
        app = self._app if error is None else response_of(error)
        await app(scope, receive, send)

    def _fault(self, scope: Scope) -> MLCError | None:
        headers = Headers(scope=scope)
        hosts = [host.lower() for host in headers.getlist("host")]
        if scope["path"] not in _PROBES:
            for host in hosts:
                if host not in self._hosts:
                    return _refused_host(host)
        origins = headers.getlist("origin")
        if _ANY in self._origins:
            return None
        for origin in origins:
            own = origin.partition("://")[2].lower() in hosts
            if not own and origin not in self._origins:
                return _refused_origin(origin)
        site = headers.get("sec-fetch-site", "none")
        if not origins and scope["method"] not in _READING and site not in ("none", "same-origin"):
            return _refused_origin(site)
        return None


class HostNames:
    """The names under which a server may be called: those of this machine, and those allowed. An
    address is no name that somebody could point at this server."""

    def __init__(self, bound: str, allowed: Collection[str]) -> None:
        self._any = _ANY in allowed
        self._names = {"localhost", bound.lower(), *(name.lower() for name in allowed)}
        address = _address(bound)
        self._takes_addresses = bound == "" or (address is not None and address.is_unspecified)
        if self._takes_addresses:
            own = socket.gethostname().lower()
            self._names |= {own, own.partition(".")[0], f"{own.partition('.')[0]}.local"}

    def __contains__(self, header: str) -> bool:
        """Whether a `Host` header in lower case, NAME[:PORT], has one of the names."""
        if self._any:
            return True
        try:
            name = (urlsplit(f"//{header}").hostname or "").rstrip(".")
        except ValueError:
            return False
        if name in self._names or header in self._names or name.endswith(".localhost"):
            return True
        address = _address(name)
        return address is not None and (self._takes_addresses or address.is_loopback)


def _address(text: str) -> ipaddress.IPv4Address | ipaddress.IPv6Address | None:
    try:
        return ipaddress.ip_address(text)
    except ValueError:
        return None


def _refused_host(host: str) -> MLCError:
    return error_of(
        reasons.HOST_NOT_ALLOWED,
        f"This server is not called '{host[:100]}'. If clients should reach it by that name, start "
        """it with --allow-hosts '["NAME"]'.""",
    )


def _refused_origin(origin: str) -> MLCError:
    return error_of(
        reasons.ORIGIN_NOT_ALLOWED,
        f"Pages of another site ('{origin[:100]}') may not use this server. If they should, start "
        """it with --allow-origins '["SCHEME://NAME:PORT"]'.""",
    )

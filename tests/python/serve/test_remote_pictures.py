"""Pictures that are addresses: from allowed hosts, at public addresses, within limits."""

from __future__ import annotations

import asyncio
import base64
import json
import threading
import time
from collections.abc import Iterator
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any

import pytest

from mlc_llm.errors import MLCError
from mlc_llm.serve.body_room import BodyRoom
from mlc_llm.serve.remote_pictures import RemoteLimits, RemotePictures, is_public

PICTURE = b"\x89PNG of a cat"
SLOW = 20.0  # seconds that no test waits


class _Site(BaseHTTPRequestHandler):
    """`/cat.png`; `/to?ADDRESS` redirects; `/large`; `/slow` never comes to its end."""

    asked: list[tuple[str, str]] = []
    end = threading.Event()

    def do_GET(self) -> None:
        self.asked.append((self.headers["Host"], self.path))
        path, _, to = self.path.partition("?")
        status = {"/to": 302, "/nowhere": 302, "/gone": 404}.get(path, 200)
        self.send_response(status)
        if path == "/to":
            self.send_header("Location", to)
        self.end_headers()
        self.wfile.write(PICTURE)
        if path == "/large":
            self.wfile.write(bytes(1000))
        if path == "/slow":
            self.wfile.flush()
            self.end.wait(SLOW)

    def log_message(self, *_: object) -> None:
        pass


@pytest.fixture(scope="module")
def port() -> Iterator[int]:
    server = ThreadingHTTPServer(("127.0.0.1", 0), _Site)
    thread = threading.Thread(target=server.serve_forever)
    thread.start()
    yield server.server_address[1]
    _Site.end.set()
    server.shutdown()
    server.server_close()
    thread.join()


class _Names:
    """A resolver: `inside.test` is in a private network, `mixed.test` in both; the others are this
    machine."""

    def __init__(self) -> None:
        self.asked: list[str] = []

    async def __call__(self, host: str, port: int) -> list[str]:
        self.asked.append(host)
        inside = {
            "inside.test": ["10.0.0.7"],
            "mixed.test": ["127.0.0.1", "10.0.0.7"],
            "nobody.test": [],
        }
        return inside.get(host, ["127.0.0.1"])


def fetch(
    *urls: object, hosts: tuple[str, ...] = ("*",), names: _Names | None = None, **limits: Any
) -> list[Any]:
    """The sources of the pictures afterwards. The loopback address counts as public."""
    pictures = RemotePictures(
        hosts, RemoteLimits(**limits), resolve=names or _Names(),
        allow=lambda address: address == "127.0.0.1" or is_public(address),
    )  # fmt: skip
    parts: list[Any] = [{"type": "image_url", "image_url": url} for url in urls]
    request = {"messages": [{"role": "user", "content": [{"type": "text", "text": "x"}, *parts]}]}
    fetched = json.loads(fetched_by(pictures, json.dumps(request).encode()))
    return [part["image_url"] for part in fetched["messages"][0]["content"][1:]]


def fetched_by(pictures: RemotePictures, data: bytes, seconds: float | None = None) -> bytes:
    body = BodyRoom(1 << 20).body(data)
    asyncio.run(pictures.fetch(body, seconds))
    return body.data


def refusal(*urls: object, **options: Any) -> MLCError:
    with pytest.raises(MLCError) as refused:
        fetch(*urls, **options)
    assert refused.value.param == f"messages[0].content[{len(urls)}]"
    return refused.value


def test_a_picture_takes_the_place_of_its_address(port: int) -> None:
    url = f"http://host.test:{port}/cat.png"
    own = {"url": "data:image/png;base64,AA=="}
    data = "data:;base64," + base64.b64encode(PICTURE).decode()
    found = fetch({"url": url, "detail": "low"}, own, url.replace("http", "HTTP", 1))
    assert found == [{"url": data, "detail": "low"}, own, {"url": data}]
    assert (f"host.test:{port}", "/cat.png") in _Site.asked


def test_other_requests_stay_as_they_are() -> None:
    for body in (b"{", b'{"prompt": "http://host.test/a"}', b'{"messages": [{"image_url": 3}]}',
                 b'{"messages": [{"content": [{"image_url": {"url": null}}]}]}'):  # fmt: skip
        if body != b"{":
            assert fetched_by(RemotePictures(), body) == body
    assert fetched_by(RemotePictures(), b"{") == b"{"  # the core says what is wrong


def test_a_server_that_fetches_nothing_says_how_it_would(port: int) -> None:
    before = len(_Site.asked)
    error = refusal(f"http://host.test:{port}/cat.png", hosts=())
    assert error.code == "unsupported_parameter" and "--allow-picture-hosts" in error.message
    assert len(_Site.asked) == before


def test_only_named_hosts_are_asked(port: int) -> None:
    names = _Names()
    assert fetch(f"http://HOST.test:{port}/cat.png", hosts=("Host.test",), names=names)
    error = refusal(f"http://other.test:{port}/cat.png", hosts=("host.test",), names=names)
    assert "'other.test'" in error.message and names.asked == ["host.test"]
    # A redirect is checked as the first address is.
    error = refusal(
        f"http://host.test:{port}/to?http://other.test/", hosts=("host.test",), names=names
    )
    assert "'other.test'" in error.message and "other.test" not in names.asked


@pytest.mark.parametrize(
    "url",
    [
        "inside.test/", "mixed.test:{port}/cat.png", "nobody.test/", "me@host.test:{port}/cat.png",
        "host.test:{port}/to?http://inside.test/", "host.test:{port}/to?//inside.test/",
        "host.test:{port}/to?ftp://host.test/cat.png", "host.test:{port}/to?file:///etc/passwd",
        "/cat.png", "host.test:99999/", "host.test:{port}/nowhere", "host.test:{port}/gone",
        "[::1/", "ho st/", "host.test:{port}/k\u00e4tzchen.png", "host.test:1/", "",
        "host.test:{port}/\r\nX: y",
    ],
)  # fmt: skip
def test_what_is_not_fetched(port: int, url: str) -> None:
    assert refusal("http:" + "//" + url.format(port=port)).code == "failed_to_download_image"


def test_limits(port: int) -> None:
    site = f"http://host.test:{port}"
    cat, size = f"{site}/cat.png", len(PICTURE)
    assert len(fetch(cat, cat, max_bytes=2 * size)) == 2
    assert refusal(cat, cat, max_bytes=2 * size - 1).code == "image_file_too_large"
    assert refusal(f"{site}/large", max_bytes=500).code == "image_file_too_large"
    assert refusal(cat, cat, max_pictures=1).code == "array_above_max_length"
    twice = f"{site}/to?/to?/cat.png"
    assert fetch(twice, max_redirects=2)
    assert "redirects" in refusal(twice, max_redirects=1).message
    begin = time.monotonic()
    assert "0.3 s" in refusal(f"{site}/slow", seconds=0.3).message
    assert time.monotonic() - begin < SLOW / 2


def test_public_addresses() -> None:
    for address in ("8.8.8.8", "2606:4700::1111", "::ffff:8.8.8.8", "64:ff9b::8.8.8.8"):
        assert is_public(address), address
    for address in (
        "127.0.0.1", "127.9.9.9", "10.0.0.1", "172.16.0.1", "192.168.1.1", "169.254.169.254",
        "100.64.0.1", "0.0.0.0", "255.255.255.255", "224.0.0.1", "240.0.0.1", "192.0.2.1",
        "::1", "::", "fe80::1", "fe80::1%eth0", "fc00::1", "fd12::1", "ff02::1", "2001:db8::1",
        "::ffff:127.0.0.1", "::ffff:10.0.0.1", "::127.0.0.1", "64:ff9b::127.0.0.1",
        "64:ff9b::a00:1", "64:ff9b:1:0:a:0:108:808", "2002:7f00:1::", "2001:0:7f00:1::", "fec0::1",
        "x", "",
    ):  # fmt: skip
        assert not is_public(address), address


def test_the_resolver_that_is_used_refuses_this_machine(port: int) -> None:
    body = {"messages": [{"content": [{"image_url": f"http://localhost:{port}/cat.png"}]}]}
    for host in ("localhost", "127.0.0.1", "[::1]", "0x7f.1", "2130706433"):
        text = json.dumps(body).replace("localhost", host).encode()
        with pytest.raises(MLCError, match="was not fetched"):
            fetched_by(RemotePictures(["*"]), text)


@pytest.mark.parametrize(
    "host", ["https://a.test", "a.test:80", "a.test/x", "b\u00fccher.test", ""]
)
def test_hosts_are_names_alone(host: str) -> None:
    with pytest.raises(MLCError, match="is no host") as refused:
        RemotePictures([host])
    assert refused.value.param == "allow_picture_hosts"
    assert RemotePictures(["A.test", "::1", "*"])


def test_a_request_waits_no_longer_than_it_may(port: int) -> None:
    request = {"messages": [{"content": [{"image_url": f"http://host.test:{port}/slow"}]}]}
    text, begin = json.dumps(request).encode(), time.monotonic()
    pictures = RemotePictures(["*"], resolve=_Names(), allow=lambda address: True)
    with pytest.raises(MLCError, match="0.2 s"):
        fetched_by(pictures, text, seconds=0.2)

    async def many() -> list[object]:
        bodies = [BodyRoom(1 << 20).body(text) for _ in range(9)]
        asked = (pictures.fetch(body, 0.3) for body in bodies)
        return await asyncio.gather(*asked, return_exceptions=True)

    errors = asyncio.run(many())
    codes = {error.code for error in errors if isinstance(error, MLCError)}
    assert len(errors) == 9 and codes == {"failed_to_download_image", "server_busy"}
    assert time.monotonic() - begin < SLOW / 2

"""No web page of another site uses or administers a server: neither by its own name, nor by a name
that it pointed here (DNS rebinding), nor by a request for which browsers ask nobody."""

from __future__ import annotations

import json
from collections.abc import Iterator

import httpx
import pytest

from mlc_llm.serve.origin import HostNames

from .conftest import PATIENCE, running_server

CHAT = "/v1/chat/completions"
HTTP, HTTPS = "http:" + "//", "https:" + "//"
BODY = json.dumps({"messages": [{"role": "user", "content": "x"}], "max_tokens": 2})
LOAD = json.dumps({"model": "x"})
POSTS = {
    CHAT: BODY, "/v1/responses": '{"input": "x"}', "/tokenize": '{"text": "x"}',
    "/admin/load": LOAD, "/admin/unload": '{"model": "fake-model"}', "/debug/reset_engine": "",
}  # fmt: skip
GETS = ("/", "/page/app.js", "/page-info", "/v1/models", "/metrics", "/openapi.json", "/docs")
# What a form or a script of any page may send without asking the server first.
SIMPLE = ("text/plain", "application/x-www-form-urlencoded", "multipart/form-data; boundary=x")


@pytest.fixture(scope="module")
def local() -> Iterator[httpx.Client]:
    """A server as it is by default, but with all routes."""
    with running_server("--enable-admin", "--enable-debug") as url:
        with httpx.Client(base_url=url, timeout=PATIENCE) as client:
            yield client
            assert [model["id"] for model in client.get("/v1/models").json()["data"]]


def refusal(answer: httpx.Response) -> str | None:
    """The error's code if the request was refused for its origin or host."""
    assert not [name for name in answer.headers if name.startswith("access-control")]
    return str(answer.json()["error"]["code"]) if answer.status_code == 403 else None


@pytest.mark.parametrize(
    "host",
    [
        "evil.example",
        "evil.example:8000",
        "127.0.0.1.evil.example",
        "localhost.evil.example",
        "192.168.0.7:8000",
        "[::2]",
        "a@b",
        "",
    ],
)
def test_a_name_that_was_pointed_here_is_refused(local: httpx.Client, host: str) -> None:
    headers = {"Host": host, "Origin": f"{HTTP}{host}"}  # which is the same origin
    for path in GETS:
        assert refusal(local.get(path, headers=headers)) == "host_not_allowed"
    for path, body in POSTS.items():
        headers["Content-Type"] = "application/json"
        assert refusal(local.post(path, content=body, headers=headers)) == "host_not_allowed"
    assert local.get("/health", headers={"Host": host}).status_code == 200  # a load balancer's


@pytest.mark.parametrize(
    "origin",
    [
        HTTPS + "evil.example",
        "http://localhost:1",
        "null",
        "file://",
        "http://127.0.0.1",
        "chrome-extension://x",
        HTTP + "[",
    ],
)
@pytest.mark.parametrize("kind", [*SIMPLE, "application/json"])
def test_a_page_of_another_site_is_refused(local: httpx.Client, origin: str, kind: str) -> None:
    for path, body in POSTS.items():
        headers = {"Origin": origin, "Content-Type": kind}
        assert refusal(local.post(path, content=body, headers=headers)) == "origin_not_allowed"
    for path in (*GETS, "/health", "/ready"):
        assert refusal(local.get(path, headers={"Origin": origin})) == "origin_not_allowed"
    asked = {"Origin": origin, "Access-Control-Request-Method": "POST"}
    assert refusal(local.options(CHAT, headers=asked)) == "origin_not_allowed"


def test_a_post_without_an_origin_that_a_browser_marks_is_refused(local: httpx.Client) -> None:
    for path, body in POSTS.items():
        for site in ("cross-site", "same-site"):
            answer = local.post(path, content=body, headers={"Sec-Fetch-Site": site})
            assert refusal(answer) == "origin_not_allowed"
    assert local.get("/", headers={"Sec-Fetch-Site": "cross-site"}).is_success  # a link


def test_admin_routes_take_json_that_says_so(local: httpx.Client) -> None:
    for path in ("/admin/load", "/admin/unload"):
        for kind in SIMPLE:
            answer = local.post(path, content=POSTS[path], headers={"Content-Type": kind})
            assert answer.json()["error"]["code"] == "unsupported_content_type"


def test_the_server_s_own_page_and_programs_are_answered(local: httpx.Client) -> None:
    port = local.base_url.port
    for host in (
        f"localhost:{port}",
        f"127.0.0.1:{port}",
        "chat.localhost",
        f"[::1]:{port}",
        f"LOCALHOST:{port}",
        "localhost.",
        "127.1.2.3",
    ):
        assert local.get("/v1/models", headers={"Host": host}).is_success, host
        own = {"Host": host, "Origin": f"{HTTP}{host.lower()}", "Sec-Fetch-Site": "same-origin"}
        assert local.post(CHAT, content=BODY, headers=own).is_success, host
    assert local.post(CHAT, content=BODY).is_success


def test_flags_open_the_server() -> None:
    site = {"Origin": HTTPS + "chat.example"}
    hosts = ("--allow-hosts", '["chat.example", "other.example:8000"]')
    with running_server(*hosts, "--allow-origins", f'["{HTTPS}chat.example"]') as url:
        with httpx.Client(base_url=url, timeout=PATIENCE) as http:
            for host in ("chat.example", "Chat.Example:1", "other.example:8000"):
                assert http.get("/v1/models", headers={"Host": host}).is_success
            assert http.get("/v1/models", headers={"Host": "other.example"}).status_code == 403
            answer = http.post(CHAT, content=BODY, headers=site)
            assert answer.is_success
            assert answer.headers["access-control-allow-origin"] == site["Origin"]
            evil = {"Origin": HTTPS + "evil.example"}
            assert http.post(CHAT, content=BODY, headers=evil).status_code == 403
    with running_server("--allow-hosts", '["*"]', "--allow-origins", '["*"]') as url:
        with httpx.Client(base_url=url, timeout=PATIENCE) as http:
            answer = http.post(CHAT, content=BODY, headers={"Host": "x.example", **site})
            assert answer.is_success and answer.headers["access-control-allow-origin"] == "*"


@pytest.mark.parametrize(
    ("bound", "host", "allowed"),
    [
        ("0.0.0.0", "192.168.0.7:8000", True),  # any address may be this machine's
        ("::", "[fe80::1]:8000", True),
        ("0.0.0.0", "evil.example", False),
        ("192.168.0.7", "192.168.0.7", True),
        ("192.168.0.7", "192.168.0.8", False),
        ("192.168.0.7", "127.0.0.1", True),
        ("my-machine", "My-Machine:8000", True),
        ("127.0.0.1", "my-machine", False),
        ("127.0.0.1", "localhost:x", True),  # there is no such port, but the name is ours
        ("127.0.0.1", "[::1", False),
        ("127.0.0.1", "evil.example#localhost", False),
        ("127.0.0.1", "evil.example/localhost", False),
    ],
)
def test_names_of_this_machine(bound: str, host: str, allowed: bool) -> None:
    assert (host.lower() in HostNames(bound, ())) is allowed

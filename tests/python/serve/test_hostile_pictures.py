"""Hostile pictures in every API, on a server that may fetch pictures: no 5xx, each API's own shape
of an error, and nothing of this machine is asked."""

from __future__ import annotations

import base64
import json
from collections.abc import Iterator
from http.server import BaseHTTPRequestHandler, HTTPServer
from threading import Thread
from typing import Any

import pytest

from .conftest import fake_model, started_server
from .test_hostile import FEW, SMALL, VALUES, Server, expect_no_faults, places, replaced

MODEL = "sees"
TEMPLATE = (
    "{% for m in messages %}{% if m.content is string %}{{ m.content }}{% else %}"
    "{% for part in m.content %}{% if part.type == 'image' %}<|endoftext|>"
    "{% else %}{{ part.text }}{% endif %}{% endfor %}{% endif %}{% endfor %}"
)
PNG = "iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAAAAAA6fptVAAAACklEQVR4nGNgAAAAAgABSK+kcQAAAABJRU5ErkJggg=="
URL = f"data:image/png;base64,{PNG}"
Place = tuple[Any, ...]


def said(*parts: dict[str, Any], **more: Any) -> dict[str, Any]:
    return {"model": MODEL, "messages": [{"role": "user", "content": list(parts)}], **more}


PART = {"type": "image_url", "image_url": {"url": URL, "detail": "low"}}
BASE64 = {"type": "base64", "media_type": "image/png", "data": PNG}
INPUT = [{"role": "user", "content": [{"type": "input_image", "image_url": URL, "detail": "high"}]}]
# A body for each route that takes pictures, and where its URL or its base64 stands.
SOUND: dict[str, tuple[dict[str, Any], Place]] = {
    "POST /v1/chat/completions": (
        said(PART, max_tokens=2), ("messages", 0, "content", 0, "image_url", "url"),
    ),
    "POST /v1/chat/completions/input_tokens": (
        said({**PART, "image_url": URL}), ("messages", 0, "content", 0, "image_url"),
    ),
    "POST /v1/responses": (
        {"model": MODEL, "input": INPUT, "max_output_tokens": 2},
        ("input", 0, "content", 0, "image_url"),
    ),
    "POST /v1/messages": (
        said({"type": "image", "source": BASE64}, max_tokens=2),
        ("messages", 0, "content", 0, "source", "data"),
    ),
    "POST /v1/messages/count_tokens": (
        said({"type": "image", "source": {"type": "url", "url": URL}}),
        ("messages", 0, "content", 0, "source", "url"),
    ),
    "POST /api/chat": (
        {"model": MODEL, "messages": [{"role": "user", "content": "x", "images": [PNG]}],
         "stream": False, "options": {"num_predict": 2}},
        ("messages", 0, "images", 0),
    ),
    "POST /api/generate": (
        {"model": MODEL, "prompt": "x", "images": [PNG], "stream": False,
         "options": {"num_predict": 2}},
        ("images", 0),
    ),
}  # fmt: skip


HTTP = "http:" + "//"


def of(file: bytes) -> str:
    return base64.b64encode(file).decode()


# What stands in the place of a picture; {port}: of a service of this machine.
URLS = {
    "nothing": "", "a scheme": "data:", "no base64": "data:image/png,cat", "no file": of(b"cat"),
    "a cut file": f"data:;base64,{of(base64.b64decode(PNG)[:40])}", "a PDF": of(b"%PDF-1.7"),
    "a bomb": of(b"BM" + (54).to_bytes(12, "little") + b"\x28\0\0\0" + b"\xff\xff\xff\x7f" * 2),
    "a buffer": "buffer:0", "a path": "/etc/passwd", "a file": "file:///etc/passwd",
    "spaces": "data: image/png ;base64, AAAA", "long": "data:;base64," + "A" * 400_000,
    "this machine": "http://127.0.0.1:{port}/", "its name": "http://localhost:{port}/",
    "its IPv6": HTTP + "[::1]:{port}/", "mapped": HTTP + "[::ffff:127.0.0.1]:{port}/",
    "a number": HTTP + "2130706433:{port}/", "hexadecimal": HTTP + "0x7f000001:{port}/",
    "octal": HTTP + "0177.0.0.1:{port}/", "short": HTTP + "127.1:{port}/",
    "any": HTTP + "0.0.0.0:{port}/", "a user": HTTP + "public@127.0.0.1:{port}/",
    "a cloud": HTTP + "169.254.169.254/latest/meta-data/", "half a host": HTTP + "[::1",
    "no host": HTTP, "a port": "http://127.0.0.1:99999/", "a line": "http://127.0.0.1\r\nX: y",
    "another scheme": "gopher://127.0.0.1:{port}/", "https": "https://127.0.0.1:{port}/",
    "an upper case": "HTTP://LOCALHOST:{port}/", "a NUL": "http://127.0.0.1:{port}/\0",
}  # fmt: skip


class _Service(BaseHTTPRequestHandler):
    """What only this machine may ask."""

    asked: list[str] = []

    def do_GET(self) -> None:
        self.asked.append(self.path)
        self.send_response(200)
        self.end_headers()
        self.wfile.write(base64.b64decode(PNG))

    def log_message(self, *_: object) -> None:
        pass


@pytest.fixture(scope="module")
def service() -> Iterator[int]:
    server = HTTPServer(("127.0.0.1", 0), _Service)
    thread = Thread(target=server.serve_forever)
    thread.start()
    yield server.server_address[1]
    server.shutdown()
    server.server_close()
    thread.join()


@pytest.fixture(scope="module")
def server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Server]:
    folder = tmp_path_factory.mktemp("hostile") / MODEL
    fake_model(folder, config={"image_token_id": 496}, tokenizer={"chat_template": TEMPLATE})
    with started_server(
        str(folder), "--device", "fake", *SMALL, "--max-body-bytes", "1000000",
        "--allow-picture-hosts", '["*"]',
    ) as running:  # fmt: skip
        yield Server(running.url)
        assert running.stop() == 0 and "Traceback" not in running.errors, running.errors


@pytest.mark.parametrize("operation", SOUND)
def test_a_sound_picture_is_answered(server: Server, operation: str) -> None:
    answer = server.ask(operation, json.dumps(SOUND[operation][0]).encode())
    assert answer.status_code == 200, answer.text
    assert server.fault_of(operation, answer) is None


@pytest.mark.parametrize("operation", SOUND)
def test_what_is_no_picture(server: Server, operation: str, service: int) -> None:
    body, place = SOUND[operation]
    for name, url in URLS.items():
        sent = replaced(body, place, url.replace("{port}", str(service)))
        answer = server.ask(operation, json.dumps(sent).encode())
        assert server.fault_of(operation, answer) is None, name
        assert answer.status_code == 400, f"{name}: {answer.text[:300]}"
    assert _Service.asked == []


@pytest.mark.parametrize("operation", SOUND)
def test_other_values_in_and_around_a_picture(server: Server, operation: str) -> None:
    body, place = SOUND[operation]
    around = [way for way in places(body) if way[: len(place) - 2] == place[: len(place) - 2]]
    bodies = {
        f"{way}: {name}": json.dumps(replaced(body, way, VALUES[name])).encode()
        for way in around
        for name in FEW
    }
    assert len(bodies) > 20
    expect_no_faults(server, operation, bodies)


def test_many_pictures(server: Server) -> None:
    for urls, param in (([URL] * 500, "messages"), (["http://localhost/"] * 17, "[16]")):
        parts = [{"type": "image_url", "image_url": {"url": url}} for url in urls]
        answer = server.ask("POST /v1/chat/completions", json.dumps(said(*parts)).encode())
        assert answer.status_code == 400 and param in answer.json()["error"]["param"], answer.text


def test_a_server_without_hosts_says_how_it_would_fetch(tmp_path: Any, service: int) -> None:
    folder = fake_model(
        tmp_path / MODEL, config={"image_token_id": 496}, tokenizer={"chat_template": TEMPLATE}
    )
    with started_server(str(folder), "--device", "fake") as running:
        server = Server(running.url)
        for operation in ("POST /v1/chat/completions", "POST /v1/responses"):
            body, place = SOUND[operation]
            sent = replaced(body, place, f"http://127.0.0.1:{service}/")
            error = server.ask(operation, json.dumps(sent).encode()).json()["error"]
            assert error["code"] == "unsupported_parameter"
            assert "--allow-picture-hosts" in error["message"]
            assert error["param"] in ("messages[0].content[0]", "input")
    assert _Service.asked == []

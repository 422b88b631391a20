"""A loopback server that speaks the part of the Hugging Face Hub's API that a download uses."""

from __future__ import annotations

import contextlib
import hashlib
import json
import threading
from collections.abc import Iterator
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any
from urllib.parse import unquote, urlsplit

COMMIT = "0123456789abcdef0123456789abcdef01234567"


@dataclass
class FakeHub:
    """One repository, `org/repo` at `main`; files of `lfs_suffixes` count as large ones. `aliases`:
    further repositories with the same files."""

    files: dict[str, bytes]
    repo: str = "org/repo"
    aliases: tuple[str, ...] = ()
    lfs_suffixes: tuple[str, ...] = (".safetensors", ".bin")
    cut_after: int | None = None  # bytes of a large file's body, then the connection ends
    cuts_left: int = 0
    down_after_cut: bool = False  # every file after a cut is answered with 503
    down: bool = False
    refusal: str = ""  # the API answers 401 with these words
    wrong_bytes: bool = False  # right length, wrong content, in files of `wrong_suffix`
    wrong_suffix: str = ".safetensors"
    requests: list[tuple[str, str, str | None]] = field(default_factory=list)
    endpoint: str = ""

    def is_large(self, name: str) -> bool:
        return name.endswith(self.lfs_suffixes)

    def etag(self, name: str) -> str:
        data = self.files[name]
        if self.is_large(name):
            return hashlib.sha256(data).hexdigest()
        return hashlib.sha1(f"blob {len(data)}\0".encode() + data).hexdigest()

    def info(self) -> dict[str, Any]:
        siblings = [self._entry(name, "rfilename", "blobId", "sha256") for name in self.files]
        return {"id": self.repo, "modelId": self.repo, "sha": COMMIT, "siblings": siblings}

    def tree(self) -> list[dict[str, Any]]:
        return [{"type": "file"} | self._entry(name, "path", "oid", "oid") for name in self.files]

    def ranges(self, name: str) -> list[str | None]:
        """The Range headers with which a file was fetched."""
        fetched = ((path, sent) for method, path, sent in self.requests if method == "GET")
        return [sent for path, sent in fetched if path.endswith("/" + name)]

    def _entry(self, name: str, path: str, blob: str, digest: str) -> dict[str, Any]:
        size = len(self.files[name])
        entry: dict[str, Any] = {path: name, "size": size, blob: self.etag(name)}
        if self.is_large(name):
            entry[blob] = "f" * 40
            entry["lfs"] = {digest: self.etag(name), "size": size, "pointerSize": 130}
        return entry


@contextlib.contextmanager
def serve(hub: FakeHub) -> Iterator[FakeHub]:
    """Runs the server on a free port of the loopback interface."""
    handler = type("Handler", (_Handler,), {"hub": hub})
    server = ThreadingHTTPServer(("127.0.0.1", 0), handler)
    thread = threading.Thread(target=server.serve_forever, args=(0.01,), daemon=True)
    thread.start()
    hub.endpoint = f"http://127.0.0.1:{server.server_port}"
    try:
        yield hub
    finally:
        server.shutdown()
        server.server_close()
        thread.join()


class _Handler(BaseHTTPRequestHandler):
    hub: FakeHub
    protocol_version = "HTTP/1.1"

    def log_message(self, *_: Any) -> None:
        pass

    def do_HEAD(self) -> None:
        self._answer()

    def do_GET(self) -> None:
        self._answer()

    def _answer(self) -> None:
        path = unquote(urlsplit(self.path).path)
        self.hub.requests.append((self.command, path, self.headers.get("Range")))
        names = [name for name in self.hub.aliases if f"/{name}/" in f"{path}/"]
        repo = names[0] if names else self.hub.repo
        api, pages = f"/api/models/{repo}", f"/{repo}/resolve/"
        if self.hub.refusal:
            self._head(401, {"X-Error-Message": self.hub.refusal, "Content-Length": 0})
        elif path in (api, f"{api}/revision/main", f"{api}/revision/{COMMIT}"):
            self._json(self.hub.info())
        elif path.startswith(f"{api}/tree/"):
            self._json(self.hub.tree())
        elif path.startswith(f"{api}/revision/"):
            self._missing("RevisionNotFound")
        elif self.hub.down:
            self._head(503, {"Content-Length": 0})
        elif path.startswith(pages) and path[len(pages) :].partition("/")[2] in self.hub.files:
            self._file(path[len(pages) :].partition("/")[2])
        else:
            self._missing("RepoNotFound")

    def _json(self, value: Any) -> None:
        body = json.dumps(value).encode()
        self._head(200, {"Content-Type": "application/json", "Content-Length": len(body)})
        self._body(body)

    def _missing(self, code: str) -> None:
        headers = {"X-Error-Code": code, "X-Error-Message": "not here", "Content-Length": 0}
        self._head(404, headers)

    def _file(self, name: str) -> None:
        data = self.hub.files[name]
        headers: dict[str, Any] = {"ETag": f'"{self.hub.etag(name)}"', "X-Repo-Commit": COMMIT}
        begin = 0
        if asked := self.headers.get("Range"):
            begin = int(asked.removeprefix("bytes=").partition("-")[0])
            headers["Content-Range"] = f"bytes {begin}-{len(data) - 1}/{len(data)}"
        headers |= {"Content-Length": len(data) - begin, "Accept-Ranges": "bytes"}
        self._head(206 if asked else 200, headers)
        wrong = self.hub.wrong_bytes and name.endswith(self.hub.wrong_suffix)
        body = bytes(len(data)) if wrong else data
        self._body(body[begin:], large=self.hub.is_large(name))

    def _head(self, status: int, headers: dict[str, Any]) -> None:
        self.send_response(status)
        for key, value in headers.items():
            self.send_header(key, str(value))
        self.end_headers()

    def _body(self, body: bytes, *, large: bool = False) -> None:
        if self.command == "HEAD":
            return
        if large and self.hub.cut_after is not None and self.hub.cuts_left > 0:
            self.hub.cuts_left -= 1
            self.hub.down = self.hub.down_after_cut
            self.wfile.write(body[: self.hub.cut_after])
            self.wfile.flush()
            self.close_connection = True
            self.connection.close()
            return
        self.wfile.write(body)

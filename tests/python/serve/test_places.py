"""Where a server listens, and where its settings come from."""

from __future__ import annotations

import argparse
import re
import shutil
import socket
import ssl
import stat
import subprocess
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import httpx
import pytest

from mlc_llm.cli.environment import take_environment, variable_of
from mlc_llm.cli.serve import register
from mlc_llm.serve.unix_socket import bound_socket

from .conftest import FAKE, PATIENCE, get, running_server, starting_server

UNIT = Path(__file__).parents[3] / "examples" / "systemd" / "mlc_llm.service"


def serve_parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser()
    subparsers = parser.add_subparsers()
    register(subparsers)
    return parser


def test_every_option_has_a_variable(monkeypatch: pytest.MonkeyPatch) -> None:
    for name, text in (
        ("PORT", "1234"), ("ENABLE_ADMIN", "1"), ("ENABLE_DEBUG", "no"), ("MODE", "server"),
        ("SERVED_MODEL_NAME", "a 'b c'"), ("ALLOW_HOSTS", '["x"]'), ("BODY_TIMEOUT", "2.5"),
        ("MODEL", "some/model"), ("API_KEY", "sk"),
    ):  # fmt: skip
        monkeypatch.setenv(f"MLC_LLM_SERVE_{name}", text)
    args = serve_parser().parse_args(["serve"])
    assert (args.port, args.enable_admin, args.enable_debug) == (1234, True, False)
    assert (args.mode, args.served_model_name, args.allow_hosts) == ("server", ["a", "b c"], ["x"])
    assert (args.body_timeout, args.model, args.api_key) == (2.5, "some/model", "sk")
    given = serve_parser().parse_args(["serve", "other", "--port", "5", "--mode", "local"])
    assert (given.model, given.port, given.mode) == ("other", 5, "local")


@pytest.mark.parametrize("name, text", [("PORT", "x"), ("MODE", "fast"), ("ALLOW_HOSTS", "x")])
def test_a_wrong_variable_is_refused(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str], name: str, text: str
) -> None:
    monkeypatch.setenv(f"MLC_LLM_SERVE_{name}", text)
    parser = serve_parser()  # other commands do not mind
    with pytest.raises(SystemExit):
        parser.parse_args(["serve"])
    assert text in capsys.readouterr().err


def test_a_file_with_keys(tmp_path: Path, mlc_llm: Callable[..., Any]) -> None:
    keys = tmp_path / "keys"
    keys.write_text("# of the team\n  # old\nsk-one\n\n  sk-zwei-ü  \n")
    with running_server("--api-key", "sk-three", "--api-key-file", str(keys)) as url:
        for key, status in (
            ("sk-one", 200), ("sk-zwei-ü", 200), ("sk-three", 200), ("# of the team", 401),
            ("sk-four", 401), ("# old", 401),
        ):  # fmt: skip
            headers = {"Authorization": f"Bearer {key}".encode()}
            assert get(f"{url}/v1/models", headers=headers).status_code == status, key
    for text, words in (("# none\n", "there is no key"), (None, "No such file")):
        keys.write_text(text) if text else keys.unlink()
        done = mlc_llm("serve", FAKE, "--device", "fake", "--api-key-file", keys)
        assert done.returncode != 0 and words in done.stderr and "Traceback" not in done.stderr


@pytest.mark.parametrize(("options", "mode"), [((), 0o600), (("--uds-mode", "660"), 0o660)])
def test_a_unix_socket(
    mlc_llm: Callable[..., Any], tmp_path: Path, options: tuple[str, ...], mode: int
) -> None:
    path = tmp_path / "socket"
    with socket.socket(socket.AF_UNIX) as left:
        left.bind(str(path))  # by a server that ended
    with starting_server(str(FAKE), "--device", "fake", "--uds", str(path), *options) as server:
        deadline = time.monotonic() + PATIENCE
        while f"ready on unix:{path}" not in server.errors:
            assert server.process.poll() is None and time.monotonic() < deadline, server.errors
            time.sleep(0.02)
        assert stat.S_IMODE(path.stat().st_mode) == mode
        transport = httpx.HTTPTransport(uds=str(path))
        with httpx.Client(transport=transport, base_url="http://localhost") as http:
            assert http.get("/v1/models", timeout=PATIENCE).is_success
            refused = mlc_llm("serve", FAKE, "--device", "fake", "--uds", path)
            assert refused.returncode == 1 and "Address already in use" in refused.stderr
            assert http.get("/v1/models", timeout=PATIENCE).is_success
        assert server.stop() == 0 and "Traceback" not in server.errors, server.errors
    assert not path.exists()


def test_the_file_of_another_socket_is_not_removed(tmp_path: Path) -> None:
    path = tmp_path / "socket"
    first, remove_first = bound_socket(str(path))
    with first:
        path.unlink()
        second, remove_second = bound_socket(str(path))
        with second:
            remove_first()
            assert path.exists()
            remove_second()
            assert not path.exists()


@pytest.mark.parametrize(
    ("options", "words"),
    [
        (("--uds", "none/socket"), "No such file"),
        (("--uds", "socket", "--uds-mode", "999"), "'999'"),
        (("--uds-mode", "660"), "give the socket too, by --uds"),
    ],
)
def test_a_unix_socket_that_cannot_be(
    mlc_llm: Callable[..., Any],
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    options: tuple[str, ...],
    words: str,
) -> None:
    monkeypatch.chdir(tmp_path)
    done = mlc_llm("serve", FAKE, "--device", "fake", *options)
    assert done.returncode != 0 and words in done.stderr and "Traceback" not in done.stderr


@pytest.mark.skipif(shutil.which("openssl") is None, reason="openssl makes the certificate")
def test_https(tmp_path: Path) -> None:
    files = [tmp_path / "certificate.pem", tmp_path / "key.pem"]
    subprocess.run(
        ["openssl", "req", "-x509", "-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:prime256v1",
         "-nodes", "-days", "2", "-subj", "/CN=localhost", "-addext", "subjectAltName=IP:127.0.0.1",
         "-out", files[0], "-keyout", files[1]],
        check=True, capture_output=True,
    )  # fmt: skip
    options = ("--ssl-certfile", str(files[0]), "--ssl-keyfile", str(files[1]))
    with running_server(*options) as url:
        assert url.startswith("https:")
        trusting = ssl.create_default_context(cafile=files[0])
        with httpx.Client(base_url=url, verify=trusting, timeout=PATIENCE) as http:
            assert http.get("/health").json() == {"status": "ok"}
            own = {"Origin": url}
            assert http.get("/v1/models", headers=own).is_success


def test_certificates_that_are_none(mlc_llm: Callable[..., Any], tmp_path: Path) -> None:
    text = tmp_path / "text.pem"
    text.write_text("nothing")
    cases = {
        ("--ssl-keyfile", str(text)): "--ssl-certfile",
        ("--ssl-certfile", "/no/file"): "--ssl-certfile /no/file: No such file",
        ("--ssl-certfile", str(text), "--ssl-keyfile", "/no/key"): "--ssl-keyfile /no/key",
        ("--ssl-certfile", str(text)): "no certificate and key in PEM",
    }
    for options, words in cases.items():
        done = mlc_llm("serve", FAKE, "--device", "fake", *options)
        assert done.returncode == 1 and words in done.stderr, done.stderr
        assert "internal error" not in done.stderr


def test_the_unit_for_systemd_uses_variables_that_there_are() -> None:
    parser = argparse.ArgumentParser()
    parser.add_argument("--port")
    take_environment(parser, "MLC_LLM_SERVE")  # nothing is set: nothing changes
    (subparser,) = serve_parser()._subparsers._group_actions[0].choices.values()  # type: ignore
    known = {variable_of(action, "MLC_LLM_SERVE") for action in subparser._actions}
    text = UNIT.read_text()
    names = re.findall(r"^Environment=(MLC_LLM_SERVE_\w+)=", text, re.MULTILINE)
    assert names and known.issuperset(names)
    assert "ExecStart=" in text and "KillSignal=SIGTERM" in text

"""Machines that lack something: each gets one line that says what to do.

Without a linker: test_cli_making.py. What `./dev` says: tests/architecture/test_machine.py.
"""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

NOBODY = 65534
DEAD_PROXY = "http://127.0.0.1:9"
AS_NOBODY = ("setpriv", f"--reuid={NOBODY}", f"--regid={NOBODY}", "--clear-groups")
WITHOUT_NETWORK = ("unshare", "--net")
# The embedded model as on a machine that has not its package.
NO_PACKAGE = "import mlc_llm.prepare.embedded_model as e; e._installed_file = lambda: None; "


def works(*command: str) -> bool:
    """Whether this machine lets us do that."""
    if shutil.which(command[0]) is None:
        return False
    return subprocess.run([*command, "true"], capture_output=True).returncode == 0


def chat(
    model: Path | str | None, *before: str, code: str = "", **env: str
) -> subprocess.CompletedProcess[str]:
    words = ["chat", *([str(model)] if model else []), "--device", "cpu", "--prompt", "x"]
    program = f"import sys; {code}from mlc_llm.cli import main; sys.exit(main({words!r}))"
    return subprocess.run(
        [*before, sys.executable, "-c", program],
        env={**os.environ, **env},
        stdin=subprocess.DEVNULL,
        capture_output=True,
        text=True,
        timeout=300,
    )


def refused(done: subprocess.CompletedProcess[str], *words: str) -> None:
    """One line on standard error, but for what says that a step takes long."""
    lines = [line for line in done.stderr.splitlines() if not line.endswith(" ...")]
    assert done.returncode == 1 and len(lines) == 1, done.stderr
    for word in words:
        assert word in lines[0], lines[0]


@pytest.mark.parametrize("how", ["no interface", "dead proxy"])
def test_no_network(how: str, tmp_path: Path) -> None:
    env = {"MLC_LLM_HOME": str(tmp_path), "PIP_RETRIES": "0"}
    before: tuple[str, ...] = ()
    if how == "no interface":
        before = WITHOUT_NETWORK
        if not works(*before):
            pytest.skip("this user may not make a network of its own")
    else:
        env |= dict.fromkeys(("HTTPS_PROXY", "https_proxy", "HTTP_PROXY"), DEAD_PROXY)
        env |= {"PIP_INDEX_URL": "https://localhost.invalid/", "PIP_CONFIG_FILE": "/dev/null"}
    refused(chat("HF://org/repo", *before, **env), "HF://org/repo", "network", ".gguf file")
    default = chat(None, *before, code=NO_PACKAGE, **env)
    refused(default, "default model could not be fetched", "Name a model", "pip install")
    assert not list(tmp_path.rglob("*.gguf"))


@pytest.fixture
def open_model(tiny_hf_folder: Path) -> Path:
    """The tiny model where another user can read it."""
    for folder in (tiny_hf_folder, *tiny_hf_folder.parents):
        if folder != Path("/") and folder.stat().st_uid == os.geteuid():
            folder.chmod(folder.stat().st_mode | 0o055)
    for file in tiny_hf_folder.iterdir():
        file.chmod(0o644)
    return tiny_hf_folder


def test_a_home_that_only_can_be_read(open_model: Path) -> None:
    """Of another user; the same words as for a read-only file system."""
    if os.geteuid() != 0 or not works(*AS_NOBODY):
        pytest.skip("only root can become another user")
    if not works(*AS_NOBODY, sys.executable, "-c", "import mlc_llm", "#"):
        pytest.skip("another user cannot read this Python")
    home = {"HOME": "/", "XDG_CACHE_HOME": "", "MLC_LLM_HOME": ""}
    refused(chat(open_model, *AS_NOBODY, **home), "/.cache", "set MLC_LLM_HOME to a folder")


def on_a_disk_of(size: str, home: Path) -> tuple[str, ...]:
    mount = f'mount -t tmpfs -o size={size} tmpfs "{home}" && exec "$@"'
    return ("unshare", "--mount", "sh", "-c", mount, "sh")


@pytest.fixture
def disk(tmp_path: Path) -> Path:
    if not works(*on_a_disk_of("1m", tmp_path)):
        pytest.skip("this user may not mount a small disk")
    return tmp_path


def test_a_disk_without_room_for_the_conversion(tiny_hf_folder: Path, disk: Path) -> None:
    done = chat(tiny_hf_folder, *on_a_disk_of("1m", disk), MLC_LLM_HOME=str(disk))
    refused(done, str(disk), "bytes are needed", "make room", "MLC_LLM_HOME")


def test_a_disk_of_200_mb_has_no_room_for_the_download(disk: Path) -> None:
    """The package's wheel and the file out of it: said before anything is fetched."""
    before = on_a_disk_of("190m", disk)
    done = chat(None, *before, code=NO_PACKAGE, MLC_LLM_HOME=str(disk), PIP_INDEX_URL=DEAD_PROXY)
    refused(done, "200,000,000 bytes are needed", "make room")

"""The pages' commands, on the real command line.

They run in a folder that has what they name (conftest.py). A chat's answer is cut to eight
tokens; a server is asked whether it lives, on a port of its own, and ended. A block with `curl`
runs whole, as it is printed, against the server that its page starts; only the address is another
one.
"""

from __future__ import annotations

import contextlib
import functools
import os
import re
import shlex
import shutil
import subprocess
import sys
import urllib.request
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
import snippets
from serving import PATIENCE, serving

SHIM = """#!/bin/sh
device=cpu
case "$2" in *MiniLM*) device=fake;; esac
if [ "$1" = chat ]; then set -- "$@" --device cpu --set max_tokens=8; fi
if [ "$1" = serve ]; then set -- "$@" --device "$device" --port 0; fi
exec "{python}" -m mlc_llm "$@"
"""
CURL = """#!{python}
import os, sys
address = os.environ["SERVER"]
words = [word.replace("http://localhost:8000", address) for word in sys.argv[1:]]
os.execv("{curl}", ["curl", "--silent", "--show-error", "--fail-with-body", *words])
"""
FAKE = snippets.ROOT / "tests" / "fixtures" / "fake-model"


def lines_of(snippet: snippets.Snippet) -> list[str]:
    """The commands of a block; one that ends in a backslash goes on."""
    text = snippet.text.replace("\\\n", " ")
    return [line for line in text.splitlines() if shlex.split(line, comments=True)]


def asks(snippet: snippets.Snippet) -> bool:
    return snippet.text.lstrip().startswith("curl ")


BLOCKS = snippets.to_run("sh")
COMMANDS = [
    pytest.param(line, id=f"{snippet.place} {line.split('#')[0].strip()}")
    for snippet in BLOCKS
    if not asks(snippet)
    for line in lines_of(snippet)
]


def server_of(snippet: snippets.Snippet) -> str:
    """The model that the last server before the block serves; "": the default one."""
    above = (s.text for s in BLOCKS if s.page == snippet.page and s.line < snippet.line)
    served = re.findall(r"^mlc_llm serve *([^- \n]\S*)?", "".join(above), re.MULTILINE)
    return served[-1] if served else ""


def names_a_model(line: str) -> bool:
    return bool(re.search(r"\bMODEL\b|model|HF://|MiniLM", line))


@pytest.fixture
def environment(tiny_home: Path, hub: str, tmp_path: Path) -> dict[str, str]:
    shim = tmp_path / "mlc_llm"
    shim.write_text(SHIM.format(python=sys.executable))
    shim.chmod(0o755)
    path = f"{tmp_path}{os.pathsep}{os.environ['PATH']}"
    return {**os.environ, "PATH": path, "HF_ENDPOINT": hub, "MLC_LLM_HOME": str(tiny_home)}


@pytest.mark.parametrize("line", COMMANDS)
def test_a_command_does_its_work(
    line: str, reader_folder: Path, environment: dict[str, str]
) -> None:
    if not names_a_model(line) and "MLC_LLM_HOME" in os.environ:
        # The default model is kept between runs.
        environment["MLC_LLM_HOME"] = os.path.abspath(os.environ["MLC_LLM_HOME"])
    words = shlex.split(line, comments=True)
    assert words[0] == "mlc_llm", f"mark it `not run`, or teach this test {words[0]}"
    if words[1] == "serve":
        check_server(line, reader_folder, environment)
        return
    output = reader_folder / words[words.index("-o") + 1] if "-o" in words else None
    if output is not None and output.is_file():
        output.unlink()  # of a page before
    elif output is not None and words[1] == "convert_weight":
        shutil.rmtree(output, ignore_errors=True)
    done = subprocess.run(
        ["bash", "-c", line],
        cwd=reader_folder,
        env=environment,
        stdin=subprocess.DEVNULL,
        capture_output=True,
        text=True,
        timeout=PATIENCE,
    )
    assert done.returncode == 0, done.stderr[-2000:]
    assert output is None or output.exists()
    if words[1] in ("list", "doctor") or "<" in words:
        assert done.stdout.strip()


def check_server(line: str, folder: Path, environment: dict[str, str]) -> None:
    command = ["bash", "-c", f"exec {line}"]
    with serving(command, folder / "serve.log", cwd=folder, env=environment) as url:
        with urllib.request.urlopen(f"{url}/health", timeout=PATIENCE) as answer:
            assert answer.status == 200


@pytest.fixture(scope="module")
def servers(reader_folder: Path) -> Iterator[Callable[[str], str]]:
    """The address of a server of the fake model, in the role that a page's model has."""
    with contextlib.ExitStack() as stack:

        @functools.cache
        def started(name: str) -> str:
            model = reader_folder / name if name and (reader_folder / name).is_dir() else FAKE
            if model.name == "MODEL":
                model = FAKE
            command = [sys.executable, "-m", "mlc_llm", "serve", str(model), "--device", "fake"]
            log = reader_folder / f"ask-{model.name}.log"
            return stack.enter_context(serving([*command, "--port", "0"], log))

        yield started


@pytest.mark.parametrize("block", [s for s in BLOCKS if asks(s)], ids=lambda s: s.place)
def test_a_request_is_answered(
    block: snippets.Snippet, servers: Callable[[str], str], tmp_path: Path
) -> None:
    curl = shutil.which("curl")
    assert curl is not None, "apt install curl"
    shim = tmp_path / "curl"
    shim.write_text(CURL.format(python=sys.executable, curl=curl))
    shim.chmod(0o755)
    path = f"{tmp_path}{os.pathsep}{os.environ['PATH']}"
    done = subprocess.run(
        ["bash", "-e", "-c", block.text],
        cwd=tmp_path,
        env={**os.environ, "PATH": path, "SERVER": servers(server_of(block))},
        capture_output=True,
        text=True,
        timeout=PATIENCE,
    )
    assert done.returncode == 0, done.stdout + done.stderr
    assert done.stdout.strip() and '"error"' not in done.stdout

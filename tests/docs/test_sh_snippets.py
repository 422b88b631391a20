"""The pages' commands, line by line, on the real command line.

They run in a folder that has what they name (conftest.py). A chat's answer is cut to eight tokens;
a server is asked whether it lives, on a port of its own, and ended.
"""

from __future__ import annotations

import os
import re
import shlex
import shutil
import subprocess
import sys
import urllib.request
from pathlib import Path

import pytest
import snippets
from serving import PATIENCE, serving

SHIM = """#!/bin/sh
if [ "$1" = chat ]; then set -- "$@" --device cpu --set max_tokens=8; fi
if [ "$1" = serve ]; then set -- "$@" --device cpu --port 0; fi
exec "{python}" -m mlc_llm "$@"
"""


def lines_of(snippet: snippets.Snippet) -> list[str]:
    """The commands of a block; one that ends in a backslash goes on."""
    text = snippet.text.replace("\\\n", " ")
    return [line for line in text.splitlines() if shlex.split(line, comments=True)]


COMMANDS = [
    pytest.param(line, id=f"{snippet.place} {line.split('#')[0].strip()}")
    for snippet in snippets.to_run("sh")
    for line in lines_of(snippet)
]


def names_a_model(line: str) -> bool:
    return bool(re.search(r"\bMODEL\b|model|HF://", line))


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

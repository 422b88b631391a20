"""A folder of `mlc_llm package --device web` with models of this machine."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

from mlc_llm.package.config import read_config
from mlc_llm.package.package import package_app
from mlc_llm.prepare.jit_cache import MakeRules, Policies
from mlc_llm.prepare.progress import LogSteps

SIZES = {"context_window_size": 512, "prefill_chunk_size": 64}


def packaged(folder: Path, **models: Path | str) -> Path:
    """The package in `folder`: each model by its id, with its weights. A model is a folder, or a
    name as a user writes it."""
    entries: list[dict[str, Any]] = [
        {"model": str(path), "model_id": name, "estimated_vram_bytes": 1, "bundle_weight": True,
         "overrides": SIZES}
        for name, path in models.items()
    ]  # fmt: skip
    config = folder / "mlc-package-config.json"
    config.write_text(json.dumps({"device": "web", "model_list": entries}))
    rules = MakeRules(policies=Policies(), steps=LogSteps(lambda _: None))
    package_app(read_config(config), output=folder / "dist", rules=rules)
    return folder / "dist"

"""The fake model as an encoder and as a reranker."""

from __future__ import annotations

import json
import shutil
from pathlib import Path

FAKE = Path(__file__).resolve().parents[1] / "fixtures" / "fake-model"
ROLES = {
    "all-MiniLM-L6-v2": {"model_type": "encoder", "pooling_strategy": "mean", "normalize": True},
    "ms-marco-MiniLM-L6-v2": {
        "model_type": "reranker",
        "pooling_strategy": "last",
        "normalize": False,
    },
}


def write_roles(folder: Path) -> None:
    """A folder for each role, by the name of a model that has it."""
    for name, metadata in ROLES.items():
        shutil.copytree(FAKE, folder / name)
        config = folder / name / "mlc-chat-config.json"
        said = json.loads(config.read_text()) | {"embedding_metadata": metadata}
        config.write_text(json.dumps(said))

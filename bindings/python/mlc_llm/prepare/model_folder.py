"""What a model's folder says of itself, for readers: a file that is damaged says nothing."""

from __future__ import annotations

import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any


def read_object(path: Path) -> dict[str, Any]:
    """The object in a JSON file; empty if there is none."""
    try:
        value = json.loads(path.read_text(encoding="utf-8"))
    except (OSError, ValueError):
        return {}
    return value if isinstance(value, dict) else {}


def chat_template(folder: Path, config: Mapping[str, Any]) -> str:
    """The model's Jinja template, or the name of its conversation template."""
    own = read_object(folder / "tokenizer_config.json").get("chat_template")
    if isinstance(own, str):
        return own
    if isinstance(own, list):
        return "\n".join(str(entry.get("template", "")) for entry in own if isinstance(entry, dict))
    conversation = config.get("conv_template")
    name = conversation.get("name") if isinstance(conversation, Mapping) else conversation
    return f"conv_template: {name}" if name else ""

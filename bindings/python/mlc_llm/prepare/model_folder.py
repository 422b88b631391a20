"""What a model's folder says of itself, for readers: a file that is damaged says nothing."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any, cast


def read_json_object(path: Path) -> dict[str, Any]:
    """The object in a JSON file; empty if there is none."""
    try:
        value = json.loads(path.read_text(encoding="utf-8"))
    except (OSError, ValueError, RecursionError):
        return {}
    return cast("dict[str, Any]", value) if isinstance(value, dict) else {}


def chat_template(folder: Path, config: Mapping[str, Any]) -> str:
    """The model's Jinja template, or the name of its conversation template."""
    own = read_json_object(folder / "tokenizer_config.json").get("chat_template")
    if isinstance(own, str):
        return own
    if isinstance(own, list):
        entries = cast("Sequence[Any]", own)
        named = [cast("dict[str, Any]", one) for one in entries if isinstance(one, dict)]
        return "\n".join(str(one.get("template", "")) for one in named)
    conversation = config.get("conv_template")
    if isinstance(conversation, Mapping):
        conversation = cast("Mapping[str, Any]", conversation).get("name")
    return f"conv_template: {conversation}" if conversation else ""

"""The kinds of parts that draft (`spec.DraftSpec`).

draft_of(chat_config)    # of the field "draft" of an mlc-chat-config.json; None: it has none
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from mlc_llm.compiler.drafts.assistant import AssistantSpec
from mlc_llm.compiler.drafts.eagle import EagleSpec
from mlc_llm.compiler.drafts.medusa import MedusaSpec
from mlc_llm.compiler.drafts.mtp import MTPSpec
from mlc_llm.compiler.spec.draft import DraftSpec
from mlc_llm.errors import CorruptFileError

__all__ = ["AssistantSpec", "EagleSpec", "MTPSpec", "MedusaSpec", "draft_of"]

# those that are no part of the model's own files
_KINDS = {
    "eagle": EagleSpec.from_dict,
    "medusa": MedusaSpec.from_dict,
    "mtp": AssistantSpec.from_dict,
}


def draft_of(chat_config: Mapping[str, Any]) -> DraftSpec | None:
    given = chat_config.get("draft")
    if given is None:
        return None
    read = _KINDS.get(given.get("kind")) if isinstance(given, Mapping) else None
    if read is None:
        raise CorruptFileError(
            f"config: draft must be an object whose kind is one of {', '.join(_KINDS)}; convert "
            "the model again",
            param="draft",
        )
    return read(given)

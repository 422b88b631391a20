"""Compatibility names: switches for tests and measurements."""

from __future__ import annotations

from typing import Literal

from pydantic import BaseModel


class DisaggConfig(BaseModel):
    """How prefill and decode are spread over machines; this engine does not do that."""

    kind: Literal["prepare_receive", "remote_send", "start_generation"] | None = None
    kv_append_metadata: str | None = None
    kv_window_begin: int | None = None
    kv_window_end: int | None = None
    dst_group_offset: int | None = None


class DebugConfig(BaseModel):
    """For `extra_body={"debug_config": DebugConfig(...)}`."""

    ignore_eos: bool = False
    pinned_system_prompt: bool = False
    special_request: Literal["query_engine_metrics"] | None = None
    grammar_execution_mode: Literal["constraint", "jump_forward"] = "jump_forward"
    disagg_config: DisaggConfig | None = None

"""Compatibility names: how an answer is generated."""

from __future__ import annotations

from pydantic import BaseModel

from mlc_llm.protocol.debug_protocol import DebugConfig
from mlc_llm.protocol.openai_api_protocol import RequestResponseFormat


class GenerationConfig(BaseModel):
    """The settings of one request; `max_tokens` of -1 is no limit."""

    n: int = 1
    temperature: float | None = None
    top_p: float | None = None
    frequency_penalty: float | None = None
    presence_penalty: float | None = None
    repetition_penalty: float | None = None
    logprobs: bool = False
    top_logprobs: int = 0
    logit_bias: dict[int, float] | None = None
    max_tokens: int = -1
    seed: int | None = None
    stop_strs: list[str] | None = None
    stop_token_ids: list[int] | None = None
    response_format: RequestResponseFormat | None = None
    debug_config: DebugConfig | None = None

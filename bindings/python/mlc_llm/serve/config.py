"""The module where MLC-LLM has its `EngineConfig`."""

from mlc_llm.sdk.engine_config import EngineConfig as EngineConfig

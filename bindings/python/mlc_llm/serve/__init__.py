"""`mlc_llm serve`: an OpenAI-compatible HTTP server over the same core as the SDK.

`app.create_app(registry, options)` is the ASGI application; `cli/serve.py` runs it. For
compatibility, this package also exports the engines and their config, as MLC-LLM's does.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from mlc_llm.sdk.async_engine import AsyncMLCEngine
    from mlc_llm.sdk.engine import MLCEngine
    from mlc_llm.sdk.engine_config import EngineConfig

__all__ = ["AsyncMLCEngine", "EngineConfig", "MLCEngine"]


def __getattr__(name: str) -> object:
    """Loads a name when it is first used, because the server needs none of them."""
    if name == "EngineConfig":
        from mlc_llm.sdk.engine_config import EngineConfig

        return EngineConfig
    if name in __all__:
        import mlc_llm

        return getattr(mlc_llm, name)
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")

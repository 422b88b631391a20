"""Universal on-device LLM engine: one C++ core, TVM-compiled kernels, an OpenAI-style API.

from mlc_llm import MLCEngine
engine = MLCEngine()                      # the embedded default model
for chunk in engine.chat.completions.create(
    messages=[{"role": "user", "content": "Hello"}], stream=True
):
    print(chunk.choices[0].delta.content or "", end="", flush=True)
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from mlc_llm import errors
from mlc_llm.errors import MLCError

if TYPE_CHECKING:
    __version__: str
    from mlc_llm.pictures import picture
    from mlc_llm.sdk.async_engine import AsyncMLCEngine
    from mlc_llm.sdk.core_engine import set_directories
    from mlc_llm.sdk.engine import MLCEngine
    from mlc_llm.sdk.planning import plan

__all__ = [
    "AsyncMLCEngine",
    "MLCEngine",
    "MLCError",
    "errors",
    "picture",
    "plan",
    "set_directories",
]


def __dir__() -> list[str]:
    return [*__all__, "__version__"]


def __getattr__(name: str) -> object:
    """Imports a name when it is first used, because the core takes time to load and the toolchain
    does not need it."""
    if name == "MLCEngine":
        from mlc_llm.sdk.engine import MLCEngine

        return MLCEngine
    if name == "AsyncMLCEngine":
        from mlc_llm.sdk.async_engine import AsyncMLCEngine

        return AsyncMLCEngine
    if name == "picture":
        from mlc_llm.pictures import picture

        return picture
    if name == "plan":
        from mlc_llm.sdk.planning import plan

        return plan
    if name == "set_directories":
        from mlc_llm.sdk.core_engine import set_directories

        return set_directories
    if name == "__version__":
        from importlib.metadata import version

        return version("mlc-llm")
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")

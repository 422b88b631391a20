"""The layers that models are built of: `Builder` makes them and the functions they run in."""

from mlc_llm.compiler.nn.builder import Batch, Builder

__all__ = ["Batch", "Builder"]

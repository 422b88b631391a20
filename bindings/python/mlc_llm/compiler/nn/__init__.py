"""The layers that models are built of: `Builder` makes them and the functions they run in,
`Decoder` puts them together as a specification says."""

from mlc_llm.compiler.nn.builder import Batch, Builder
from mlc_llm.compiler.nn.decoder import Decoder

__all__ = ["Batch", "Builder", "Decoder"]

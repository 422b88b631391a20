"""The logits of heads that know only some tokens, as those of the whole vocabulary."""

from __future__ import annotations

from tvm import tirx
from tvm.tirx.script import builder as T

from mlc_llm.compiler.kernels.common.function import Arg, kernel
from mlc_llm.compiler.kernels.common.values import NEVER
from mlc_llm.compiler.kernels.gpu.elementwise import ITEMS
from mlc_llm.compiler.kernels.gpu.grid import emit_spread, emit_value, grid


def spread(heads: int, size: int, vocab_size: int) -> tirx.PrimFunc:
    """f(*parts [n, size], places i32 [vocab_size], y [n, heads * vocab_size]): for each head,
    y[token] = part[places[token]], and NEVER where that is below 0."""

    def body(*buffers) -> None:
        *parts, places, y = buffers
        none = T.float32(NEVER)
        with grid((y.shape[0],), ITEMS) as ((row,), item):

            def write(token) -> None:
                place = emit_value(places[token])
                for head, part in enumerate(parts):
                    value = T.if_then_else(place >= 0, part[row, T.max(place, 0)], none)
                    T.buffer_store(y, value, [row, head * vocab_size + token])

            emit_spread(vocab_size, ITEMS, item, write)

    args = [Arg(f"part{i}", ("n", size)) for i in range(heads)]
    args.append(Arg("places", (vocab_size,), "int32"))
    return kernel([*args, Arg("y", ("n", heads * vocab_size))], body)

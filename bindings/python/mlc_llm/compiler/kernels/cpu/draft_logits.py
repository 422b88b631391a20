"""The logits of heads that know only some tokens, as those of the whole vocabulary."""

from __future__ import annotations

from tvm import tirx
from tvm.tirx.script import builder as T

from mlc_llm.compiler.kernels.common.function import Arg, kernel
from mlc_llm.compiler.kernels.common.values import NEVER, splat
from mlc_llm.compiler.kernels.cpu.vector import at, emit_over, emit_rows


def spread(heads: int, size: int, vocab_size: int) -> tirx.PrimFunc:
    """f(*parts [n, size], tokens i32 [size], y [n, heads * vocab_size]): for each head, y[token] =
    part, and NEVER for other tokens."""

    def body(*buffers) -> None:
        *parts, tokens, y = buffers
        none = T.float32(NEVER)

        def row(r) -> None:
            for head, part in enumerate(parts):
                first = head * vocab_size

                def clear(base, lanes: int, first=first) -> None:
                    T.buffer_store(y, splat(none, lanes), [r, at(first + base, lanes)])

                if size < vocab_size:
                    emit_over(vocab_size, clear)
                with T.serial(size) as i:
                    T.buffer_store(y, part[r, i], [r, first + tokens[i]])

        emit_rows(y.shape[0], row)

    args = [Arg(f"part{i}", ("n", size)) for i in range(heads)]
    args.append(Arg("tokens", (size,), "int32"))
    return kernel([*args, Arg("y", ("n", heads * vocab_size))], body)

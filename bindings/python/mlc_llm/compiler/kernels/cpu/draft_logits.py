"""The logits of heads that know only some tokens, as those of the whole vocabulary; and those of
the likeliest clusters of tokens."""

from __future__ import annotations

from tvm import tirx
from tvm.tirx.script import builder as T

from mlc_llm.compiler.kernels.common.function import Arg, kernel
from mlc_llm.compiler.kernels.common.values import NEVER, splat
from mlc_llm.compiler.kernels.cpu.routing import emit_best
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


def keep_clusters(clusters: int, chosen: int, vocab_size: int) -> tirx.PrimFunc:
    """f(scores [n, clusters], logits [n, vocab_size], cluster_of i32 [vocab_size], y [n,
    vocab_size]): y = the logits of the `chosen` clusters with the largest scores, else NEVER."""

    def body(scores, logits, cluster_of, y) -> None:
        none = T.float32(NEVER)

        def row(r) -> None:
            left = T.sblock_alloc_buffer((clusters,), "float32")
            with T.serial(clusters) as i:
                T.buffer_store(left, scores[r, i], [i])
            with T.serial(chosen):
                _, best = emit_best(left, 0, clusters)
                T.buffer_store(left, none, [best])
            with T.serial(vocab_size) as token:
                is_kept = left[cluster_of[token]] == none
                T.buffer_store(y, T.if_then_else(is_kept, logits[r, token], none), [r, token])

        emit_rows(y.shape[0], row)

    args = [Arg("scores", ("n", clusters)), Arg("logits", ("n", vocab_size))]
    args.append(Arg("cluster_of", (vocab_size,), "int32"))
    return kernel([*args, Arg("y", ("n", vocab_size))], body)

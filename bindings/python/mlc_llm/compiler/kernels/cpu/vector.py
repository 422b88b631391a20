"""Helpers for vector code in TIR: lanes, fused multiply-add, reductions, exp2.

Everything is written for vectors of 16 floats. LLVM splits them for narrower machines (AVX2, NEON,
SSE). A sum always has the same 16 partial sums, and the same tree adds them up. So a result does
not depend on tiles, batches or threads.

Helpers with `lanes` also work for one lane, for the rest of odd sizes. Functions named `emit_*` add
statements to the kernel; the others return expressions. Python `range` loops inside them are
unrolled.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence

import tvm
from tvm import tirx
from tvm.tirx.script import builder as T

from mlc_llm.compiler.kernels.common.values import (
    LANES,
    SWISH_LIMIT,
    SWISH_SLOPE,
    splat,
    vector_type,
)

_EXP2_DEGREE = 7  # degree of the Taylor polynomial on [-0.5, 0.5]: relative error 5e-9
# 2 ** x on [-0.5, 0.5]: the polynomial with 1 at 0 whose relative error, 1.1e-7, is least
_LESS = (1.0, 0.69314700, 0.24022242, 0.055507336, 0.0096715130, 0.0013264727)
_ROUNDED = 1.5 * 2.0**23  # a small float added to it loses its fraction


def at(base, lanes: int = LANES):
    """The index of `lanes` neighbours from `base` on."""
    return T.ramp(base, 1, lanes) if lanes > 1 else base


def shuffle(vectors: Sequence, picks: Sequence[int]):
    """The picked lanes of the concatenated vectors."""
    return tirx.Shuffle(list(vectors), [tirx.const(int(i), "int32") for i in picks])


def constant(values: Sequence[int], dtype: str):
    return shuffle([tirx.const(v, dtype) for v in values], range(len(values)))


def fma(a, b, c, lanes: int = LANES):
    """a * b + c. It is always explicit, because LLVM may fuse separate operations in one place and
    not in another."""
    return T.call_llvm_pure_intrin(vector_type("float32", lanes), "llvm.fmuladd", a, b, c)


def emit_value(expression):
    """Computes the expression once and gives it a name.

    TVM replaces a name by its expression in all expressions that use the name. So the code to
    simplify grew exponentially and took half of a compilation. TVM does not do that with memory,
    and LLVM turns the memory into a register. Integers stay names, because TVM computes addresses
    with them, except a quotient of two unknown numbers.
    """
    dtype = tvm.DataType(str(expression.ty.dtype))
    if dtype.lanes == 1 and not _is_float(dtype) and not _divides_unknown(expression):
        return T.Bind(expression)
    return emit_stored(expression)


def emit_stored(expression):
    """The same, in memory in any case: for integers of which many addresses are made."""
    dtype = tvm.DataType(str(expression.ty.dtype))
    register = T.alloc_buffer((dtype.lanes,), str(dtype).partition("x")[0])
    T.buffer_store(register, expression, [at(0, dtype.lanes)])
    return register[at(0, dtype.lanes)]


def _is_float(dtype: tvm.DataType) -> bool:
    return str(dtype).startswith(("float", "bfloat"))


def _divides_unknown(expression) -> bool:
    """Whether a part of it divides by a value that is not constant."""
    if isinstance(expression, tirx.FloorDiv | tirx.FloorMod):
        if not isinstance(expression.b, tirx.IntImm):
            return True
    parts = (getattr(expression, name, None) for name in ("a", "b", "value"))
    return any(_divides_unknown(part) for part in parts if isinstance(part, tvm.ir.Expr))


def emit_prefetch(buffer, *indices, keep: int = 3, writes: bool = False) -> None:
    """Prefetches the cache line at that index. An index outside of the buffer does no harm. With
    `keep` 2 the line does not take the place of others in the first cache. `writes`: it will be
    written."""
    address, data = T.address_of(buffer[indices]), 1
    T.evaluate(tirx.call_intrin("void", "tirx.prefetch", address, int(writes), keep, data))


def emit_sum(vector):
    """The sum of the 16 lanes, by halves."""
    return emit_fold(vector, lambda a, b: a + b)


def emit_max(vector):
    return emit_fold(vector, T.max)


def emit_fold(vector, combine: Callable, lanes: int = LANES):
    """Combines the lanes to one value, by halves."""
    width = lanes
    while width > 1:
        width //= 2
        low, high = range(width), range(width, 2 * width)
        vector = emit_value(combine(shuffle([vector], low), shuffle([vector], high)))
    return vector


def emit_folds(vectors: Sequence, combine: Callable):
    """Combines the 16 lanes of each vector to one, in the order of `emit_fold`, side by side. Two
    vectors are combined in one operation. There are 1, 2, 4, ... vectors."""
    found, lanes = list(vectors), LANES
    for width in (8, 4, 2, 1):
        pairs = zip(*[iter(found)] * min(2, len(found)), strict=True)
        lanes *= min(2, len(found))
        lower = [i + j for i in range(0, lanes, 2 * width) for j in range(width)]
        upper = [i + width for i in lower]
        found = [emit_value(combine(shuffle(pair, lower), shuffle(pair, upper))) for pair in pairs]
        lanes //= 2
    return found[0]


def absolute(x, lanes: int = LANES):
    return T.call_llvm_pure_intrin(vector_type("float32", lanes), "llvm.fabs", x)


def lanes_of(vector) -> int:
    return int(tvm.DataType(str(vector.ty.dtype)).lanes)


def exp2(x, lanes: int = LANES):
    """2 ** x, limited to 2 ** -126 .. 2 ** 126."""
    x = T.max(T.min(x, splat(126.0, lanes)), splat(-126.0, lanes))
    x = emit_value(x)
    whole = emit_value(rounded(x, lanes))
    fraction = emit_value(x - whole)
    polynomial = splat(math.log(2) ** _EXP2_DEGREE / math.factorial(_EXP2_DEGREE), lanes)
    for power in reversed(range(_EXP2_DEGREE)):
        coefficient = math.log(2) ** power / math.factorial(power)
        polynomial = fma(polynomial, fraction, splat(coefficient, lanes), lanes)
    exponent = T.Cast(vector_type("int32", lanes), whole) + splat(T.int32(127), lanes)
    power_of_two = T.shift_left(exponent, splat(T.int32(23), lanes))
    return emit_value(polynomial * T.reinterpret(vector_type("float32", lanes), power_of_two))


def exp2_less(x, factor: float, whole):
    """2 ** (x * factor - whole) for a whole number and x * factor - whole in -120 .. 120: fewer
    operations than `exp2`, which is more exact. If `whole` is not between -2 ** 22 and 2 ** 22, the
    result loses up to a power of two."""
    offset = splat(emit_value(T.float32(_ROUNDED) - whole))
    moved = emit_value(fma(x, splat(factor), offset))
    fraction = emit_value(fma(x, splat(factor), offset - moved))
    polynomial = splat(_LESS[-1])
    for coefficient in reversed(_LESS[:-1]):
        polynomial = fma(polynomial, fraction, splat(coefficient))
    return _times_power_of_two(polynomial, moved, LANES)


def exp2_whole(x):
    """2 ** x for one whole number in -120 .. 120."""
    return _times_power_of_two(T.float32(1.0), x + T.float32(_ROUNDED), 1)


def rounded(x, lanes: int = LANES):
    """The nearest whole number, as a float; the even one between two."""
    return T.call_llvm_pure_intrin(vector_type("float32", lanes), "llvm.rint", x)


def emit_rounded(x):
    """The nearest whole numbers, as int32."""
    return emit_value(T.Cast(vector_type("int32", LANES), rounded(x)))


def _times_power_of_two(x, moved, lanes: int):
    """x * 2 ** n; `moved` is n + _ROUNDED, whose last bits are n."""
    integers = vector_type("int32", lanes)
    exponent = T.shift_left(T.reinterpret(integers, emit_value(moved)), splat(T.int32(23), lanes))
    power = T.reinterpret(integers, emit_value(x)) + exponent
    return emit_value(T.reinterpret(vector_type("float32", lanes), power))


def sigmoid(x, lanes: int = LANES):
    return splat(1.0, lanes) / (
        splat(1.0, lanes) + exp2(x * splat(-math.log2(math.e), lanes), lanes)
    )


def silu(x, lanes: int = LANES):
    return x * sigmoid(x, lanes)


def tanh(x, lanes: int = LANES):
    return splat(2.0, lanes) * sigmoid(x * splat(2.0, lanes), lanes) - splat(1.0, lanes)


def relu(x, lanes: int = LANES):
    return T.max(x, splat(0.0, lanes))


def relu2(x, lanes: int = LANES):
    """The square of the positive part."""
    positive = emit_value(relu(x, lanes))
    return positive * positive


def xielu(x, rise, fall, slope, start, lanes: int = LANES):
    """Above 0 rise x^2 + slope x, else (fall + slope) (exp(min(x, start)) - 1 - x) + slope x."""
    power = exp2(T.min(x, start) * splat(math.log2(math.e), lanes), lanes)
    below = (fall + slope) * (power - splat(1.0, lanes) - x)
    return T.Select(x > splat(0.0, lanes), rise * x * x, below) + slope * x


def gelu_tanh(x, lanes: int = LANES):
    """x * (1 + tanh(u)) / 2, which is x * sigmoid(2 u), with u a polynomial of x."""
    cube = emit_value(x * x * x)
    return x * sigmoid(
        fma(cube, splat(_GELU * 0.044715, lanes), x * splat(_GELU, lanes), lanes), lanes
    )


def gelu(x, lanes: int = LANES):
    """x times the share of a normal distribution below it, 1 - h or, below 0, h: half of
    erfc(|x| / sqrt(2)), by Abramowitz and Stegun 7.1.26; its error is below 1e-7."""
    z = emit_value(absolute(x, lanes) * splat(math.sqrt(0.5), lanes))
    t = emit_value(splat(1.0, lanes) / fma(z, splat(_ERFC_SHRINK, lanes), splat(1.0, lanes), lanes))
    polynomial = splat(_ERFC[-1], lanes)
    for coefficient in reversed(_ERFC[:-1]):
        polynomial = fma(polynomial, t, splat(coefficient, lanes), lanes)
    power = exp2(z * z * splat(-math.log2(math.e), lanes), lanes)
    half = emit_value(polynomial * t * power * splat(0.5, lanes))
    return x * T.Select(x < splat(0.0, lanes), half, splat(1.0, lanes) - half)


def quick_gelu(x, lanes: int = LANES):
    """CLIP's: x * sigmoid(1.702 x)."""
    return x * sigmoid(x * splat(1.702, lanes), lanes)


_GELU = 2 * math.sqrt(2 / math.pi)
_ERFC_SHRINK = 0.3275911
_ERFC = (0.254829592, -0.284496736, 1.421413741, -1.453152027, 1.061405429)
ACTIVATIONS = {
    "silu": silu,
    "gelu_tanh": gelu_tanh,
    "gelu": gelu,
    "quick_gelu": quick_gelu,
    "relu": relu,
    "relu2": relu2,
    "tanh": tanh,
    "sigmoid": sigmoid,
}


def gated(activation: str, gate, up, lanes: int = LANES):
    """activation(gate) * up; "clipped_swish" limits both (`spec.MLPSpec`)."""
    if activation != "clipped_swish":
        return ACTIVATIONS[activation](gate, lanes) * up
    limit, slope = splat(SWISH_LIMIT, lanes), splat(SWISH_SLOPE, lanes)
    gate = emit_value(T.min(gate, limit))
    up = T.max(T.min(up, limit), splat(-SWISH_LIMIT, lanes))
    return gate * sigmoid(gate * slope, lanes) * (up + splat(1.0, lanes))


def softcap(x, cap: float, lanes: int = LANES):
    """cap * tanh(x / cap)."""
    half = sigmoid(x * splat(2 / cap, lanes), lanes)
    return fma(half, splat(2 * cap, lanes), splat(-cap, lanes), lanes)


def emit_over(size: int, body: Callable[[object, int], None]) -> None:
    """Calls `body(base, lanes)` over [0, size): whole vectors in a loop, then the rest lane by
    lane."""
    whole = size // LANES
    if whole:
        with T.serial(whole) as block:
            body(block * LANES, LANES)
    for base in range(whole * LANES, size):
        body(base, 1)


def emit_rows(rows, body: Callable[[object], None], *, parallel_from: int = 16) -> None:
    """Calls `body(row)` for each row. With few rows it does not wake the other threads."""

    def loop(kind) -> None:
        with kind(rows) as row, T.sblock("row"):
            T.reads()
            T.writes()
            body(row)

    with T.If(rows >= parallel_from):
        with T.Then():
            loop(T.parallel)
        with T.Else():
            loop(T.serial)


def emit_floats(vectors: int, dtype: str = "float32"):
    """Memory for that many vectors; in registers if its indices are constants.

    TVM puts a buffer below 1 KB on the stack if its scope is "global". It takes all other buffers
    from a pool by a call, which is slow in a loop.
    """
    return T.sblock_alloc_buffer((vectors * LANES,), dtype)


def emit_sums(count: int, dtype: str = "float32", lanes: int = LANES) -> list:
    """That many vectors of sums, which begin at 0 and stay in registers. As one buffer, 16 of them
    would be memory of a pool, and fewer might be part of a buffer that is not in use meanwhile."""
    sums = [T.alloc_buffer((lanes,), dtype) for _ in range(count)]
    for vector in sums:
        T.buffer_store(vector, splat(tirx.const(0, dtype), lanes), [at(0, lanes)])
    return sums


def emit_pieces(total: int, size: int, body: Callable[[object, int], None]) -> None:
    """Cuts `total` things into pieces of `size`, and a smaller last one, and calls `body(first,
    count)` for each."""
    with T.serial(total // size) as piece:
        body(piece * size, size)
    if rest := total % size:
        body(total - rest, rest)


def emit_tiles(total: int, most: int, body: Callable[[object, int], None]) -> None:
    """Calls `body(first, count)` for equal tiles of at most `most` of `total` things."""
    size = next(n for n in range(min(most, total), 0, -1) if total % n == 0)
    with T.serial(total // size) as tile:
        body(tile * size, size)


def emit_uneven_tiles(total: int, most: int, body: Callable[[object, int], None]) -> None:
    """The same for as few tiles as there can be. Some of them have one less than others."""
    count = -(-total // most)
    size = -(-total // count)
    larger = total - count * (size - 1)
    with T.serial(larger) as tile:
        body(tile * size, size)
    if larger < count:
        with T.serial(count - larger) as tile:
            body(larger * size + tile * (size - 1), size - 1)


def emit_unrolled(count, times: int, body: Callable[[object], None]) -> None:
    """Calls `body(i)` for each i below `count`, in a loop of `times` calls each and then one by
    one."""
    is_known = isinstance(count, int)
    count = count if is_known else emit_value(count)
    with T.serial(count // times) as some:
        for i in range(times):
            body(some * times + i)
    if is_known and count % times == 0:
        return
    with T.serial(count % times) as i:
        body(count // times * times + i)


def emit_zero(buffer, vectors: int) -> None:
    for i in range(vectors):
        T.buffer_store(buffer, splat(0.0), [at(i * LANES)])

"""Constants and conversions of scalars and vectors, for CPUs and GPUs."""

from __future__ import annotations

from tvm.tirx.script import builder as T

LANES = 16  # of a vector on CPUs, and of the positions of a page
SWISH_LIMIT, SWISH_SLOPE = 7.0, 1.702  # of the activation "clipped_swish"
NEVER = -3.0e38  # a score that is less than every real one, but finite


def vector_type(dtype: str, lanes: int = LANES) -> str:
    return f"{dtype}x{lanes}" if lanes > 1 else dtype


def splat(value, lanes: int = LANES):
    """One scalar in every lane. A Python float becomes a float32."""
    value = T.float32(value) if isinstance(value, float) else value
    return T.Broadcast(value, lanes) if lanes > 1 else value


def to_float(value, lanes: int = LANES):
    """Converts to float32. A bfloat16 is the upper half of a float32; TVM's own cast of it is wrong
    for vectors. uint16 means the bits of a bfloat16."""
    dtype = str(value.ty.dtype)
    if not dtype.startswith(("bfloat16", "uint16")):
        return T.Cast(vector_type("float32", lanes), value)
    half = T.reinterpret(vector_type("uint16", lanes), value)
    high = T.shift_left(T.Cast(vector_type("uint32", lanes), half), splat(T.uint32(16), lanes))
    return T.reinterpret(vector_type("float32", lanes), high)


def half_to_float(value, lanes: int = LANES):
    """Converts a finite float16 by operations on whole numbers, for CPUs that have no instruction
    for it: there LLVM calls a function for each lane. Shifted to the places of a float32, the
    exponent is too small by 112. That of a subnormal number is one less than it counts, and its
    fraction has no leading 1: this 1 is added, and 2^-14 subtracted. No operand is a subnormal
    float32, with which x86 is a hundred times slower."""

    def of_all(number: int):
        return splat(T.int32(number), lanes)

    floats = vector_type("float32", lanes)
    bits = T.Cast(vector_type("int32", lanes), T.reinterpret(vector_type("int16", lanes), value))
    rest = T.bitwise_and(T.shift_left(bits, of_all(13)), of_all(0x0FFFE000))
    small = T.shift_right(rest - of_all(1 << 23), of_all(31))  # -1, or 0
    moved = rest + of_all(112 << 23) + T.bitwise_and(small, of_all(1 << 23))
    excess = T.reinterpret(floats, T.bitwise_and(small, of_all(113 << 23)))
    found = T.reinterpret(vector_type("int32", lanes), T.reinterpret(floats, moved) - excess)
    return T.reinterpret(floats, T.bitwise_or(found, T.bitwise_and(bits, of_all(-1 << 31))))


def from_float(value, dtype: str, lanes: int = LANES):
    """Converts float32 to a float type, rounding to even. bfloat16: see `to_float`."""
    if dtype != "bfloat16":
        return T.Cast(vector_type(dtype, lanes), value)
    bits = T.reinterpret(vector_type("uint32", lanes), value)
    odd = T.bitwise_and(T.shift_right(bits, splat(T.uint32(16), lanes)), splat(T.uint32(1), lanes))
    rounded = T.shift_right(bits + splat(T.uint32(0x7FFF), lanes) + odd, splat(T.uint32(16), lanes))
    return T.reinterpret(vector_type(dtype, lanes), T.Cast(vector_type("uint16", lanes), rounded))

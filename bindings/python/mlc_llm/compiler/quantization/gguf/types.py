"""GGUF's own quantization types in an `-MLC` folder: the same numbers in another layout.

A weight is `scale * (code - zero)`, or `scale * code + minimum`. Every group of 32 (or 16) weights
has a scale. In the `K` types the scale is a small integer times a float16 that 256 weights share.

A strip is 16 rows. In its layout, `[strip, place, row of the strip]`, a vector holds the same place
of 16 outputs and is loaded directly. The last strip is padded with zeros. For a matrix (rows,
inputs), with S = ceil(rows / 16):

    q_weight       uint32  [S, inputs * bits / 32, 16]  codes; of 3, 5 and 6 bits the lower ones
    q_weight_high  uint32  [S, inputs * bits / 32, 16]  the upper bits of these codes
    q_scale        float16 [S, inputs / group, 16]; int8 where there is q_super; uint8 in MXFP4: e,
                                                     of 2^(e - 128); uint8 in NVFP4 (`nvfp4.py`)
    q_min          float16 [S, inputs / group, 16]; int8 where there is q_super; of some types
    q_super        float16 [S, inputs / 256, 16]: factors of the int8 scales
    q_super_min    float16 [S, inputs / 256, 16]: factors of the int8 minimums, which are subtracted
    q_factor       float32 [S, 1, 16]: factors of all scales of a row, in NVFP4

Scales of 4 and 6 bits are not stored as int8, because they would be too large a share of the file:

    Q2_K  q_scale       uint8 [S, inputs / 16, 16]  a scale, and above it a minimum
    Q3_K  q_scale       uint8 [S, inputs / 32, 16]  the lower 4 bits of two scales
          q_scale_high  uint8 [S, inputs / 64, 16]  the upper 2 bits of four scales

Codes of 3, 5 and 6 bits are cut into two *planes*, a tensor each: 4 (or 2) lower bits, and 1 (or 2)
upper bits. CPUs predict the addresses of both; in one tensor, with 5 words for a group, they did
not (a third of the bandwidth was lost).

A group of 32 inputs is eight *quads* of four codes. A plane of b bits has b words for each group
and row. A byte of a word belongs to the same byte of its quads. The quads v, v + b, v + 2 b, ...
are in word v, the first one in the lowest bits:

    plane of 4 bits   word 0: quads 0 4   word 1: quads 1 5   word 2: quads 2 6   word 3: quads 3 7
    plane of 2 bits   word 0: quads 0 2 4 6     word 1: quads 1 3 5 7
    plane of 1 bit    word 0: quads 0 1 2 3 4 5 6 7

Quad q has the inputs 8 w + p, 8 w + p + 2, + 4 and + 6, where q = w + 4 p. Codes of 8 bits are one
plane, and quad q has the inputs 4 q to 4 q + 3.

Codes of IQ4, MXFP4 and NVFP4 are places in a table of 16 values, which kernels look up before they
multiply. The values of IQ4 take 8 bits, so their quads have the inputs 4 q to 4 q + 3 too.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Protocol

from mlc_llm.compiler.quantization.stored import STRIP, StoredParam

if TYPE_CHECKING:
    from mlc_llm.compiler.quantization.scheme import Matrix

GROUP = 32  # of activations
QUADS = GROUP // 4
WORDS = 4  # of a group's codes of 4 bits; each has two quads
SUPER = 256
WIDE = "_WIDE"  # ends the name of a type's larger form
_SCALE_DTYPES = {16: "float16", 8: "int8", 4: "uint8"}  # by bits; 6: two tensors
_ONE = 0  # number of places of a tensor that has one for the whole row


@dataclass(frozen=True)
class Plane:
    """Some bits of every code. It has as many words in a group as it has bits."""

    tensor: str
    bits: int
    below: int  # the number of lower bits, in the plane before it

    def word_of(self, quad: Any) -> Any:
        """The place of a quad's bits: the word of the group."""
        return quad % self.bits

    def shift_of(self, quad: Any) -> Any:
        """... and the lowest of its bits in each byte of the word."""
        return self.bits * (quad // self.bits)


class StoredType(Protocol):
    """How rows of one GGUF type are stored here."""

    @property
    def name(self) -> str: ...

    @property
    def block(self) -> int:
        """The number of weights that cannot be divided."""

    @property
    def is_float(self) -> bool: ...

    def matrix(self, module: str, shape: tuple[int, int]) -> Matrix:
        """The matrix (out, in) of the module `module`."""


@dataclass(frozen=True, kw_only=True)
class BlockType:
    """A type whose matrices CPUs read in strips: one of GGUF's, or a group scheme's."""

    name: str  # GGUF's name
    bits: int  # bits of a stored code
    zero: int = 0  # the code of the value 0, if there is no minimum
    minimum: bool = False
    scale_bits: int = 16  # of a scale; 16: a float; else an integer with a factor
    group: int = GROUP  # number of weights that share a scale
    is_float: bool = False
    values: tuple[int, ...] = ()  # what the codes stand for, plus `zero`; (): the codes themselves
    exponents: bool = False  # scales are powers of two, of which their exponents are stored
    small_floats: bool = False  # scales are floats of 8 bits, and each row has a factor

    @property
    def block(self) -> int:
        return SUPER if self.nested else GROUP

    @property
    def nested(self) -> bool:
        """Scales are integers with a scale of their own."""
        return self.scale_bits <= 8 and not self.exponents and not self.small_floats

    @property
    def span(self) -> int:
        """The number of activations that share a scale."""
        return max(GROUP, self.group)

    @property
    def takes_bytes(self) -> bool:
        """Whether activations multiply whole groups, or bytes, and never pairs of quads."""
        return self.span > GROUP

    @property
    def in_files(self) -> str:
        """The type whose blocks it is made of."""
        return self.name.removesuffix(WIDE)

    @property
    def factor_bits(self) -> int:
        """The bits of what is multiplied: of the codes, or of the values in their table."""
        return max(self.values).bit_length() if self.values else self.bits

    @property
    def has_neighbours(self) -> bool:
        """Whether a quad has four neighbouring inputs."""
        return self.factor_bits == 8 or self.takes_bytes

    @property
    def planes(self) -> tuple[Plane, ...]:
        """The planes of a code, from the lowest bits on."""
        if self.takes_bytes:
            return (Plane("q_weight", self.bits, 0),)
        low = next(bits for bits in (8, 4, 2) if bits <= self.bits)
        if low == self.bits:
            return (Plane("q_weight", low, 0),)
        return Plane("q_weight", low, 0), Plane("q_weight_high", self.bits - low, low)

    @property
    def tensors(self) -> dict[str, tuple[int, str]]:
        """The stored tensors: their number of places for 256 inputs, or _ONE, and dtype."""
        places = {p.tensor: (SUPER * p.bits // 32, "uint32") for p in self.planes}
        scales = SUPER // self.group
        if self.scale_bits == 6:
            assert self.group == 16 and not self.minimum
            places |= {"q_scale": (scales // 2, "uint8"), "q_scale_high": (scales // 4, "uint8")}
        else:
            octets = self.exponents or self.small_floats
            dtype = "uint8" if octets else _SCALE_DTYPES[self.scale_bits]
            places["q_scale"] = (scales, dtype)
        if self.minimum and self.scale_bits != 4:
            places["q_min"] = places["q_scale"]
        if self.nested:
            places["q_super"] = (1, "float16")
        if self.nested and self.minimum:
            places["q_super_min"] = (1, "float16")
        if self.small_floats:
            places["q_factor"] = (_ONE, "float32")
        return places

    def place_of(self, tensor: str) -> int:
        """The position of a tensor among the stored ones."""
        return list(self.tensors).index(tensor)

    def stored_params(self, module: str, shape: tuple[int, int]) -> tuple[StoredParam, ...]:
        """The tensors of the matrix `module`; `shape` is (out, in)."""
        rows, ins = shape
        assert ins % self.block == 0, (module, shape, self)
        strips = -(-rows // STRIP)
        counts = {
            n: 1 if each == _ONE else ins * each // SUPER for n, (each, _) in self.tensors.items()
        }
        return tuple(
            StoredParam(f"{module}.{name}", (strips, counts[name], STRIP), dtype)
            for name, (_, dtype) in self.tensors.items()
        )

    def matrix(self, module: str, shape: tuple[int, int]) -> Matrix:
        from mlc_llm.compiler.quantization.gguf.matrix import BlockMatrix

        return BlockMatrix(self, shape, self.stored_params(module, shape))


@dataclass(frozen=True, kw_only=True)
class PlainType:
    """An unquantized type of GGUF."""

    name: str
    dtype: str
    block: int = 1
    is_float: bool = True

    def matrix(self, module: str, shape: tuple[int, int]) -> Matrix:
        from mlc_llm.compiler.quantization.plain import FloatMatrix

        return FloatMatrix(shape, (StoredParam(f"{module}.weight", shape, self.dtype),))


# The values of four bits: of IQ4 plus 128; two times those of 4-bit floats, plus 12.
_IQ4 = (1, 24, 45, 63, 79, 93, 106, 118, 129, 141, 153, 166, 181, 197, 217, 241)
_E2M1 = (12, 13, 14, 15, 16, 18, 20, 24, 12, 11, 10, 9, 8, 6, 4, 0)
# Types with code books and types of three values have no kernels. They are quantized again, as this
# type.
ANEW = "Q8_0"
TYPES_ANEW = (
    "IQ1_S", "IQ1_M", "IQ2_XXS", "IQ2_XS", "IQ2_S", "IQ3_XXS", "IQ3_S", "TQ1_0", "TQ2_0",
)  # fmt: skip
TYPES: dict[str, StoredType] = {
    kind.name: kind
    for kind in (
        PlainType(name="F32", dtype="float32"),
        PlainType(name="F16", dtype="float16"),
        PlainType(name="BF16", dtype="bfloat16"),
        BlockType(name="Q4_0", bits=4, zero=8),
        BlockType(name="Q4_1", bits=4, minimum=True),
        BlockType(name="Q5_0", bits=5, zero=16),
        BlockType(name="Q5_1", bits=5, minimum=True),
        BlockType(name="Q8_0", bits=8, zero=128),
        BlockType(name="Q4_K", bits=4, minimum=True, scale_bits=8),
        BlockType(name="Q5_K", bits=5, minimum=True, scale_bits=8),
        BlockType(name="Q6_K", bits=6, zero=32, scale_bits=8, group=16),
        BlockType(name="Q2_K", bits=2, minimum=True, scale_bits=4, group=16),
        BlockType(name="Q3_K", bits=3, zero=4, scale_bits=6, group=16),
        # The same numbers, larger: fewer instructions, for CPUs whose memory is not the limit.
        BlockType(name="Q5_0" + WIDE, bits=8, zero=16),
        BlockType(name="Q5_1" + WIDE, bits=8, minimum=True),
        BlockType(name="Q3_K" + WIDE, bits=4, zero=4, scale_bits=8, group=16),
        BlockType(name="IQ4_NL", bits=4, zero=128, values=_IQ4),
        BlockType(name="IQ4_XS", bits=4, zero=128, values=_IQ4, scale_bits=8),
        BlockType(name="MXFP4", bits=4, zero=12, values=_E2M1, scale_bits=8, exponents=True),
        BlockType(
            name="NVFP4", bits=4, zero=12, values=_E2M1, scale_bits=8, group=16, small_floats=True
        ),
    )
}

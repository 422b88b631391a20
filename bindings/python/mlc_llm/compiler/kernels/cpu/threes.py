"""Reads matrices of schemes of 3 bits: strips of 16 rows, in groups of 40 inputs.

MLC-LLM's words have ten codes, and only the first of them begins with a byte. The core turns the
four words of a group when it lays out the strips, into as many bits. These are the inputs whose
codes byte b of word w has:

    bits          7 6                              5 4 3          2 1 0
    w = 0, 1      4 w + 32 + b, two lower bits     4 w + 16 + b   4 w + b
    w = 2, 3      4 w + 24 + b, the upper bit (6)  4 w + 16 + b   4 w + b

So a quad has four neighbouring inputs, and a shift and a mask take it out of a word.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, NamedTuple

from tvm.tirx.script import builder as T

from mlc_llm.compiler.kernels.common.values import LANES, splat, to_float
from mlc_llm.compiler.kernels.cpu.strips import Strips
from mlc_llm.compiler.kernels.cpu.vector import at, constant, emit_prefetch, emit_value
from mlc_llm.compiler.kernels.cpu.weights import spread
from mlc_llm.compiler.quantization.gguf.types import STRIP

GROUP = 40
WORDS = 4  # of a group


class Piece(NamedTuple):
    """Bits of the codes of a quad: `bits` of each byte of a word, from `shift` on; they have
    `below` lower ones."""

    word: int
    shift: int
    bits: int
    below: int = 0


@dataclass(frozen=True)
class ThreeStrips(Strips):
    block_vectors: int = 2 * GROUP // LANES  # two groups

    def emit_vector(self, buffers, row, block, vector: int):
        strip, lane = row // STRIP, row % STRIP
        inputs = range(vector * LANES, (vector + 1) * LANES)
        groups, places = zip(*(divmod(k, GROUP) for k in inputs), strict=True)
        pieces = [pieces_of(k // 4) for k in places]
        codes = None
        for i in range(max(map(len, pieces))):
            own = [each[i] if i < len(each) else Piece(0, 0, 0) for each in pieces]
            words = [group * WORDS + piece.word for group, piece in zip(groups, own, strict=True)]
            shifts = [8 * (k % 4) + piece.shift for k, piece in zip(places, own, strict=True)]
            found = spread(lambda w: buffers[0][strip, block * 2 * WORDS + w, lane], words)
            found = T.shift_right(found, constant(shifts, "uint32"))
            found = T.bitwise_and(found, constant([(1 << p.bits) - 1 for p in own], "uint32"))
            found = emit_value(T.shift_left(found, constant([p.below for p in own], "uint32")))
            codes = found if codes is None else emit_value(T.bitwise_or(codes, found))

        def scale(group: int):
            return self._as_float(buffers[1][strip, block * 2 + group, lane], 1)

        signed = T.Cast(f"int32x{LANES}", codes) - splat(T.int32(self.kind.zero))
        return emit_value(to_float(signed) * spread(scale, list(groups)))

    def element(self, buffers, row, column):
        raise AssertionError("the inputs are whole vectors")

    def emit_pair(self, buffers, strip, group, turn) -> list[Any]:
        raise AssertionError("several rows take whole groups")

    def emit_prefetch_pair(self, buffers, strip, group, turn) -> None:
        raise AssertionError("several rows take whole groups")

    def emit_quads(self, buffers, strip, group) -> list[Any]:
        words = [emit_value(buffers[0][strip, group * WORDS + i, at(0)]) for i in range(WORDS)]
        return [self._from_pieces(words, pieces_of(quad)) for quad in range(GROUP // 4)]

    def _from_pieces(self, words: list[Any], pieces: list[Piece]):
        found = None
        for piece in pieces:
            word, up = words[piece.word], piece.below - piece.shift
            if up:
                word = T.shift_right(word, splat(T.uint32(-up)))
            mask = ((1 << piece.bits) - 1 << piece.below) * 0x01010101
            word = T.bitwise_and(word, splat(T.uint32(mask)))
            found = word if found is None else T.bitwise_or(found, word)
        return found

    def _turn_of(self, quad: int) -> tuple[int, ...]:
        """Words 0 and 2 have a quad in common, and so have words 1 and 3."""
        word = pieces_of(quad)[0].word
        return word % 2, word

    def emit_prefetch(self, buffers, strip, group) -> None:
        for word in range(WORDS):
            emit_prefetch(buffers[0], strip, group * WORDS + word, 0)


def pieces_of(quad: int) -> list[Piece]:
    """Where the bits of a quad are, from the lowest ones on."""
    if quad < 2 * WORDS:
        return [Piece(quad % WORDS, 3 * (quad // WORDS), 3)]
    last = quad - 2 * WORDS
    return [Piece(last, 6, 2), Piece(last + 2, 6, 1, below=2)]

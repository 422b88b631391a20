"""The quantization schemes, as a table, and what a scheme stores for one weight.

A scheme is a value: the converter reads it to write weights, the compiler to read them. Names and
layouts are MLC-LLM's, so that its repositories load.

    scheme = get("q4f32_1")
    scheme.stored_params("lm_head.weight", (49152, 576), use="lm_head")
    # (StoredParam("lm_head.q_weight", (49152, 72), "uint32"),
    #  StoredParam("lm_head.q_scale", (49152, 18), "float32"))

A group scheme keeps, for groups of `group_size` weights along the input dimension,
`scale = max|w| / qmax` and `q = clip(round(w / scale + qmax), 0, 2 * qmax)`, all in the model
dtype; codes are packed low bits first, `32 // bits` in a uint32. A weight is `(q - qmax) * scale`.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

from mlc_llm.compiler.quantization import gguf_scheme
from mlc_llm.compiler.quantization.gguf_scheme import GGUFScheme
from mlc_llm.compiler.quantization.stored import StoredParam, WeightUse
from mlc_llm.errors import UnsupportedError


@dataclass(frozen=True, kw_only=True)
class Scheme:
    """How weights are stored.

    `layout` is that of linear weights: "NK" keeps (out, in), "KN" keeps (in, out). Embedding
    tables are always (vocabulary, hidden).
    """

    name: str
    kind: Literal["none", "group"]
    model_dtype: str  # of unquantized tensors and of scales
    bits: int = 0
    group_size: int = 0
    qmax: int = 0
    layout: Literal["NK", "KN"] = "NK"
    quantize_linear: bool = True
    quantize_embedding: bool = True
    quantize_lm_head: bool = True

    @property
    def storage_dtype(self) -> str:
        """Of the packed codes."""
        return "uint32"

    @property
    def scale_dtype(self) -> str:
        return self.model_dtype

    @property
    def codes_per_word(self) -> int:
        return 32 // self.bits

    @property
    def words_per_group(self) -> int:
        return self.group_size // self.codes_per_word

    def num_groups(self, in_features: int) -> int:
        return -(-in_features // self.group_size)

    def num_words(self, in_features: int) -> int:
        """Words in one row; the last group is padded to its full size."""
        return self.num_groups(in_features) * self.words_per_group

    def quantizes(self, use: WeightUse | None) -> bool:
        if self.kind == "none" or use is None:
            return False
        return {
            "linear": self.quantize_linear,
            "embedding": self.quantize_embedding,
            "lm_head": self.quantize_lm_head,
        }[use]

    def layout_of(self, use: WeightUse) -> Literal["NK", "KN"]:
        return "NK" if use == "embedding" else self.layout

    def stored_params(
        self, name: str, shape: tuple[int, ...], *, use: WeightUse | None
    ) -> tuple[StoredParam, ...]:
        """What is stored for the tensor `name`, whose plain shape is `shape` (out, in)."""
        if not self.quantizes(use):
            return (StoredParam(name, shape, self.model_dtype),)
        module = name.removesuffix(".weight")
        out_features, in_features = shape
        words = (out_features, self.num_words(in_features))
        scales = (out_features, self.num_groups(in_features))
        if self.layout_of(use) == "KN":
            words, scales = words[::-1], scales[::-1]
        return (
            StoredParam(f"{module}.q_weight", words, self.storage_dtype),
            StoredParam(f"{module}.q_scale", scales, self.scale_dtype),
        )


def _int4(name: str, dtype: str, layout: Literal["NK", "KN"]) -> Scheme:
    return Scheme(
        name=name, kind="group", model_dtype=dtype, bits=4, group_size=32, qmax=7, layout=layout
    )


def _int3(name: str, dtype: str, layout: Literal["NK", "KN"]) -> Scheme:
    return Scheme(
        name=name, kind="group", model_dtype=dtype, bits=3, group_size=40, qmax=3, layout=layout
    )


SCHEMES: dict[str, Scheme] = {
    scheme.name: scheme
    for scheme in (
        Scheme(name="q0f16", kind="none", model_dtype="float16"),
        Scheme(name="q0bf16", kind="none", model_dtype="bfloat16"),
        Scheme(name="q0f32", kind="none", model_dtype="float32"),
        _int3("q3f16_0", "float16", "KN"),
        _int3("q3f16_1", "float16", "NK"),
        _int4("q4f16_0", "float16", "KN"),
        _int4("q4f16_1", "float16", "NK"),
        _int4("q4bf16_1", "bfloat16", "NK"),
        _int4("q4f32_1", "float32", "NK"),
        Scheme(
            name="q8f32_1", kind="group", model_dtype="float32", bits=8, group_size=32, qmax=127
        ),
    )
}


AnyScheme = Scheme | GGUFScheme


def get(name: str, *, weight_types: object = None) -> AnyScheme:
    """The scheme of that name; an unknown one is refused with the list of those that exist.

    `weight_types` is what a folder of a `gguf_` scheme says in its mlc-chat-config.json.
    """
    if name in SCHEMES:
        return SCHEMES[name]
    if name in gguf_scheme.NAMES:
        return GGUFScheme(name=name, others=gguf_scheme.others_of(weight_types))
    available = ", ".join([*SCHEMES, *gguf_scheme.NAMES])
    raise UnsupportedError(
        f'unknown quantization "{name}"; available: {available}', param="quantization"
    )

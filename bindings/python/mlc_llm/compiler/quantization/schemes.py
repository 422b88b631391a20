"""The quantization schemes, as a table.

A scheme is a value. The converter asks it how to write weights, and the compiler how to read them
(`scheme.py`). Names and layouts are MLC-LLM's, so its repositories can be loaded.

    scheme = get("q4f32_1")
    scheme.stored_params("lm_head.weight", (49152, 576), use="lm_head")
    # (StoredParam("lm_head.q_weight", (49152, 72), "uint32"),
    #  StoredParam("lm_head.q_scale", (49152, 18), "float32"))
"""

from __future__ import annotations

from dataclasses import replace

from mlc_llm.compiler import outside
from mlc_llm.compiler.quantization.awq import AWQScheme
from mlc_llm.compiler.quantization.fp8 import E4M3, E5M2, Float8Scheme
from mlc_llm.compiler.quantization.fp8_blocks import BlockFloat8Scheme
from mlc_llm.compiler.quantization.gguf import scheme as gguf
from mlc_llm.compiler.quantization.group import Groups, GroupScheme
from mlc_llm.compiler.quantization.plain import PlainScheme
from mlc_llm.compiler.quantization.scheme import TOWER, Scheme
from mlc_llm.compiler.quantization.stored import WeightUse
from mlc_llm.errors import UnsupportedError

INT3 = Groups(bits=3, size=40, qmax=3)
INT4 = Groups(bits=4, size=32, qmax=7)
INT8 = Groups(bits=8, size=32, qmax=127)

TABLES: frozenset[WeightUse] = frozenset(("embedding", "tied_embedding", "lm_head"))

PLAIN = (
    PlainScheme(name="q0f16", model_dtype="float16"),
    PlainScheme(name="q0bf16", model_dtype="bfloat16"),
    PlainScheme(name="q0f32", model_dtype="float32"),
)
GROUPS = (
    GroupScheme(name="q3f16_0", model_dtype="float16", groups=INT3, layout="KN"),
    GroupScheme(name="q3f16_1", model_dtype="float16", groups=INT3),
    GroupScheme(name="q4f16_0", model_dtype="float16", groups=INT4, layout="KN"),
    GroupScheme(name="q4f16_1", model_dtype="float16", groups=INT4),
    GroupScheme(name="q4f16_2", model_dtype="float16", groups=INT4, plain=TABLES),
    GroupScheme(name="q4bf16_0", model_dtype="bfloat16", groups=INT4, layout="KN"),
    GroupScheme(name="q4bf16_1", model_dtype="bfloat16", groups=INT4),
    GroupScheme(name="q4f32_1", model_dtype="float32", groups=INT4),
    GroupScheme(name="q8f32_1", model_dtype="float32", groups=INT8),
)
FLOAT8 = (
    Float8Scheme(name="e4m3_e4m3_f16", kind=E4M3, calibrated=True),
    Float8Scheme(name="e4m3_e4m3_f16_max_calibrate", kind=E4M3),
    Float8Scheme(name="e5m2_e5m2_f16", kind=E5M2),
)
FLOAT8_BLOCKS = (
    BlockFloat8Scheme(name="fp8_e4m3fn_bf16_block_scale"),
    BlockFloat8Scheme(name="fp8_e4m3fn_bf16_block_scale_static_activation", static=True),
)
# Schemes to which every model can be converted.
OF_FLOATS = (*PLAIN, *GROUPS, *FLOAT8, *FLOAT8_BLOCKS)
OTHERS = (AWQScheme(name="q4f16_autoawq", model_dtype="float16"),)
# The same formats, written with other scales (search.py).
SEARCHED: dict[str, Scheme] = {
    scheme.name: replace(scheme, searched=True) for scheme in GROUPS if scheme.groups.bits <= 4
}
SCHEMES: dict[str, Scheme] = {scheme.name: scheme for scheme in (*OF_FLOATS, *OTHERS)}

_SHUFFLED = (
    "stores weights in the order in which FasterTransformer's kernels for one generation of NVIDIA "
    "GPUs read them"
)
# Schemes of MLC-LLM that will not be supported: the reason, and what to use instead.
REFUSED = {"q4f16_ft": (_SHUFFLED, "q4f16_1"), "q8f16_ft": (_SHUFFLED, "q8f32_1")}


# Of the weights of towers: floats, and whole numbers of 8 bits.
TOWERS = ("q0f16", "q8f32_1")


def with_tower(scheme: Scheme, quantization: object) -> Scheme:
    """The scheme with weights of the tower as in that one: a `tower_quantization` of a config or of
    the command line. None: floats of 16 bits, or those of the scheme if it has floats."""
    if quantization is None:
        return scheme
    if quantization not in TOWERS:
        raise UnsupportedError(
            f'unknown {TOWER} "{quantization}"; available: {", ".join(TOWERS)}', param=TOWER
        )
    return replace(scheme, tower="" if quantization == TOWERS[0] else str(quantization))


def get(name: str, *, weight_types: object = None) -> Scheme:
    """The scheme with that name, here or in another package (`outside.py`). An unknown name is an
    error that lists the existing names.

    `weight_types` is the field of a `gguf_` scheme in the folder's mlc-chat-config.json.
    """
    if name in SCHEMES:
        return SCHEMES[name]
    if name in gguf.NAMES:
        return gguf.GGUFScheme(name=name, others=gguf.others_of(weight_types))
    if name in REFUSED:
        why, instead = REFUSED[name]
        raise UnsupportedError(
            f"quantization {name} {why}; convert the model to {instead} instead",
            param="quantization",
        )
    if (found := outside.scheme(name)) is not None:
        return found
    available = ", ".join([*SCHEMES, *gguf.NAMES, *outside.scheme_names()])
    raise UnsupportedError(
        f'unknown quantization "{name}"; available: {available}', param="quantization"
    )


def with_searched_scales(scheme: Scheme) -> Scheme:
    """The same format, written with the scales that lose the least. Error: UnsupportedError if the
    scheme has none to choose."""
    if scheme.name not in SEARCHED:
        raise UnsupportedError(
            f"quantization {scheme.name} has no scales to search; {', '.join(SEARCHED)} have",
            param="search-scales",
        )
    return replace(SEARCHED[scheme.name], tower=scheme.tower)

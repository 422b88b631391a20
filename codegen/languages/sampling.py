"""How tokens are chosen, in the core, in its kernels for GPUs and in the Python package."""

from __future__ import annotations

from codegen import ir
from codegen.languages import common, cpp

FOLDER = "bindings/python/mlc_llm"


def generate(protocol: ir.Protocol) -> dict[str, str]:
    """The files by their path in the repository, not yet formatted."""
    sampling = protocol.sampling
    if sampling is None:
        return {}
    words = [word.name for record in sampling.records for word in record.words]
    common.check_distinct("words of sampling", words)
    values = {
        "stamp": common.stamp(protocol),
        "sampling": sampling,
        "member": cpp.member_name,
        "is_int": _is_int,
        "number_type": lambda number: "int32_t" if _is_int(number) else "double",
        "word_type": lambda word: "int32_t" if isinstance(word.default, int) else "float",
        "number_text": common.number,
        "prefix": _prefix,
    }
    templates = {
        "core/src/sampling/sampling_numbers.gen.h": "numbers.h.j2",
        "core/src/chat/request/sampling_fields.gen.h": "fields.h.j2",
        "core/src/sampling/sampler_words.gen.h": "words.h.j2",
        f"{FOLDER}/sdk/sampling_gen.py": "fields.py.j2",
        f"{FOLDER}/compiler/kernels/gpu/sampler_words_gen.py": "words.py.j2",
    }
    return {
        path: common.render(f"sampling/{template}", **values)
        for path, template in templates.items()
    }


def _is_int(number: ir.SamplingNumber) -> bool:
    return isinstance(number.field.type, ir.Scalar) and number.field.type.kind == "int"


def _prefix(record: ir.Record) -> str:
    """Of the constant with the number of a record's words: `TASK` of `TaskWords`."""
    words = "".join("_" + c if c.isupper() else c.upper() for c in record.name).strip("_")
    return words.removesuffix("_WORDS")

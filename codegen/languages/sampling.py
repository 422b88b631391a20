"""How tokens are chosen, in the core, in its kernels for GPUs and in the Python package."""

from __future__ import annotations

from dataclasses import dataclass

from codegen import ir
from codegen.languages import common, cpp

FOLDER = "bindings/python/mlc_llm"


@dataclass(frozen=True)
class NumberView:
    """`value`: what the core has of the protocol's `given`."""

    name: str
    type: str
    value: str
    neutral: str
    python_neutral: str
    doc: str


@dataclass(frozen=True)
class WordView:
    name: str
    constant: str
    type: str
    default: str
    doc: str


@dataclass(frozen=True)
class RecordView:
    """`prefix` is that of the constant with the number of its words."""

    name: str
    prefix: str
    doc: str
    words: tuple[WordView, ...]


def generate(protocol: ir.Protocol) -> dict[str, str]:
    """The files by their path in the repository, not yet formatted."""
    sampling = protocol.sampling
    if sampling is None:
        return {}
    records = [_record(record) for record in sampling.records]
    constants = [word.constant for record in records for word in record.words]
    common.check_distinct("words of sampling", constants)
    values = {
        "stamp": common.stamp(protocol),
        "fields": [field.name for field in sampling.fields.fields],
        "struct": sampling.fields.names.name,
        "numbers": [_number(number) for number in sampling.numbers],
        "records": records,
        "version": sampling.version(),
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


def _number(number: ir.SamplingNumber) -> NumberView:
    is_int = isinstance(number.field.type, ir.Scalar) and number.field.type.kind == "int"
    return NumberView(
        name=cpp.member_name(number.field.name),
        type="int32_t" if is_int else "double",
        value="ToInt32(*given)" if is_int else "*given",
        neutral=common.number(number.neutral),
        python_neutral=repr(int(number.neutral) if is_int else float(number.neutral)),
        doc=number.field.description,
    )


def _record(record: ir.Record) -> RecordView:
    words = tuple(
        WordView(
            name=cpp.member_name(word.name),
            constant=word.name.upper(),
            type="int32_t" if isinstance(word.default, int) else "float",
            default=common.number(word.default),
            doc=word.description,
        )
        for word in record.words
    )
    prefix = "".join("_" + c if c.isupper() else c.upper() for c in record.name).strip("_")
    return RecordView(record.name, prefix.removesuffix("_WORDS"), record.description, words)

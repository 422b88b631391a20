"""llama.cpp as PyPI's `llama-cpp-python`, built for this machine in an environment of its own."""

from __future__ import annotations

from pathlib import Path

import gguf
import numpy as np

from cpu_parts.environment import ROOT, Environment

LLAMA_CPP = Environment(
    "peer", "llama-cpp-python", "llama_cpp", {"CMAKE_ARGS": "-DGGML_NATIVE=ON"}, from_source=True
)
HOME, PYTHON = LLAMA_CPP.home, LLAMA_CPP.python
install, version = LLAMA_CPP.install, LLAMA_CPP.version

__all__ = ["HOME", "LLAMA_CPP", "PYTHON", "ROOT", "install", "requantized", "version"]


def requantized(source: Path, kind: gguf.GGMLQuantizationType) -> Path:
    """The GGUF file with every matrix in another type; made once."""
    target = HOME / f"{source.stem}-{kind.name}.gguf"
    if target.is_file():
        return target
    HOME.mkdir(parents=True, exist_ok=True)
    reader = gguf.GGUFReader(str(source))
    architecture = reader.fields["general.architecture"].contents()
    partial = target.with_suffix(".partial")
    writer = gguf.GGUFWriter(str(partial), architecture)
    _copy_fields(reader, writer)
    for tensor in reader.tensors:
        values = gguf.quants.dequantize(tensor.data, tensor.tensor_type).astype(np.float32)
        if values.ndim == 2:
            writer.add_tensor(tensor.name, gguf.quants.quantize(values, kind), raw_dtype=kind)
        else:
            writer.add_tensor(tensor.name, values)
    writer.write_header_to_file()
    writer.write_kv_data_to_file()
    writer.write_tensors_to_file()
    writer.close()
    partial.rename(target)
    return target


def _copy_fields(reader: gguf.GGUFReader, writer: gguf.GGUFWriter) -> None:
    for field in reader.fields.values():
        if field.name.startswith("GGUF.") or field.name == "general.architecture":
            continue
        kind = field.types[0]
        inner = field.types[-1] if kind == gguf.GGUFValueType.ARRAY else None
        writer.add_key_value(field.name, field.contents(), kind, sub_type=inner)

"""llama.cpp as PyPI's `llama-cpp-python`, built for this machine in an environment of its own.

Under build/peer, never in the project's own environment; several minutes the first time.
"""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import gguf
import numpy as np

ROOT = Path(__file__).resolve().parents[3]
HOME = ROOT / "build" / "peer"
PYTHON = HOME / "venv" / "bin" / "python"
PACKAGE = "llama-cpp-python"


def install() -> Path | None:
    """Its Python, or None (with a word on standard error) where it cannot be built."""
    if not _works():
        print(f"building {PACKAGE} in {HOME} (minutes)", file=sys.stderr, flush=True)
        HOME.mkdir(parents=True, exist_ok=True)
        environment = {**os.environ, "CMAKE_ARGS": "-DGGML_NATIVE=ON"}
        try:
            subprocess.run([sys.executable, "-m", "venv", HOME / "venv"], check=True)
            subprocess.run([PYTHON, "-m", "pip", "install", PACKAGE], check=True, env=environment)
        except (OSError, subprocess.CalledProcessError) as error:
            print(f"{PACKAGE} cannot be built: {error}", file=sys.stderr, flush=True)
            return None
    return PYTHON if _works() else None


def _works() -> bool:
    if not PYTHON.is_file():
        return False
    test = [str(PYTHON), "-c", "import llama_cpp"]
    return subprocess.run(test, capture_output=True).returncode == 0


def version() -> str:
    command = [str(PYTHON), "-c", "import llama_cpp; print(llama_cpp.__version__)"]
    return subprocess.run(command, capture_output=True, text=True).stdout.strip()


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

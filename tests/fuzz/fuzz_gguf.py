"""A GGUF header out of nowhere: it is read, or refused with a typed error, in bounded time.

Run by tests/fuzz/run.py under atheris, which follows the coverage of the reader. `check` is what
the replay test (tests/python/convert/test_gguf_corpus.py) calls on each input of the corpus.
"""

from __future__ import annotations

import sys
import tempfile
from pathlib import Path

try:
    import atheris
except ImportError:  # the replay needs none of it
    atheris = None

if atheris is not None:
    with atheris.instrument_imports(include=["mlc_llm.compiler.convert"]):
        from mlc_llm.compiler.convert.gguf import GGUFModel
else:
    from mlc_llm.compiler.convert.gguf import GGUFModel

from mlc_llm.errors import MLCError

SMALL_TENSOR = 1 << 16  # elements; a larger one says nothing about the header


def check(data: bytes, path: Path) -> str:
    """How the file ended: "read", or the name of the error. Any other exception is a finding."""
    path.write_bytes(data)
    try:
        model = GGUFModel(path)
        model.hf_config()
        model.generation_config()
        model.tokenizer_files()
        for name, tensor in model.tensors().items():
            size = 1
            for extent in tensor.shape:
                size *= extent
            if size <= SMALL_TENSOR:
                model.read(name)
    except MLCError as error:
        assert error.message
        return type(error).__name__
    return "read"


def main() -> None:
    with tempfile.TemporaryDirectory(prefix="mlc-fuzz-") as folder:
        path = Path(folder) / "input.gguf"
        atheris.Setup(sys.argv, lambda data: check(data, path) and None)
        atheris.Fuzz()


if __name__ == "__main__":
    main()

"""A GGUF header out of nowhere: it is read, or refused with a typed error, in bounded time.

Run by tests/fuzz/run.py under atheris, which follows the coverage of the reader. `check` is what
the replay test (tests/python/convert/test_gguf_corpus.py) calls on each input of the corpus.
"""

from __future__ import annotations

import sys
import tempfile
from inspect import isclass, isfunction
from pathlib import Path

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


def instrument() -> None:
    """Atheris sees the branches of the reader. (An editable install goes past its import hook.)"""
    import atheris

    for name, module in list(sys.modules.items()):
        if name.startswith("mlc_llm.compiler.convert"):
            for scope in [vars(module), *(vars(c) for c in vars(module).values() if isclass(c))]:
                for function in scope.values():
                    if isfunction(function) and function.__module__ == name:
                        atheris.instrument_func(function)


def main() -> None:
    import atheris  # the replay needs none of it

    instrument()
    with tempfile.TemporaryDirectory(prefix="mlc-fuzz-") as folder:
        path = Path(folder) / "input.gguf"
        atheris.Setup(sys.argv, lambda data: check(data, path) and None)
        atheris.Fuzz()


if __name__ == "__main__":
    main()

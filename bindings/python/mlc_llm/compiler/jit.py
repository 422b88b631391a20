"""The child process that converts a model just in time.

    python -m mlc_llm.compiler.jit '{"source": ..., "output": ..., "quantization": ...}'

A progress bar goes to standard error. On failure the last line of standard output is the error as
JSON, {"class", "message", "param", "code"}, and the exit status is 1.
"""

from __future__ import annotations

import json
import sys
from pathlib import Path

from mlc_llm.errors import MLCError


def main(arguments: list[str]) -> int:
    """Runs one job; returns the exit status."""
    job = json.loads(arguments[0])
    try:
        _convert(Path(job["source"]), Path(job["output"]), job["quantization"])
    except MLCError as error:
        fields = {"message": error.message, "param": error.param, "code": error.code}
        print(json.dumps({"class": type(error).__name__, **fields}), flush=True)
        return 1
    return 0


def _convert(source: Path, output: Path, quantization: str) -> None:
    from mlc_llm.compiler.convert import convert_model, open_source

    convert_model(open_source(source), output, quantization=quantization)


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))

"""The child process that converts a model just in time.

    python -m mlc_llm.compiler.jit '{"source": ..., "output": ..., "quantization": ...}'

A progress bar goes to standard error. On failure the last line of standard output is the error as
JSON, {"class", "message", "param", "code"}, and the exit status is 1.
"""

from __future__ import annotations

import json
import sys
from pathlib import Path
from typing import Any

from mlc_llm.errors import MLCError


def main(arguments: list[str]) -> int:
    """Runs one job; returns the exit status."""
    job = json.loads(arguments[0])
    try:
        _convert(job)
    except MLCError as error:
        fields = {"message": error.message, "param": error.param, "code": error.code}
        print(json.dumps({"class": type(error).__name__, **fields}), flush=True)
        return 1
    return 0


def _convert(job: dict[str, Any]) -> None:
    from mlc_llm.compiler.convert import ConfigOverrides, convert_model, open_source

    convert_model(
        open_source(Path(job["source"])),
        Path(job["output"]),
        quantization=job["quantization"],
        overrides=ConfigOverrides(sampling=job["sampling"]),
    )


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))

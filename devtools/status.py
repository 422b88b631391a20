"""docs/status.md out of docs/status.json and the table of model families.

python -m devtools.status      # writes the page

A row of the data is a thing and its state. The files of a family (Hugging Face, GGUF, -MLC) come
from the families themselves; the data says which of them an engine runs on which device.
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

from mlc_llm.compiler.models import FAMILIES, mlc_keys

DOCS = Path(__file__).resolve().parents[1] / "docs"
PAGE = DOCS / "status.md"
FAMILY_COLUMNS = (
    *("family", "Hugging Face", "GGUF", "`-MLC`"),
    *("CPU", "OpenCL", "Vulkan", "CUDA", "Metal", "real weights"),
)
LONGEST_CELL = 120  # longer sentences belong to the page about the thing

HEAD = """<!-- Generated from docs/status.json by `python -m devtools.status`; do not edit. -->
# What works

Everything here was built and tested on one x86-64 Linux machine without a GPU. *Tested* means
that `./dev test` runs it there; `--long` marks what only `./dev test --long` runs.
[Models](models.md) says what is refused within a family.

## Model families

| word | meaning |
|---|---|
| yes | a test of `./dev test` runs it |
| long | `./dev test --long` runs it |
| layers | engines of other families run its kinds of layers on the device |
| compiled | the kernels are compiled for the device, and nothing has run them there |
| no | it was not tried |

Families are tested on tiny models with random weights: their logits and greedy tokens are those
on which two or three of transformers, mlx-lm and llama.cpp agree. *Real weights* says whether a
published model of the family has run too. The column GGUF has the file's `general.architecture`,
the column `-MLC` the names of MLC-LLM. OpenCL is tested on PoCL, Vulkan on lavapipe.

"""


def table(head: Sequence[str], rows: Sequence[Sequence[str]]) -> str:
    lines = [head, ["---"] * len(head), *rows]
    return (
        "".join("| " + " | ".join(line) + " |\n" for line in lines).replace("| --- ", "|---") + "\n"
    )


def families(data: dict[str, Any]) -> Iterator[list[str]]:
    for name, family in FAMILIES.items():
        if name in mlc_keys.OTHER_NAMES:
            continue
        runs = [data[device].get(name, "layers") for device in ("OpenCL", "Vulkan")]
        compiled = "no" if name in data["encoders"] else "compiled"
        files = [mlc_keys.hugging_face(name), mlc_keys.gguf(name, family), mlc_keys.mlc(name)]
        real = data["real weights"].get(name, "no")
        yield [f"`{name}`", *files, "yes", *runs, compiled, compiled, real]


def page(data: dict[str, Any]) -> str:
    columns = [
        "family",
        "Hugging Face",
        "GGUF",
        "`-MLC`",
        "CPU",
        "OpenCL",
        "Vulkan",
        "CUDA",
        "Metal",
    ]
    text = HEAD + table([*columns, "real weights"], list(families(data)))
    text += "## Platforms\n\n" + table(["platform", "built", "run where"], data["platforms"])
    text += "## Devices\n\n[GPUs](gpu.md) says more.\n\n"
    text += table(["device", "kernels compiled", "run where"], data["devices"])
    for title, rows in data["parts"].items():
        text += f"## {title}\n\n" + table(["part", "state"], rows)
    return text.rstrip("\n") + "\n"


def read() -> dict[str, Any]:
    found: dict[str, Any] = json.loads((DOCS / "status.json").read_text(encoding="utf-8"))
    return found


if __name__ == "__main__":
    PAGE.write_text(page(read()), encoding="utf-8")

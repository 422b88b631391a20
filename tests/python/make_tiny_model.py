"""A random two-layer model, converted and compiled, for tests that are not Python's.

usage: make_tiny_model.py FOLDER     prints the model's folder and its library
"""

from __future__ import annotations

import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parent / "convert"))

import tiny_models  # noqa: E402

from mlc_llm.prepare.model_source import resolve_model  # noqa: E402


def main() -> None:
    folder = Path(sys.argv[1])
    if not (folder / "config.json").exists():
        tiny_models.write_hf_folder(folder, tiny_models.random_weights())
    model = resolve_model(folder, quantization="q4f32_1", progress=lambda _: None)
    print(model.folder, model.model_lib, sep="\n")


if __name__ == "__main__":
    main()

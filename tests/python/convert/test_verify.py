"""What `verify` finds in a folder of weights."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

from mlc_llm.compiler.convert.verify import verify


def test_an_index_with_odd_names_and_places_has_problems_and_no_error(tmp_path: Path) -> None:
    tensors: list[dict[str, Any]] = [
        {"name": 1, "byteOffset": 0, "nbytes": 4},
        {"name": "a", "byteOffset": 0},
    ]
    for size, match in (
        (4, "share bytes"),
        ("x", "whole numbers"),
        (1e999, "whole"),
        (-4, "whole"),
    ):
        tensors[1]["nbytes"] = size
        record = {"dataPath": "shard.bin", "nbytes": 4, "records": tensors}
        (tmp_path / "tensor-cache.json").write_text(json.dumps({"records": [record]}))
        (tmp_path / "shard.bin").write_bytes(bytes(4))
        (problem,) = verify(tmp_path)
        assert match in problem

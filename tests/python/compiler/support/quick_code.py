"""Libraries whose code LLVM does not optimize (`quick_site/quick_compile.py`).

Tests of models take them. The code that users get is tested kernel by kernel in every scheme, and
as a whole in five of them by `test_library.py`; with --long everywhere.
"""

from __future__ import annotations

from typing import Any

from quick_compile import unoptimized

from mlc_llm.compiler import pipeline
from mlc_llm.compiler.targets import GPU, Device


def build(module: Any, device: Device | GPU) -> Any:
    """What `pipeline.build` returns."""
    return pipeline.build(module, unoptimized(device))

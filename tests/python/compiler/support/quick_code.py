"""Libraries that are compiled quickly, in small tiles and not optimized by LLVM
(`quick_site/quick_compile.py`).

Tests of models take them. The code that users get is tested kernel by kernel in every scheme, and
as a whole in three of them by `test_library.py`; with --long everywhere.
"""

from __future__ import annotations

from dataclasses import replace
from typing import Any

from quick_compile import unoptimized

from mlc_llm.compiler import pipeline
from mlc_llm.compiler.library import LibrarySpec, build_module


def build(spec: LibrarySpec, family: Any) -> Any:
    """What `pipeline.build` returns."""
    spec = replace(spec, device=unoptimized(spec.device))
    return pipeline.build(build_module(spec, family), spec.device)

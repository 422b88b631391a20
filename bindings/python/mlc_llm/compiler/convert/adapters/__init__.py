"""LoRA adapters: small changes of a model's weights, in the formats of PEFT, mlx-lm and GGUF.

adapter = open_adapter(Path("my-adapter"))
merge = Merge([(adapter, 1.0)], family, config)  # then `SourceRows` gives the merged weights
"""

from __future__ import annotations

from mlc_llm.compiler.convert.adapters.factors import Adapter, Factors
from mlc_llm.compiler.convert.adapters.formats import open_adapter
from mlc_llm.compiler.convert.adapters.merge import Merge
from mlc_llm.compiler.convert.adapters.run_time import write_run_time

__all__ = ["Adapter", "Factors", "Merge", "open_adapter", "write_run_time"]

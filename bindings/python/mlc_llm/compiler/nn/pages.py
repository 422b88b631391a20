"""The key/value pages of one layer: how one lies in memory, and how it is copied."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from tvm import relax

from mlc_llm.compiler.kernels.common.attention_shape import AttentionShape

if TYPE_CHECKING:
    from mlc_llm.compiler.nn.builder import Builder, Input


@dataclass(frozen=True)
class Pages:
    """`shape` is that of the attention that writes them; `kernels` has the device's copies."""

    shape: AttentionShape
    kernels: Any

    def input(self) -> Input:
        """As an argument of a function."""
        from mlc_llm.compiler.nn.builder import Input

        return Input(("num_pages", *self.shape.page_shape), self.shape.page_dtype)

    def describe(self) -> dict[str, Any]:
        """For the library's metadata."""
        return {
            "page_shape": list(self.shape.page_shape),
            "slot_runs": [list(run) for run in self.shape.slot_runs],
            "dtype": self.shape.page_dtype,
            "sliding_window_size": self.shape.sliding_window,
        }

    def copy(self, nn: Builder, source: Any, destination: Any, pages: Any) -> relax.Var:
        """Copies whole pages; the result is the tensor of pages itself."""
        shape = self.shape.of_pages
        kernel = nn.kernel("copy_pages", shape, lambda: self.kernels.copy_pages(shape))
        own = nn.block.emit(pages)
        return nn.call_in_place(kernel, [source, destination, own], [2], [own.ty])

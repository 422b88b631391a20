"""Memory that layers keep between steps: key/value pages, and states of fixed size."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

from tvm import relax

from mlc_llm.compiler.kernels.common.attention_shape import AttentionShape

if TYPE_CHECKING:
    from mlc_llm.compiler.nn.builder import Batch, Builder, Input


@dataclass(frozen=True)
class State:
    """A tensor of a recurrent layer's state. Each slot holds one."""

    layer: int
    shape: tuple[int, ...]
    dtype: str = "float32"

    def input(self) -> Input:
        """As an argument of a function."""
        from mlc_llm.compiler.nn.builder import Input

        return Input(("num_states", *self.shape), self.dtype)

    def describe(self) -> dict[str, Any]:
        """For the library's metadata."""
        return {"layer": self.layer, "shape": list(self.shape), "dtype": self.dtype}


@dataclass
class Pages:
    """The pages of one layer. `shape`: the shape of the attention that writes them. `kernels`: the
    device's module with `copy_pages`. `window`: the largest window of the layers that read them;
    -1: they read all positions."""

    shape: AttentionShape
    kernels: Any
    window: int

    def widen(self, window: int) -> None:
        """Adds a layer that reads these pages with this window."""
        self.window = -1 if -1 in (window, self.window) else max(window, self.window)

    def input(self, count: str) -> Input:
        """As an argument of a function; `count`: the run-time size that is their number."""
        from mlc_llm.compiler.nn.builder import Input

        return Input((count, *self.shape.page_shape), self.shape.element_dtype)

    def describe(self) -> dict[str, Any]:
        """For the library's metadata."""
        return {
            "page_shape": list(self.shape.page_shape),
            "slot_runs": [list(run) for run in self.shape.slot_runs],
            "dtype": self.shape.element_dtype,
            "sliding_window_size": self.window,
        }

    def copy(self, nn: Builder, source: Any, destination: Any, pages: Any) -> relax.Var:
        """Copies whole pages. Returns the tensor `pages`, written in place."""
        shape = self.shape.of_pages
        kernel = nn.kernel("copy_pages", shape, lambda: self.kernels.copy_pages(shape))
        own = nn.block.emit(pages)
        return nn.call_in_place(kernel, [source, destination, own], [2], [own.ty])

    def copy_slots(self, nn: Builder, batch: Batch, pages: relax.Var) -> relax.Var:
        """Copies slots to which branches of a token tree go on, in place."""
        shape = self.shape.of_pages
        kernel = nn.kernel("copy_slots", shape, lambda: self.kernels.copy_slots(shape))
        args = [batch.copy_source, batch.copy_destination, pages]
        return nn.call_in_place(kernel, args, [2], [pages.ty])


WINDOWED = "windowed_"  # before the names of inputs for the table of layers with a window


def table_of(pages: Pages, all_pages: list[Pages]) -> str:
    """What is before the names of the inputs that are the pages' block table. Layers with a window
    have their own one if other layers read all positions."""
    is_apart = pages.window > 0 and any(other.window < 0 for other in all_pages)
    return WINDOWED if is_apart else ""


def tables_of(all_pages: list[Pages]) -> list[str]:
    return sorted({"", *(table_of(pages, all_pages) for pages in all_pages)})


def page_inputs(all_pages: list[Pages]) -> list[Input]:
    """The pages of all layers, as an argument of a function."""
    return [pages.input(f"num_{table_of(pages, all_pages)}pages") for pages in all_pages]


def with_table(batch: Batch, table: str) -> Batch:
    """The batch for a layer with this block table."""
    if not table:
        return batch
    return replace(
        batch,
        slots=batch.windowed_slots,
        page_indices=batch.windowed_indices,
        copy_source=batch.windowed_copy_source,
        copy_destination=batch.windowed_copy_destination,
    )

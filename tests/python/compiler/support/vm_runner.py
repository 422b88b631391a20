"""Runs a model library through TVM's own virtual machine, for tests and measurements.

    runner = Runner.open(library, folder_of_weights)
    with_history = runner.forward([("a", [1, 2, 3])])     # logits (3, vocabulary)
    runner.fork("a", "b")

The product runs libraries in the C++ core; this is the short way to look at one from Python. Pages
are handed out in an odd order on purpose, and are never cleared.
"""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np
import tvm

from mlc_llm.compiler.library_calls import LibraryCalls
from mlc_llm.compiler.stored_weights import laid_out, read_weights

Array = np.ndarray[Any, Any]


class Runner:
    def __init__(
        self, module: Any, weights: Mapping[str, Array], *, num_pages: int = 64, part: str = ""
    ) -> None:
        """`module`: of the library, or the machine of another runner. `part`: "draft" for
        the part that drafts."""
        is_open = isinstance(module, tvm.relax.VirtualMachine)
        self.vm = module if is_open else tvm.relax.VirtualMachine(module, tvm.cpu())
        self.metadata = json.loads(str(self.vm["_metadata"]()))
        params = self.metadata["params"]
        if part:
            self.metadata = self.metadata[part]
            params = [*params, *self.metadata["params"]]
        self.call = LibraryCalls(self.vm, self.metadata, f"{part}_" if part else "")
        self.params = [self._param(spec, weights) for spec in params]
        cache = self.metadata["kv_cache"]
        self.page_size = cache["page_size"]
        self.pages = [
            tvm.runtime.tensor(_never_written((num_pages, *layer["page_shape"]), layer["dtype"]))
            for layer in cache["layers"]
        ]
        self.states = [
            tvm.runtime.tensor(np.full((num_pages, *state["shape"]), np.nan, state["dtype"]))
            for state in self.metadata.get("states", [])
        ]
        self._state_slots: dict[str, int] = {}
        self._num_pages = num_pages
        self._free = [*range(0, num_pages, 2), *range(1, num_pages, 2)]
        self._tables: dict[str, list[int]] = {}
        self._lengths: dict[str, int] = {}

    @classmethod
    def open(cls, library: Path, weights: Path | Mapping[str, Array], **options: Any) -> Runner:
        found = read_weights(weights) if isinstance(weights, Path) else weights
        return cls(tvm.runtime.load_module(str(library)), found, **options)

    def _param(self, spec: Mapping[str, Any], weights: Mapping[str, Array]) -> Any:
        value = weights[spec["name"]]
        if str(value.dtype).startswith("float8"):  # which the core takes for bytes
            value = value.view(np.uint8)
        if "rows" in spec:
            count = spec["strips"][0] if "strips" in spec else spec["shape"][0]
            value = value[spec["rows"][0] :][:count]
        if "columns" in spec:
            count = spec["strips"][0] if "strips" in spec else spec["shape"][-1]
            value = value[..., spec["columns"][0] :][..., :count]
        value = laid_out(value, spec["shape"], spec.get("strips"))
        found = (tuple(spec["shape"]), spec["dtype"])
        assert (value.shape, str(value.dtype)) == found, f"{spec['name']}: {value.shape}"
        return tvm.runtime.tensor(np.ascontiguousarray(value))

    def forward(
        self,
        work: Sequence[tuple[str, Sequence[int]]],
        *,
        last_only: bool = False,
        **inputs: Any,
    ) -> Array:
        """Appends tokens to sequences, in one batch; logits of all rows, or of each one's last.
        `inputs`: further inputs of the step, by name."""
        return self.step(work, last_only=last_only, **inputs)["logits"]

    def step(
        self,
        work: Sequence[tuple[str, Sequence[int]]],
        *,
        last_only: bool = False,
        **inputs: Any,
    ) -> dict[str, Array]:
        """All results of such a step."""
        rows: list[tuple[int, int, int]] = []  # position, slot, sequence
        indptr, indices, ends = [0], [], []
        for number, (name, tokens) in enumerate(work):
            start = self._lengths.get(name, 0)
            table = self._grow(name, start + len(tokens))
            positions = range(start, start + len(tokens))
            rows += [(p, self._slot(table, p), number) for p in positions]
            indices += table
            indptr.append(len(indices))
            ends.append(len(rows) - 1)
        ids = [token for _, tokens in work for token in tokens]
        positions, slots, sequence = zip(*rows, strict=True)
        given = {"positions": positions, "slots": slots, "row_sequence": sequence}
        given |= {"page_indptr": indptr, "page_indices": indices, **self._unset(rows), **inputs}
        given["windowed_slots"] = [self._windowed_slot(slot) for slot in slots]
        given["windowed_indices"] = [self._windowed(page) for page in indices]
        given |= self._steps(work) if self.states else {}
        given.setdefault("logit_rows", ends if last_only else range(len(rows)))
        embedded = self.call("embed", tokens=ids, params=self.params)
        kept = {"kv_pages": self.pages, "states": self.states, "params": self.params}
        made = self.call("batch_prefill", **embedded, **given, **kept)
        return {name: value.numpy() for name, value in made.items()}

    def head(self, vectors: Array) -> Array:
        """What a head makes of vectors."""
        return self.call("get_logits", vectors=vectors, params=self.params)["logits"].numpy()

    def fused(self, vectors: Array) -> Array:
        """What a layer that drafts reads of chosen layers' states."""
        return self.call("fuse_states", vectors=vectors, params=self.params)["states"].numpy()

    def _unset(self, rows: Sequence[tuple[int, int, int]]) -> dict[str, Any]:
        """What the core gives where a step leaves an input out."""
        positions = [row[0] for row in rows]
        return {
            "token_types": [0] * len(rows),
            "last_seen": positions,
            "rotary": np.repeat(np.array(positions, np.int32)[:, None], 3, 1),
        }

    def _steps(self, work: Sequence[tuple[str, Sequence[int]]]) -> dict[str, list[int]]:
        """Each sequence keeps the state behind its last row, in a slot of its own."""
        source, indptr, writes = [], [0], []
        for name, tokens in work:
            source.append(self._state_slots.get(name, -1))
            slot = self._state_slots.setdefault(name, len(self._state_slots))
            writes += [*[-1] * (len(tokens) - 1), slot]
            indptr.append(len(writes))
        return {"state_source": source, "row_indptr": indptr, "state_writes": writes}

    def fork(self, source: str, target: str) -> None:
        """The target shares full pages and gets a copy of the last, unfinished one."""
        length = self._lengths[source]
        if self.states:
            slot = self._state_slots.setdefault(target, len(self._state_slots))
            for i, state in enumerate(self.states):
                values = state.numpy().copy()
                values[slot] = values[self._state_slots[source]]
                self.states[i] = tvm.runtime.tensor(values)
        shared = length // self.page_size
        self._tables[target] = self._tables[source][:shared]
        self._lengths[target] = shared * self.page_size
        if length % self.page_size:
            self._grow(target, length)
            pair = self._tables[source][shared], self._tables[target][shared]
            pages = dict(zip(("source", "destination"), ([page] for page in pair), strict=True))
            pages |= {f"windowed_{key}": [self._windowed(*page)] for key, page in pages.items()}
            self.call("copy_kv_pages", **pages, kv_pages=self.pages)
        self._lengths[target] = length

    def drop(self, name: str) -> None:
        """Forgets a sequence that shares no pages."""
        self._free += self._tables.pop(name, [])
        self._lengths.pop(name, None)

    def _grow(self, name: str, length: int) -> list[int]:
        table = self._tables.setdefault(name, [])
        while len(table) * self.page_size < length:
            table.append(self._free.pop())
        self._lengths[name] = length
        return table

    def _windowed(self, page: int) -> int:
        """The page of layers with a window for the same positions, if these have their own table:
        another one, so that a layer that mixes the tables reads what was never written."""
        return self._num_pages - 1 - page

    def _windowed_slot(self, slot: int) -> int:
        page, offset = divmod(slot, self.page_size)
        return self._windowed(page) * self.page_size + offset

    def _slot(self, table: list[int], position: int) -> int:
        page, offset = divmod(position, self.page_size)
        return table[page] * self.page_size + offset


def _never_written(shape: tuple[int, ...], dtype: str) -> Array:
    """NaN, also as the scales of codes."""
    return np.full(shape, 0x7FC00000 if dtype == "uint32" else np.nan, dtype)

"""The fixtures of `tests/fixtures/towers`: a config, drawn weights, and the rows on which programs
that are not ours agree; and ours for them."""

from __future__ import annotations

import base64
import json
import sys
from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from functools import cache, cached_property
from pathlib import Path
from typing import Any

import numpy as np
import quick_code
import tiny_families
from vm_runner import Runner

from mlc_llm.compiler import models, quantization, reference
from mlc_llm.compiler.compile import library_spec
from mlc_llm.compiler.convert.weights import as_in_files, check_tensors, convert_weights
from mlc_llm.compiler.layers.pictures import with_pictures
from mlc_llm.compiler.models.text_part import text_part
from mlc_llm.compiler.random_weights import draw, unfolded
from mlc_llm.compiler.spec.tower import TowerSpec
from mlc_llm.compiler.spec.tower_weights import with_tower

FOLDER = Path(__file__).parents[3] / "fixtures/towers"
sys.path.append(str(FOLDER))

import tower_lfm2_vl  # noqa: E402, F401
import tower_numpy  # noqa: E402

Array = np.ndarray[Any, Any]
LIBRARY_PATCHES = 1024  # for which a library is compiled, if a view does not have more
NAMES = sorted(path.stem for path in FOLDER.glob("*.json"))


@dataclass(frozen=True)
class Fixture:
    content: dict[str, Any]

    @property
    def config(self) -> dict[str, Any]:
        found: dict[str, Any] = self.content["config"]
        return found

    @cached_property
    def weights(self) -> dict[str, Array]:
        shapes = unfolded(self.content["tensors"])
        return draw(shapes, self.content["seed"], self.content["norm_mean"])

    @property
    def pixels(self) -> list[Array]:
        return tower_numpy.drawn_pixels(self.config, self.content["views"], self.content["seed"])

    @property
    def rows(self) -> Array:
        values = np.frombuffer(base64.b64decode(self.content["rows"]), "<i2")
        return values.reshape(self.content["shape"]) * self.content["unit"]

    @property
    def chat(self) -> dict[str, Any]:
        text = text_part(self.config)
        assert text is not None
        return {**text, "quantization": "q0f32", "prefill_chunk_size": 64}

    @property
    def tower(self) -> TowerSpec:
        found = library_spec(self.chat, device="cpu").tower
        assert found is not None
        return found

    def params(self, scheme: str = "q0f32", tower: str | None = None) -> dict[str, Array]:
        """By the converter's own way. `tower`: a `tower_quantization`."""
        source, text = tiny_families.Source(self.weights), text_part(self.config)
        assert text is not None
        family = models.get(text["model_type"])
        ours = with_tower(family.weight_map(models.config_from_hf(text)), self.tower)
        weights = as_in_files(ours, source.tensors())
        chosen = quantization.with_tower(quantization.get(scheme), tower)
        check_tensors(weights, source.tensors(), chosen)
        collector = tiny_families.Collector()
        convert_weights(source, weights, chosen, collector, lambda _: None)
        return collector.arrays

    def answered(self, prompt: list[int], rows: Array, count: int) -> list[int]:
        """NumPy's greedy tokens. A prompt's -1 is the next one of `rows`, which are further words
        of the vocabulary."""
        text = text_part(self.config)
        assert text is not None
        family = models.get(text["model_type"])
        spec: Any = family.decoder(models.config_from_hf(text))
        params = dict(self.params())
        name = f"{spec.names.get('embedding', 'model.embed_tokens')}.weight"
        words = len(params[name])
        params[name] = np.concatenate([params[name], rows / spec.embedding_scale])
        inputs = "model.embed_tokens_per_layer.weight"  # layers get those of the token 0
        if inputs in params:
            first = params[inputs][:1].repeat(len(rows), 0)
            params[inputs] = np.concatenate([params[inputs], first])
        next_row = iter(range(words, words + len(rows)))
        ids = [token if token >= 0 else next(next_row) for token in prompt]
        sees = self.tower.rows.see_each_other
        spec = with_pictures(spec, self.tower.rows) if sees else spec
        for _ in range(count):
            step = {"last_seen": np.array(tower_numpy.last_seen(ids, words))} if sees else {}
            ids.append(int(reference.logits(spec, params, ids, step=step)[-1][:words].argmax()))
        return ids[-count:]

    def runner(self, scheme: str = "q0f32", tower: str | None = None) -> Runner:
        chat = {**self.chat, "quantization": scheme, quantization.TOWER: tower}
        spec = library_spec(chat, device="cpu")
        most = self.inputs(self.pixels)["view_indptr"][-1]
        if most > LIBRARY_PATCHES:  # all views go through the tower in one call
            spec = replace(spec, tower=replace(self.tower, largest_view=int(most)))
        module = quick_code.build(spec, models.get(self.chat["model_type"]))
        return Runner(module, self.params(scheme, tower), num_pages=16)

    def inputs(self, pixels: Sequence[Array]) -> dict[str, Array]:
        """The inputs of `image_embed`: patches window by window and in a window block by block, a
        class row before each view; the learned rows are the last ones that are wanted."""
        spec, made = self.tower, Inputs()
        for view in pixels:
            made.add(view, spec)
        learned = -1 - np.arange(spec.learned_rows)
        queries = np.arange(spec.queries * len(pixels), dtype=np.int32)
        given = {
            "patches": np.concatenate(made.patches).astype(np.float32),
            "patch_positions": np.concatenate(made.positions).astype(np.int32),
            "view_indptr": np.array(made.views, np.int32),
            "first_patches": np.concatenate([*made.first, learned]).astype(np.int32),
            **({"first_patches": queries} if spec.queries else {}),
        }
        if spec.table != "exact":
            given["patch_grids"] = np.concatenate(made.grids).astype(np.int32)
        if spec.windows is not None:
            given["window_indptr"] = np.array(made.windows, np.int32)
        return given


@dataclass(frozen=True)
class Inputs:
    """Those of the views so far."""

    patches: list[Array] = field(default_factory=list)
    positions: list[Array] = field(default_factory=list)
    grids: list[Array] = field(default_factory=list)
    first: list[Array] = field(default_factory=list)
    views: list[int] = field(default_factory=lambda: [0])
    windows: list[int] = field(default_factory=lambda: [0])

    def add(self, view: Array, spec: TowerSpec) -> None:
        size, merge, begin = spec.patch_size, spec.merge, self.views[-1]
        grid = view.shape[1] // size, view.shape[2] // size
        row, column = (place.reshape(-1) for place in np.indices(grid))
        side = spec.window or max(grid)
        keys = [row // side, column // side, row // merge, column // merge, row, column]
        order = np.lexsort(keys[::-1])
        patches = tower_numpy.patches(view, size, channel_last=spec.patch_is_linear)[order]
        positions = np.stack([row, column], 1)[order]
        if spec.class_row:
            patches = np.concatenate([np.zeros_like(patches[:1]), patches])
            positions, begin = np.concatenate([[[-1, -1]], positions]), begin + 1
        self.patches.append(patches)
        self.positions.append(positions)
        self.grids.append(np.tile(grid, (len(positions), 1)))
        is_first = (row % merge == 0) & (column % merge == 0)
        self.first.append(begin + np.argsort(order)[is_first])  # row by row of the blocks
        window = (row // side * 1000 + column // side)[order]
        ends = np.flatnonzero(np.diff(window, append=-1)) + 1
        self.windows.extend(begin + int(end) for end in ends)
        self.views.append(begin + len(order))


@cache
def load(name: str) -> Fixture:
    return Fixture(json.loads((FOLDER / f"{name}.json").read_text()))


def embedded(runner: Runner, inputs: dict[str, Array]) -> Array:
    found: Array = runner.call("image_embed", **inputs, params=runner.params)["rows"].numpy()
    return found

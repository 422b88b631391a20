"""The fixtures of `tests/fixtures/towers`: a config, drawn weights, and the rows on which programs
that are not ours agree; and ours for them."""

from __future__ import annotations

import base64
import json
import sys
from dataclasses import dataclass
from functools import cache, cached_property
from pathlib import Path
from typing import Any

import numpy as np
import quick_code
import tiny_families
from vm_runner import Runner

from mlc_llm.compiler import models, quantization
from mlc_llm.compiler.compile import library_spec
from mlc_llm.compiler.convert.weights import as_in_files, check_tensors, convert_weights
from mlc_llm.compiler.library import build_module
from mlc_llm.compiler.models.text_part import text_part
from mlc_llm.compiler.random_weights import draw, unfolded
from mlc_llm.compiler.spec.tower import TowerSpec, with_tower

FOLDER = Path(__file__).parents[3] / "fixtures/towers"
sys.path.append(str(FOLDER))

import tower_numpy  # noqa: E402

Array = np.ndarray[Any, Any]
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
    def pixels(self) -> Array:
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

    def params(self, scheme: str = "q0f32") -> dict[str, Array]:
        """By the converter's own way."""
        source, text = tiny_families.Source(self.weights), text_part(self.config)
        assert text is not None
        family = models.get(text["model_type"])
        ours = with_tower(family.weight_map(models.config_from_hf(text)), self.tower)
        weights = as_in_files(ours, source.tensors())
        chosen = quantization.get(scheme)
        check_tensors(weights, source.tensors(), chosen)
        collector = tiny_families.Collector()
        convert_weights(source, weights, chosen, collector, lambda _: None)
        return collector.arrays

    def runner(self, scheme: str = "q0f32") -> Runner:
        spec = library_spec({**self.chat, "quantization": scheme}, device="cpu")
        module = quick_code.build(
            build_module(spec, models.get(self.chat["model_type"])), spec.device
        )
        return Runner(module, self.params(scheme), num_pages=16)

    def inputs(self, pixels: Array) -> dict[str, Array]:
        """The inputs of `image_embed`: patches block by block, a class row before each view."""
        spec = self.tower
        vision, merge = self.config["vision_config"], spec.merge
        side = vision["image_size"] // vision["patch_size"]
        order = np.arange(side * side).reshape(side // merge, merge, side // merge, merge)
        order = order.transpose(0, 2, 1, 3).reshape(-1)
        patches = [tower_numpy.patches(view, vision["patch_size"])[order] for view in pixels]
        positions = np.stack([order // side, order % side], 1)
        first = np.arange(0, side * side, merge * merge)
        if spec.class_row:
            patches = [np.concatenate([np.zeros_like(one[:1]), one]) for one in patches]
            positions, first = np.concatenate([[[-1, -1]], positions]), first + 1
        count, views = len(positions), len(pixels)
        starts = count * np.arange(views)
        return {
            "patches": np.concatenate(patches).astype(np.float32),
            "patch_positions": np.tile(positions, (views, 1)).astype(np.int32),
            "view_indptr": (count * np.arange(views + 1)).astype(np.int32),
            "first_patches": (first + starts[:, None]).reshape(-1).astype(np.int32),
        }


@cache
def load(name: str) -> Fixture:
    return Fixture(json.loads((FOLDER / f"{name}.json").read_text()))


def embedded(runner: Runner, inputs: dict[str, Array]) -> Array:
    found: Array = runner.call("image_embed", **inputs, params=runner.params)["rows"].numpy()
    return found

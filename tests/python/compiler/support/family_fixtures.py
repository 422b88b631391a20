"""The fixtures of `tests/fixtures/families`: a config, random weights, and logits on which two
programs that are not ours agree."""

from __future__ import annotations

import json
import sys
from dataclasses import replace
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np
import quick_code
import tiny_families
from vm_runner import Runner

from mlc_llm.compiler import family_check, models
from mlc_llm.compiler.compile import library_spec
from mlc_llm.compiler.convert.weights import as_in_files
from mlc_llm.compiler.spec import DecoderSpec, TensorMap, WeightSource, weight_map
from mlc_llm.compiler.spec.transforms import Normalized, PlusOne, Unpaired

FOLDER = Path(__file__).parents[3] / "fixtures/families"
sys.path.insert(0, str(FOLDER))

Array = np.ndarray[Any, Any]
NAMES = sorted(path.stem for path in FOLDER.glob("*.json"))


class Fixture(family_check.Fixture):
    """With what tests of our own families need besides."""

    def params(self, scheme: str = "q0f32") -> dict[str, Array]:
        """Our parameters, by the converter's own way."""
        return tiny_families.converted(tiny_families.Source(self.weights), self.config, scheme)

    def runner(self, scheme: str = "q0f32", opt: str = "O2", **more: Any) -> Runner:
        """A compiled library for the CPU with the parameters."""
        family = models.model_type_of(self.config)
        chat = {**self.config, "quantization": scheme, "prefill_chunk_size": 64, **more}
        spec = library_spec({**chat, "model_type": family}, device="cpu", opt=opt)
        module = quick_code.build(spec, self.family)
        return Runner(module, self.params(scheme), num_pages=16)

    def params_without(self, kind: type) -> dict[str, Array] | None:
        """The same without the transforms of a kind; None if the weight map has none."""
        tensors, found = self.family.tensors(self.typed), False

        def kept(transforms: Any) -> tuple[Any, ...]:
            nonlocal found
            found = found or any(isinstance(one, kind) for one in transforms)
            return tuple(one for one in transforms if not isinstance(one, kind))

        sources = {
            role: tuple(replace(s, transforms=kept(s.transforms)) for s in some)
            for role, some in tensors.sources.items()
        }
        changed = replace(tensors, sources=sources, norm=kept(tensors.norm))
        return _read(self.spec, changed, self.weights) if found else None

    def weight_map(self) -> list[WeightSource]:
        """With the names of the fixture's files."""
        return in_files(self.family.weight_map(self.typed), self.weights)


def in_files(weights: list[WeightSource], arrays: dict[str, Array]) -> list[WeightSource]:
    return as_in_files(weights, tiny_families.Source(arrays).tensors())


def _read(spec: DecoderSpec, tensors: TensorMap, weights: dict[str, Array]) -> dict[str, Array]:
    made = {}
    for weight in in_files(weight_map(spec, tensors), weights):
        parts = []
        for part in weight.parts:
            value = weights[part.tensor]
            value = value if part.expert is None else value[part.expert]
            for transform in part.transforms:
                value = transform.apply(value)
            parts.append(value)
        made[weight.name] = np.concatenate(parts).reshape(weight.shape)
    return made


@cache
def stored(name: str) -> dict[str, Any]:
    """The fixture's file."""
    found: dict[str, Any] = json.loads((FOLDER / f"{name}.json").read_text(encoding="utf-8"))
    return found


@cache
def load(name: str) -> Fixture:
    return Fixture.of(stored(name))


TRANSFORMS = {"pairs": Unpaired, "plus_one": PlusOne, "normalized": Normalized}

"""Compares a family with what other programs compute, for the tests of a family.

    check_family(Path("tests/my_model.json"), tmp_path)

The fixture has the form that `tests/fixtures/families/README.md` describes: the config, the shapes
of the tensors, the seed of their values, a prompt with its logits, and greedy tokens. This needs
what compiles a model, and the engine.
"""

from __future__ import annotations

import base64
import json
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Any

import numpy as np
from typing_extensions import Self

from mlc_llm.compiler import models, reference
from mlc_llm.compiler.random_weights import draw, unfolded
from mlc_llm.compiler.spec import DecoderSpec
from mlc_llm.compiler.stored_weights import read_weights

Array = np.ndarray[Any, Any]
TOLERANCE = 1e-3  # of the largest logit
LOGPROBS = 5e-3  # of the engine, whose rows are float32


@dataclass(frozen=True)
class Fixture:
    """A tiny model, and what other programs compute with it."""

    config: dict[str, Any]
    ids: list[int]
    greedy: list[int]
    logits: Array
    drawn: tuple[dict[str, Any], int, int]  # what `random_weights.draw` takes, tensors folded

    @classmethod
    def of(cls, found: dict[str, Any]) -> Self:
        """Of the content of its file."""
        codes = np.frombuffer(base64.b64decode(found["logits"]), "<i2")
        return cls(
            config=found["config"],
            ids=found["ids"],
            greedy=found["greedy"],
            logits=codes.reshape(len(found["ids"]), -1) * found["unit"],
            drawn=(found["tensors"], found["seed"], found["norm_mean"]),
        )

    @cached_property
    def weights(self) -> dict[str, Array]:
        """By the names of Hugging Face's files."""
        tensors, seed, norm_mean = self.drawn
        return draw(unfolded(tensors), seed, norm_mean)

    @property
    def family(self) -> models.ModelFamily:
        return models.get(models.model_type_of(self.config))

    @property
    def typed(self) -> Any:
        return models.config_from_hf(self.config)

    @property
    def spec(self) -> DecoderSpec:
        return self.family.decoder(self.typed)


def check_family(file: Path, folder: Path) -> None:
    """Raises an AssertionError that says what differs: the config's way through our own config,
    the tensors, the logits by NumPy, or the compiled model's. The model is made in `folder`."""
    fixture = Fixture.of(json.loads(file.read_text(encoding="utf-8")))
    again = fixture.family.config_class.from_dict(fixture.typed.to_dict())
    assert fixture.family.decoder(again) == fixture.spec, "to_dict and from_dict change the config"
    read = {part.tensor for weight in _in_files(fixture) for part in weight.parts}
    unused = fixture.family.unused
    given = {name for name in fixture.weights if not unused or unused not in name}
    other = sorted(read ^ given)
    assert not other, f"tensors of the files or of the family alone: {', '.join(other[:6])}"
    made = written(fixture, folder)
    params = read_weights(made)
    logits = reference.logits(fixture.spec, params, fixture.ids)
    apart = float(np.abs(logits - fixture.logits).max() / np.abs(fixture.logits).max())
    assert apart < TOLERANCE, f"NumPy's logits are {apart:.2%} of the largest one apart"
    _check_the_engine(fixture, made)


def _in_files(fixture: Fixture) -> list[models.WeightSource]:
    from mlc_llm.compiler.convert.source import TensorInfo
    from mlc_llm.compiler.convert.weights import as_in_files

    tensors = {name: TensorInfo(name, a.shape, "F32") for name, a in fixture.weights.items()}
    return as_in_files(fixture.family.weight_map(fixture.typed), tensors)


def written(fixture: Fixture, folder: Path, quantization: str = "q0f32") -> Path:
    """The model as a Hugging Face folder, and the -MLC folder that the converter makes of it."""
    from safetensors.numpy import save_file

    from mlc_llm.compiler.convert import convert_model, open_source

    folder.mkdir(parents=True, exist_ok=True)
    ends = {"bos_token_id": 0, "eos_token_id": 0}
    (folder / "config.json").write_text(json.dumps({**fixture.config, **ends}), "utf-8")
    save_file(fixture.weights, folder / "model.safetensors")
    (folder / "tokenizer.json").write_text(json.dumps(_tokenizer(fixture.logits.shape[1])), "utf-8")
    (folder / "tokenizer_config.json").write_text('{"chat_template": "{{ messages }}"}', "utf-8")
    convert_model(open_source(folder), folder / "mlc", quantization=quantization)
    return folder / "mlc"


def _tokenizer(count: int) -> dict[str, Any]:
    """A tokenizer whose tokens all have different texts."""
    byte_level = {"type": "ByteLevel", "add_prefix_space": False, "trim_offsets": True}
    model = {"type": "BPE", "vocab": {f"<{i}>": i for i in range(count)}, "merges": []}
    steps = {"normalizer": None, "pre_tokenizer": byte_level, "decoder": byte_level}
    return {"version": "1.0", "added_tokens": [], "model": model, **steps}


def _check_the_engine(fixture: Fixture, model: Path) -> None:
    """Its greedy tokens, and the log probabilities of a prompt's tokens."""
    from mlc_llm import MLCEngine
    from mlc_llm.compiler.compile import compile_model, read_chat_config

    library = model.parent / "model.so"
    compile_model(read_chat_config(model), output=library, device="cpu")
    options: Any = {"temperature": 0, "logprobs": 1, "debug_config": {"ignore_eos": True}}
    ids, count = fixture.ids, len(fixture.greedy)
    with MLCEngine(str(model), model_lib=str(library), device="cpu") as engine:
        half: Any = engine.completions.create(
            prompt=ids[: len(ids) // 2], max_tokens=count, **options
        )
        whole: Any = engine.completions.create(prompt=ids, max_tokens=1, echo=True, **options)
    said = half.choices[0].logprobs.tokens
    wanted = [f"<{token}>" for token in fixture.greedy]
    assert said == wanted, f"the engine's greedy tokens are {''.join(said)}, not {''.join(wanted)}"
    shifted = fixture.logits - fixture.logits.max(-1, keepdims=True)
    logprobs = shifted - np.log(np.exp(shifted).sum(-1, keepdims=True))
    expected = [float(logprobs[i, token]) for i, token in enumerate(ids[1:])]
    found = np.array(whole.choices[0].logprobs.token_logprobs[1 : len(ids)], np.float64)
    apart = float(np.abs(found - expected).max() / np.abs(expected).max())
    assert apart < LOGPROBS, f"the engine's log probabilities are {apart:.2%} apart"

"""Reads what drafts for a model out of a folder of its own, and adds it to the model's source.

    draft = Draft(Path("medusa-vicuna-7b"))
    source = WithDraft(source, draft)

Medusa's files hold `<head>.<block>.linear.{weight,bias}` and `<head>.<blocks>.weight`, with or
without `medusa_head.` in front. Eagle's hold `fc.weight` and one layer, `layers.0.` or `midlayer.`;
those of Eagle 3 also `norm.weight` and `lm_head.weight`. There may be `d2t` besides: the output
layers then have rows for some tokens only, and row i is that of token i + d2t[i]. Those of
Gemma 4's assistant are whole models, with `pre_projection.weight` and `post_projection.weight`.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import numpy as np

from mlc_llm.compiler import models
from mlc_llm.compiler.convert import assistant
from mlc_llm.compiler.convert.json_files import read_json
from mlc_llm.compiler.convert.safetensors_file import SafetensorsFile
from mlc_llm.compiler.convert.source import Array, ModelSource, TensorInfo
from mlc_llm.compiler.drafts import AssistantSpec, EagleSpec, MedusaSpec
from mlc_llm.compiler.drafts.assistant import FILES as ASSISTANT
from mlc_llm.compiler.drafts.eagle import FILES as EAGLE
from mlc_llm.compiler.drafts.medusa import MOST_HEADS
from mlc_llm.errors import CorruptFileError, NotFoundError, UnsupportedError

PARAM = "draft"
MEDUSA = "medusa_head."
_OUTPUT = re.compile(r"medusa_head\.(\d+)\.(\d+)\.weight")
_MAP = "d2t"
# Names of Eagle's files before ours. The embedding is a copy of the model's.
_EAGLE_NAMES = (
    (re.compile(r"(?:model\.)?(?:midlayer|layers\.0)\."), f"{EAGLE}layer."),
    (re.compile(r"(?:model\.)?(?=(?:fc|norm|lm_head)\.)"), EAGLE),
)
# Fields of Eagle's configs that are none of its layer's; the first ones may be in `eagle_config`.
_CHOSEN, _NORMED = "eagle_aux_hidden_state_layer_ids", "norm_before_residual"
_MORE_NORMS = ("norm_before_fc", "fc_norm", "norm_output")  # of Eagle 3.1
_OWN = (_CHOSEN, _NORMED, *_MORE_NORMS, "eagle_config", "bias", "draft_vocab_size")
_ORDERING = f"{ASSISTANT}masked_embedding.token_ordering"
_LAYER = "transformer_layer_config"  # of vLLM's speculators: a config of the layer alone


class Draft:
    """The tensors of a folder by our names, and what they are."""

    def __init__(self, folder: Path, num_layers: int = 0) -> None:
        """`num_layers`: of the model."""
        self.folder = folder
        self._files: dict[str, tuple[SafetensorsFile, str]] = {}  # and its name of the tensor
        files = [SafetensorsFile(path) for path in sorted(folder.glob("*.safetensors"))]
        if not files:
            raise _no_weights(folder)
        config = read_json(folder / "config.json")
        is_assistant = config.get("model_type") == assistant.MODEL_TYPE
        if str(config.get("model_type", "")).endswith("_assistant") and not is_assistant:
            message = (
                f"{folder}: {config['model_type']} is not supported; {assistant.MODEL_TYPE} is"
            )
            raise UnsupportedError(message, param=PARAM)
        named = (lambda name: f"{ASSISTANT}{name}") if is_assistant else _our_name
        for file in files:
            self._files |= {named(name): (file, name) for name in file.tensors}
        is_eagle = f"{EAGLE}fc.weight" in self._files
        self.spec: AssistantSpec | EagleSpec | MedusaSpec
        if is_assistant:
            self.spec, own = self._assistant(config), ASSISTANT
        elif is_eagle:
            self.spec, own = self._eagle(config, num_layers), EAGLE
        else:
            self.spec, own = self._medusa(config), MEDUSA
        self.tensors: dict[str, TensorInfo] = {
            name: file.tensors[theirs]
            for name, (file, theirs) in self._files.items()
            if name.startswith(own)
        }

    def read(self, name: str, start: int = 0, stop: int | None = None) -> Array:
        file, theirs = self._files[name]
        return file.read(theirs, start, stop)

    def _assistant(self, config: Mapping[str, Any]) -> AssistantSpec:
        ordering = None
        if _ORDERING in self._files:
            ordering = [int(token) for token in self._whole_numbers(_ORDERING)]
        return assistant.assistant_of(self.folder, config, ordering)

    def _medusa(self, config: Mapping[str, Any]) -> MedusaSpec:
        outputs = [m for m in map(_OUTPUT.fullmatch, self._files) if m is not None]
        heads = config.get("medusa_num_heads", len({m[1] for m in outputs}))
        blocks = config.get("medusa_num_layers", 1)
        if not outputs:
            raise UnsupportedError(
                f"{self.folder}: no Medusa heads and no Eagle layer: no tensor is called "
                f"0.{blocks}.weight, medusa_head.0.{blocks}.weight or fc.weight",
                param=PARAM,
            )
        for name, number in (("medusa_num_heads", heads), ("medusa_num_layers", blocks)):
            if type(number) is not int or not 0 < number <= MOST_HEADS:
                raise CorruptFileError(
                    f"{self.folder}: {name} must be a number from 1 to {MOST_HEADS}, not {number}",
                    param=name,
                )
        return MedusaSpec(heads=heads, blocks=blocks, tokens=self._tokens())

    def _eagle(self, config: Mapping[str, Any], num_layers: int) -> EagleSpec:
        nested = config.get("eagle_config")
        nested = nested if isinstance(nested, Mapping) else {}
        fields = {**config, **nested}
        layer = config.get(_LAYER, config)
        if not isinstance(layer, Mapping):
            raise CorruptFileError(f"{self.folder}: {_LAYER} must be an object", param=_LAYER)
        if layer.get("num_hidden_layers", 1) != 1:
            raise UnsupportedError(
                f"{self.folder}: an Eagle draft has one layer", param="num_hidden_layers"
            )
        for norm in _MORE_NORMS:
            if fields.get(norm):
                raise UnsupportedError(f"{self.folder}: {norm} is not supported", param=norm)
        is_third = f"{EAGLE}layer.hidden_norm.weight" in self._files
        family = self._family(layer)
        plain = {name: value for name, value in layer.items() if name not in _OWN}
        return EagleSpec(
            family=family,
            config=models.get(family).config_class.from_dict({**plain, "num_hidden_layers": 1}),
            chosen_layers=self._chosen(config, nested, num_layers) if is_third else (),
            tokens=self._tokens() if is_third else (),
            bias=f"{EAGLE}fc.bias" in self._files,
            normed_residual=is_third and bool(fields.get(_NORMED)),
        )

    def _family(self, layer: Mapping[str, Any]) -> str:
        """Of Eagle's layer. SpecForge's class says it where `model_type` is the model's."""
        family, classes = layer.get("model_type", "llama"), layer.get("architectures")
        if not isinstance(family, str):
            raise CorruptFileError(f"{self.folder}: model_type must be a text", param="model_type")
        is_eagle = family == "eagle"  # MLC-LLM's name
        return "llama" if is_eagle or classes == ["LlamaForCausalLMEagle3"] else family

    def _chosen(
        self, config: Mapping[str, Any], nested: Mapping[str, Any], num_layers: int
    ) -> tuple[int, ...]:
        """The layers after which Eagle 3 reads the residual. In `nested` (SGLang, SpecForge) the
        field names these, and in `config` (vLLM) the layers behind them. Without it they are those
        that the authors choose."""
        given, ahead = nested.get(_CHOSEN), 0
        if not given:
            usual = [2, num_layers // 2, num_layers - 3]
            given, ahead = config.get(_CHOSEN) or usual, 1
        is_list = isinstance(given, list) and all(type(i) is int for i in given)
        chosen = sorted({i - ahead for i in given}) if is_list else []
        if not chosen or len(chosen) < len(given) or not 0 <= chosen[0] <= chosen[-1] < num_layers:
            raise UnsupportedError(
                f"{self.folder}: an Eagle 3 layer reads the results of layers that differ; "
                f"{_CHOSEN} {given} does not name those of a model of {num_layers} layers",
                param=_CHOSEN,
            )
        return tuple(chosen)

    def _tokens(self) -> tuple[int, ...]:
        if _MAP not in self._files:
            return ()
        offsets = self._whole_numbers(_MAP)
        tokens = [int(token) for token in offsets.astype(np.int64) + np.arange(len(offsets))]
        if not tokens or min(tokens) < 0 or len(set(tokens)) < len(tokens):
            raise self._bad_map("gives tokens below 0, or one token twice")
        return tuple(tokens)

    def _whole_numbers(self, name: str) -> Array:
        file, theirs = self._files[name]
        numbers = file.read_stored(theirs)
        if numbers.ndim != 1 or not np.issubdtype(numbers.dtype, np.integer):
            raise self._bad_map("must be a list of whole numbers", theirs)
        return numbers

    def _bad_map(self, why: str, name: str = _MAP) -> CorruptFileError:
        return CorruptFileError(f"{self.folder}: tensor {name} {why}", param=name)


class WithDraft:
    """A model's source, and the tensors of what drafts for it."""

    def __init__(self, source: ModelSource, draft: Draft) -> None:
        self._source, self._draft = source, draft

    def tensors(self) -> dict[str, TensorInfo]:
        return {**self._source.tensors(), **self._draft.tensors}

    def read(self, name: str, start: int = 0, stop: int | None = None) -> Array:
        has_it = self._draft if name in self._draft.tensors else self._source
        return has_it.read(name, start, stop)

    def has_float8(self, name: str) -> bool:
        return name not in self._draft.tensors and self._source.has_float8(name)

    def __getattr__(self, name: str) -> Any:
        return getattr(self._source, name)


def _our_name(name: str) -> str:
    if name[:1].isdigit():
        return f"{MEDUSA}{name}"
    for theirs, ours in _EAGLE_NAMES:
        if found := theirs.match(name):
            return ours + name[found.end() :]
    return name


def _no_weights(folder: Path) -> NotFoundError | UnsupportedError:
    if any(folder.glob("*.pt")) or any(folder.glob("*.bin")):
        return UnsupportedError(
            f"{folder}: only torch weights (*.pt, *.bin) are here, and reading them would run code "
            "from the file; convert them to safetensors first",
            param=PARAM,
        )
    return NotFoundError(f"{folder}: no .safetensors file is here", param=PARAM)

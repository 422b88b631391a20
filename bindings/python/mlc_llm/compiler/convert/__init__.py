"""Converts a model into an `-MLC` folder: weights, `mlc-chat-config.json`, tokenizer files.

source = open_source(Path("SmolLM2"))
convert_model(source, Path("SmolLM2-MLC"), quantization="q4f32_1")
"""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, cast

from mlc_llm.compiler import models
from mlc_llm.compiler import quantization as schemes
from mlc_llm.compiler.convert.adapters import Adapter, Merge
from mlc_llm.compiler.convert.chat_config import (
    CHAT_CONFIG,
    ConfigOverrides,
    chat_config,
    token_ids,
)
from mlc_llm.compiler.convert.drafts import Draft, WithDraft
from mlc_llm.compiler.convert.embedding import embedding_metadata
from mlc_llm.compiler.convert.gguf import GGUFModel
from mlc_llm.compiler.convert.gguf_weights import DEFAULT, keeps_types, scheme_of_file
from mlc_llm.compiler.convert.hf import HuggingFaceFolder
from mlc_llm.compiler.convert.mlc_folder import MLCFolder, is_readable
from mlc_llm.compiler.convert.mlc_writer import WeightWriter, write_durably
from mlc_llm.compiler.convert.output_folder import staged_folder
from mlc_llm.compiler.convert.source import Array, ModelSource
from mlc_llm.compiler.convert.tower import check_tower_quantization, picture_fields, tower_of
from mlc_llm.compiler.convert.weights import (
    ChangeOf,
    as_in_files,
    check_tensors,
    convert_weights,
    count_elements,
    stored_bytes,
    with_mtp_of_files,
)
from mlc_llm.compiler.shards import divided
from mlc_llm.compiler.spec.draft import DraftSpec
from mlc_llm.compiler.spec.tower_weights import with_tower
from mlc_llm.errors import (
    CorruptFileError,
    InvalidRequestError,
    NotFoundError,
    UnsupportedError,
)

GENERATION_CONFIG = "generation_config.json"

__all__ = [
    "ConfigOverrides",
    "convert_model",
    "notes",
    "open_source",
    "write_config",
    "write_weights",
]

_REFUSED_FORMATS = {
    "huggingface-torch": "needs torch; convert the model to safetensors first",
}


def _requantizing_note(source: ModelSource, quantization: str) -> str | None:
    """What a user should know of a repository that is quantized already, if it is."""
    method = source.quantized_by()
    if keeps_types(quantization):
        if source.blocks() is not None:
            return _WIDER.format(method=method) if method is not None else None
        quantization = DEFAULT
    scheme = schemes.get(quantization)
    if method is None or scheme.source_suffixes("linear") != ("weight",):
        return None
    if scheme.keeps_float8 and source.all_float8():
        return None
    return (
        f"The weights are quantized already ({method}). They are read as floats and quantized again"
        f" to {quantization}, which loses a little: "
        + ("use --quantization auto, which keeps them." if source.blocks() else _TAKE_FLOATS)
    )


_WIDER = (
    "The weights ({method}) keep their values, and take 4.25 bits each here (those of NVFP4 6). "
    "--quantization q4f32_1 takes 5, and loses a little."
)
_TAKE_FLOATS = "take the float weights if you have them."


def notes(source: ModelSource, quantization: str) -> list[str]:
    """What a user should know of the source, a line each."""
    found = [_requantizing_note(source, quantization)]
    if (whole := source.text_part_of()) is not None and tower_of(source) is None:
        found.append(f"Only the text part of this model ({whole}) is read: it takes no pictures.")
    found.append(_family_note(source))
    return [note for note in found if note is not None]


def _family_note(source: ModelSource) -> str | None:
    config = source.hf_config()
    name = models.model_type_of(config)
    return models.get(name).note(models.config_from_hf(config, name)) or None


Report = Callable[[float], None]  # takes how much is done, 0 .. 1
TakeConfig = Callable[[dict[str, Any]], None]


def _ignore(_: Any) -> None: ...


def open_source(
    path: Path,
    *,
    source_format: str = "auto",
    config: Path | None = None,
    projector: Path | None = None,
) -> ModelSource:
    """The reader for a Hugging Face folder, a `.gguf` file, or a folder of MLC-LLM's converter with
    a tower (`mlc_folder.py`). `projector`: the file of the tower of
    a `.gguf` file ("mmproj")."""
    if source_format in _REFUSED_FORMATS:
        raise UnsupportedError(
            f"source format {source_format} {_REFUSED_FORMATS[source_format]}",
            param="source-format",
        )
    if source_format not in ("auto", "gguf", "huggingface-safetensor", "awq"):
        raise UnsupportedError(f"unknown source format {source_format!r}", param="source-format")
    if not path.exists():
        raise NotFoundError(f"{path}: no such file or folder", param="source")
    is_gguf = source_format == "gguf" or (source_format == "auto" and path.suffix == ".gguf")
    if is_gguf:
        return GGUFModel(path, projector)
    if source_format == "auto" and config is None and is_readable(path):
        return MLCFolder(path)
    folder = HuggingFaceFolder(path if path.is_dir() else path.parent, config=config)
    if source_format == "awq" and folder.quantized_by() != "awq":
        raise InvalidRequestError(
            f"{path}: config.json names no AWQ quantization, which source format awq asks for; "
            "leave it out",
            param="source-format",
        )
    return folder


def convert_model(
    source: ModelSource,
    output: Path,
    *,
    quantization: str,
    model_type: str | None = None,
    overrides: ConfigOverrides | None = None,
    draft: Path | None = None,
    tower_quantization: str | None = None,
    report: Report = _ignore,
    take_config: TakeConfig = _ignore,
) -> None:
    """Writes the whole `-MLC` folder, in one atomic step. `take_config` gets the content of
    mlc-chat-config.json before any weight is read. `draft`: a folder of what drafts for the
    model (`drafts.py`). `tower_quantization`: of `quantization.schemes.TOWERS`; None: floats."""
    work = _Work(source, quantization, model_type, draft, tower_quantization)
    with staged_folder(output, needed_bytes=work.needed_bytes()) as stage:
        take_config(work.write_config(stage, overrides or ConfigOverrides()))
        work.write_weights(stage, report)


def write_weights(
    source: ModelSource,
    output: Path,
    *,
    quantization: str,
    model_type: str | None = None,
    search_scales: bool = False,
    importance: Mapping[str, Array] | None = None,
    adapters: Sequence[tuple[Adapter, float]] = (),
    draft: Path | None = None,
    tower_quantization: str | None = None,
    shards: int = 1,
    report: Report = _ignore,
) -> WeightStats:
    """Writes only the weights, for `convert_weight`. `search_scales`: slower, and the weights lose
    less (compiler/quantization/search.py). `importance`: of weights' inputs, for that search
    (compiler/calibrate.py). `adapters`: are merged into the weights, each with a scale. `draft` and
    `tower_quantization`: as in `convert_model`. `shards`: weights that so many shards cannot share
    are refused."""
    work = _Work(source, quantization, model_type, draft, tower_quantization)
    work.check_shards(shards)
    if adapters:
        work.merge(adapters, quantization)
    if search_scales or importance is not None:
        work.search_scales(importance)
    with staged_folder(output, needed_bytes=work.needed_bytes()) as stage:
        return work.write_weights(stage, report)


def write_config(
    source: ModelSource,
    output: Path,
    *,
    quantization: str,
    model_type: str | None = None,
    overrides: ConfigOverrides | None = None,
    draft: Path | None = None,
    tower_quantization: str | None = None,
) -> None:
    """Writes only the config and the tokenizer files, for `gen_config`."""
    work = _Work(source, quantization, model_type, draft, tower_quantization)
    overrides = overrides or ConfigOverrides()
    count = overrides.tensor_parallel_shards
    work.check_shards(1 if count is None else count)
    with staged_folder(output, needed_bytes=0) as stage:
        work.write_config(stage, overrides)


@dataclass(frozen=True)
class WeightStats:
    """What was written, and the number of weights of the model."""

    param_bytes: int
    elements: int

    @property
    def bits_per_param(self) -> float:
        return self.param_bytes * 8 / self.elements


class _Work:
    """The conversion of one model to one scheme."""

    def __init__(
        self,
        source: ModelSource,
        quantization: str,
        model_type: str | None,
        draft: Path | None = None,
        tower_quantization: str | None = None,
    ) -> None:
        self._source = source
        self._hf_config: dict[str, Any] = source.hf_config()
        token_ids(source.generation_config(), self._hf_config)  # wrong ones are refused first
        self._model_type = model_type or models.model_type_of(self._hf_config)
        self._family = models.get(self._model_type)
        self._config = models.config_from_hf(self._hf_config, self._model_type)
        self._config = with_mtp_of_files(self._config, self._family, source)
        self._tower = tower_of(source, self._hf_config, self._config.hidden_size)
        self._draft = None if draft is None else self._add_draft(draft, quantization)
        check_tower_quantization(self._tower, tower_quantization)
        self._scheme = schemes.with_tower(self._scheme_of(quantization), tower_quantization)
        self._importance: Mapping[str, Array] | None = None
        self._change_of: ChangeOf = lambda name: None

    def _add_draft(self, folder: Path, quantization: str) -> DraftSpec:
        if keeps_types(quantization) and self._source.blocks() is not None:
            raise InvalidRequestError(
                f"quantization {quantization} keeps the types of the model's file, which those of "
                f"--draft do not have; choose another one, such as {DEFAULT}",
                param="quantization",
            )
        draft = Draft(folder, self._config.num_hidden_layers)
        draft.spec.check(self._config)
        self._source = cast("ModelSource", WithDraft(self._source, draft))
        self._family = self._family.with_draft(draft.spec)
        return draft.spec

    def merge(self, adapters: Sequence[tuple[Adapter, float]], quantization: str) -> None:
        if keeps_types(quantization):
            raise InvalidRequestError(
                f"quantization {quantization} keeps the weights as their file has them, so nothing "
                f"can be merged into them; choose another one, such as {DEFAULT}",
                param="quantization",
            )
        self._change_of = Merge(adapters, self._family, self._config).of

    def check_shards(self, count: int) -> None:
        divided(self._family, self._config, self._scheme, count)

    def search_scales(self, importance: Mapping[str, Array] | None) -> None:
        self._scheme = schemes.with_searched_scales(self._scheme)
        self._importance = importance

    def needed_bytes(self) -> int:
        return stored_bytes(self._weights(), self._scheme)

    def write_weights(self, folder: Path, report: Report) -> WeightStats:
        weights = self._weights()
        writer = WeightWriter(folder)
        total = max(1, stored_bytes(weights, self._scheme))
        done = 0

        def advance(count: int) -> None:
            nonlocal done
            done += count
            report(done / total)

        try:
            convert_weights(
                self._source,
                weights,
                self._scheme,
                writer,
                advance,
                self._importance,
                self._change_of,
            )
            return WeightStats(writer.param_bytes, count_elements(weights))
        finally:
            writer.abandon()

    def write_config(self, folder: Path, overrides: ConfigOverrides) -> dict[str, Any]:
        files = self._source.tokenizer_files()
        config = chat_config(
            self._hf_config,
            self._source.generation_config(),
            files,
            self._config,
            model_type=self._model_type,
            quantization=self._scheme.name,
            overrides=overrides,
            embedding=embedding_metadata(self._hf_config, self._family, self._config),
        )
        config |= self._scheme.config_fields()
        if self._tower is not None:
            config |= picture_fields(config, self._hf_config, self._source, self._tower)
        config |= {} if self._draft is None else {"draft": self._draft.to_dict()}
        generation = self._source.generation_config()
        if generation:  # `mlc_llm show` says which of its fields are used
            files[GENERATION_CONFIG] = json.dumps(generation, indent=2).encode()
        for name, data in files.items():
            write_durably(folder / name, data)
        write_durably(folder / CHAT_CONFIG, json.dumps(config, indent=2).encode())
        return config

    def _scheme_of(self, quantization: str) -> schemes.Scheme:
        if keeps_types(quantization):
            has_types = self._source.blocks() is not None
            weights = self._weights(schemes.get(DEFAULT)) if has_types else []
            return scheme_of_file(self._source, weights, wanted=quantization)
        return schemes.get(quantization)

    def _weights(self, scheme: schemes.Scheme | None = None) -> list[models.WeightSource]:
        """The weight map, checked against the existing tensors before it is used."""
        tensors = self._source.tensors()
        layers = self._config.num_hidden_layers
        # a damaged number of layers could make a map that fills the memory
        if layers > len(tensors):
            raise CorruptFileError(
                f"config: num_hidden_layers is {layers}, and there are {len(tensors)} tensors",
                param="num_hidden_layers",
            )
        weights = self._family.weight_map(self._config, self._source.format)
        weights = as_in_files(with_tower(weights, self._tower), tensors)
        check_tensors(weights, tensors, scheme or self._scheme)
        return weights

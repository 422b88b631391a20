"""Reads a Hugging Face model folder: config, safetensors (one file or shards), tokenizer files."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path, PurePosixPath
from typing import Any

from mlc_llm.compiler.convert.embedding import (
    dense_folders,
    dense_width,
    sentence_transformer,
)
from mlc_llm.compiler.convert.hf_mxfp4 import MXFP4Weight
from mlc_llm.compiler.convert.hf_nvfp4 import NVFP4Weight
from mlc_llm.compiler.convert.hf_quantized import (
    QuantizedWeight,
    Repository,
    quantized_weights,
    read_rows,
)
from mlc_llm.compiler.convert.hf_scaled import ScaledWeight, float8_blocks
from mlc_llm.compiler.convert.json_files import json_value, parse_json, read_json, read_utf8
from mlc_llm.compiler.convert.old_tokenizers import older_tokenizer
from mlc_llm.compiler.convert.safetensors_file import SafetensorsFile
from mlc_llm.compiler.convert.source import Array, BlockReader, TensorInfo, checked_rows
from mlc_llm.compiler.models.family import FileFormat
from mlc_llm.compiler.models.text_part import is_unsure_of_the_head, text_part
from mlc_llm.compiler.quantization.stored import Float8Part
from mlc_llm.errors import CorruptFileError, NotFoundError, UnsupportedError

TOKENIZER_FILES = (
    "tokenizer.json",
    "tokenizer_config.json",
    "tokenizer.model",
    "vocab.json",
    "merges.txt",
    "added_tokens.json",
    "special_tokens_map.json",
)
_INDEX = "model.safetensors.index.json"
_SINGLE = "model.safetensors"
_MODELOPT = "hf_quant_config.json"
_MODULES = "modules.json"
_PICTURES = ("processor_config.json", "preprocessor_config.json")


class HuggingFaceFolder:
    """A `ModelSource` for a folder with `config.json` and safetensors.

    `config` names another config file: `convert_weight CONFIG --source DIR`.
    """

    format: FileFormat = "huggingface"

    def __init__(self, folder: Path, *, config: Path | None = None) -> None:
        self.folder = folder
        self._config_path = config or folder / "config.json"
        self._owners: dict[str, SafetensorsFile] | None = None
        self._computed: dict[str, QuantizedWeight] | None = None
        self._in_blocks: dict[str, ScaledWeight] | None = None

    def tensors(self) -> Mapping[str, TensorInfo]:
        computed = {name: weight.info for name, weight in self._quantized().items()}
        return self._stored() | computed

    def read(self, name: str, start: int = 0, stop: int | None = None) -> Array:
        if (weight := self._quantized().get(name)) is not None:
            return read_rows(weight, start, stop)
        return self._files()[name].read(name, start, stop)

    def blocks(self) -> BlockReader | None:
        every = self._quantized().items()
        kept = {name: w for name, w in every if isinstance(w, (NVFP4Weight, MXFP4Weight))}
        return _Blocks(kept) if kept else None

    def has_float8(self, name: str) -> bool:
        return name in self._float8()

    def float8_part(self, name: str) -> Float8Part:
        return self._float8()[name].part()

    def all_float8(self) -> bool:
        return len(self._float8()) == len(self._quantized())

    def _float8(self) -> dict[str, ScaledWeight]:
        """The weights that a scheme of 8-bit floats can keep."""
        if self._in_blocks is None:
            self._in_blocks = float8_blocks(self._quantized())
        return self._in_blocks

    def quantized_by(self) -> str | None:
        return str(self._quantization()["quant_method"]) if self._quantized() else None

    def text_part_of(self) -> str | None:
        config = read_json(self._config_path)
        return None if text_part(config) is None else str(config["model_type"])

    def hf_config(self) -> dict[str, Any]:
        config = read_json(self._config_path)
        config = text_part(config, self._has_head(config)) or config
        folder = self._modules_folder()
        modules = _modules(folder)
        if modules is None:
            return config
        has_dense = config.get("use_bidirectional_attention") is True
        found = sentence_transformer(folder, read_json, modules, has_dense=has_dense)
        folders = [one / "config.json" for one in dense_folders(folder, modules)]
        widths = [dense_width(read_json(path), path) for path in folders]
        made = {**config, "embedding_metadata": found}
        return {**made, "dense_layers": widths} if widths else made

    def has_weights(self) -> bool:
        return any((self.folder / name).is_file() for name in (_INDEX, _SINGLE))

    def picture_config(self) -> dict[str, Any]:
        """Newer repositories have it in `processor_config.json`."""
        folder = self._config_path.parent
        newer, older = (folder / name for name in _PICTURES)
        found = read_json(newer).get("image_processor") if newer.is_file() else None
        if isinstance(found, dict):
            return found
        return read_json(older) if older.is_file() else {}

    def _has_head(self, config: Mapping[str, Any]) -> bool | None:
        """For a config that is unsure of it. None: there are no weights here."""
        if not self.has_weights() or not is_unsure_of_the_head(config):
            return None
        return any("lm_head." in name for name in self._stored())

    def _modules_folder(self) -> Path:
        """sentence-transformers' modules belong to the weights: they are beside them, or else
        beside the config."""
        beside = (self.folder / _MODULES).is_file()
        return self.folder if beside else self._config_path.parent

    def generation_config(self) -> dict[str, Any]:
        path = self._config_path.parent / "generation_config.json"
        return read_json(path) if path.is_file() else {}

    def tokenizer_files(self) -> dict[str, bytes]:
        folder = self._config_path.parent
        files = {
            name: (folder / name).read_bytes()
            for name in TOKENIZER_FILES
            if (folder / name).is_file()
        }
        if "tokenizer.json" not in files:
            path = folder / "tokenizer_config.json"
            config = parse_json(files.get(path.name, b"{}"), path)
            files["tokenizer.json"] = older_tokenizer(folder, config)
        for name, data in files.items():
            if name.endswith(".json"):
                parse_json(data, folder / name)
        path = folder / "tokenizer_config.json"
        config = parse_json(files.get(path.name, b"{}"), path)
        template = _chat_template_files(folder)
        if template is None and config.get("chat_template") is None:
            template = _processors_template(folder)
        if template is not None:
            config["chat_template"] = template
            files[path.name] = json.dumps(config, indent=2).encode()
        return files

    def _quantized(self) -> dict[str, QuantizedWeight]:
        """The weights whose floats have to be computed; found out at the first question."""
        if self._computed is None:
            read = lambda name, *rows: self._files()[name].read_stored(name, *rows)  # noqa: E731
            self._computed = quantized_weights(
                Repository(self._quantization(), self._stored(), read)
            )
        return self._computed

    def _quantization(self) -> Mapping[str, Any]:
        config = self.hf_config().get("quantization_config")
        if config is None and (self.folder / _MODELOPT).is_file():
            return {"quant_method": "modelopt"}  # as older versions of it write it
        return config if isinstance(config, dict) else {}

    def _stored(self) -> dict[str, TensorInfo]:
        return {name: file.tensors[name] for name, file in self._files().items()}

    def _files(self) -> dict[str, SafetensorsFile]:
        """The file of each tensor. The headers are read once, when they are first needed."""
        if self._owners is None:
            if (self.folder / _INDEX).is_file():
                self._owners = self._open_shards()
            elif (self.folder / _SINGLE).is_file():
                file = SafetensorsFile(self.folder / _SINGLE)
                self._owners = dict.fromkeys(file.tensors, file)
            else:
                raise _no_weights(self.folder)
            self._owners |= self._open_dense()
        return self._owners

    def _open_dense(self) -> dict[str, SafetensorsFile]:
        """The linear layers behind the pooling; their names begin with `dense_0.`, and so on."""
        owners: dict[str, SafetensorsFile] = {}
        beside = self._modules_folder()
        for index, folder in enumerate(dense_folders(beside, _modules(beside) or [])):
            if not (folder / _SINGLE).is_file():
                raise _no_weights(folder)
            file = SafetensorsFile(folder / _SINGLE, f"dense_{index}.")
            owners |= dict.fromkeys(file.tensors, file)
        return owners

    def _open_shards(self) -> dict[str, SafetensorsFile]:
        path = self.folder / _INDEX
        weight_map = read_json(path).get("weight_map")
        if not isinstance(weight_map, dict):
            raise CorruptFileError(f"{path}: 'weight_map' is missing", param="weight_map")
        files: dict[str, SafetensorsFile] = {}
        owners: dict[str, SafetensorsFile] = {}
        for tensor, name in weight_map.items():
            file = _inside(self.folder, name, path)
            if name not in files:
                files[name] = SafetensorsFile(file)
            if tensor not in files[name].tensors:
                raise CorruptFileError(
                    f"{path}: 'weight_map' says that {name} holds {tensor}, and it does not",
                    param=tensor,
                )
            owners[tensor] = files[name]
        return owners


@dataclass(frozen=True)
class _Blocks:
    """Weights that a scheme with GGUF's types keeps."""

    weights: Mapping[str, NVFP4Weight | MXFP4Weight]

    def read(self, name: str, start: int = 0, stop: int | None = None) -> Array:
        weight = self.weights[name]
        return weight.blocks(*checked_rows(weight.info, start, stop))


def _modules(folder: Path) -> Any:
    """The content of sentence-transformers' modules.json; None if there is none."""
    path = folder / _MODULES
    return json_value(path.read_bytes(), path) if path.is_file() else None


def _chat_template_files(folder: Path) -> str | list[dict[str, str]] | None:
    """`chat_template.jinja` and `additional_chat_templates/*.jinja`, which have priority over the
    config."""
    main = folder / "chat_template.jinja"
    if not main.is_file():
        return None
    named = {"default": main}
    named |= {
        path.stem: path for path in sorted((folder / "additional_chat_templates").glob("*.jinja"))
    }
    texts = {name: read_utf8(path) for name, path in named.items()}
    if len(texts) == 1:
        return texts["default"]
    return [{"name": name, "template": text} for name, text in texts.items()]


def _processors_template(folder: Path) -> str | None:
    """`chat_template.json`, in which models that also take pictures had it before transformers 5;
    some have it nowhere else."""
    path = folder / "chat_template.json"
    template = read_json(path).get("chat_template") if path.is_file() else None
    return template if isinstance(template, str) else None


def _inside(folder: Path, name: Any, index: Path) -> Path:
    """`folder / name`, if it is inside the folder and exists."""
    parts = PurePosixPath(name).parts if isinstance(name, str) else ()
    if not parts or ".." in parts or PurePosixPath(name).is_absolute() or "\\" in name:
        raise CorruptFileError(
            f"{index}: 'weight_map' names {name!r}, which is outside its folder", param="weight_map"
        )
    path = folder.joinpath(*parts)
    if not path.is_file():
        raise NotFoundError(
            f"{path}: no such file, though {index.name} names it; download it again", param=name
        )
    return path


def _no_weights(folder: Path) -> NotFoundError | UnsupportedError:
    if any(folder.glob("*.bin")) or any(folder.glob("*.pth")):
        return UnsupportedError(
            f"{folder}: only torch weights (*.bin) are here, and reading them would run code from "
            "the file; convert the model to safetensors first",
            param="source-format",
        )
    return NotFoundError(
        f"{folder}: no weights; expected {_SINGLE}, {_INDEX} or a .gguf file", param="source"
    )

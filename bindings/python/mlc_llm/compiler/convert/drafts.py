"""Reads Medusa's heads, and adds them to the source of their model.

    draft = open_draft(Path("medusa-vicuna-7b"))
    source = WithDraft(source, draft)

The published files hold `<head>.<block>.linear.{weight,bias}` and `<head>.<blocks>.weight`, with or
without `medusa_head.` in front. There may be `d2t` besides, as in Eagle-3's files: the heads then
have rows for some tokens only, and row i is that of token i + d2t[i].
"""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

import numpy as np

from mlc_llm.compiler.convert.json_files import read_json
from mlc_llm.compiler.convert.safetensors_file import SafetensorsFile
from mlc_llm.compiler.convert.source import Array, ModelSource, TensorInfo
from mlc_llm.compiler.drafts import MedusaSpec
from mlc_llm.compiler.drafts.medusa import MOST_HEADS
from mlc_llm.errors import CorruptFileError, NotFoundError, UnsupportedError

PARAM = "draft"
_PREFIX = "medusa_head."
_OUTPUT = re.compile(r"medusa_head\.(\d+)\.(\d+)\.weight")
_MAP = "d2t"


class Draft:
    """The tensors of a folder by our names, and what they are."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self._files: dict[str, tuple[SafetensorsFile, str]] = {}  # and its name of the tensor
        for path in sorted(folder.glob("*.safetensors")):
            file = SafetensorsFile(path)
            self._files |= {_our_name(name): (file, name) for name in file.tensors}
        if not self._files:
            raise _no_weights(folder)
        self.spec = self._medusa()
        self.tensors: dict[str, TensorInfo] = {
            name: file.tensors[theirs]
            for name, (file, theirs) in self._files.items()
            if name.startswith(_PREFIX)
        }

    def read(self, name: str, start: int = 0, stop: int | None = None) -> Array:
        file, theirs = self._files[name]
        return file.read(theirs, start, stop)

    def _medusa(self) -> MedusaSpec:
        outputs = [m for m in map(_OUTPUT.fullmatch, self._files) if m is not None]
        config = read_json(self.folder / "config.json")
        heads = config.get("medusa_num_heads", len({m[1] for m in outputs}))
        blocks = config.get("medusa_num_layers", 1)
        if not outputs:
            raise UnsupportedError(
                f"{self.folder}: no Medusa heads: no tensor is called 0.{blocks}.weight or "
                f"medusa_head.0.{blocks}.weight",
                param=PARAM,
            )
        for name, number in (("medusa_num_heads", heads), ("medusa_num_layers", blocks)):
            if type(number) is not int or not 0 < number <= MOST_HEADS:
                raise CorruptFileError(
                    f"{self.folder}: {name} must be a number from 1 to {MOST_HEADS}, not {number}",
                    param=name,
                )
        return MedusaSpec(heads=heads, blocks=blocks, tokens=self._tokens())

    def _tokens(self) -> tuple[int, ...]:
        if _MAP not in self._files:
            return ()
        file, theirs = self._files[_MAP]
        offsets = file.read_stored(theirs)
        if offsets.ndim != 1 or not np.issubdtype(offsets.dtype, np.integer):
            raise self._bad_map("must be a list of whole numbers")
        tokens = [int(token) for token in offsets.astype(np.int64) + np.arange(len(offsets))]
        if not tokens or min(tokens) < 0 or len(set(tokens)) < len(tokens):
            raise self._bad_map("gives tokens below 0, or one token twice")
        return tuple(tokens)

    def _bad_map(self, why: str) -> CorruptFileError:
        return CorruptFileError(f"{self.folder}: tensor {_MAP} {why}", param=_MAP)


class WithDraft:
    """A model's source, and the tensors of its heads."""

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
    return f"{_PREFIX}{name}" if name[:1].isdigit() else name


def _no_weights(folder: Path) -> NotFoundError | UnsupportedError:
    if any(folder.glob("*.pt")) or any(folder.glob("*.bin")):
        return UnsupportedError(
            f"{folder}: only torch weights (*.pt, *.bin) are here, and reading them would run code "
            "from the file; convert them to safetensors first",
            param=PARAM,
        )
    return NotFoundError(f"{folder}: no .safetensors file with heads is here", param=PARAM)

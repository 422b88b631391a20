"""GGUF models in several files: `model-00001-of-00003.gguf` and the others.

The first file has the metadata. In each file, `split.no` and `split.count` give its number. The
user may name any of them. (Facts: ggml-org/llama.cpp, tools/gguf-split.)
"""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

from mlc_llm.compiler.convert.gguf.file import GGUFFile
from mlc_llm.compiler.convert.source import Array, TensorInfo
from mlc_llm.errors import CorruptFileError, NotFoundError

_NAME = re.compile(r"(.+)-(\d{5})-of-(\d{5})\.gguf")
_MAX_SHARDS = 10_000


def open_gguf(path: Path) -> GGUFFile:
    """Opens the file, or all shards if the file is a shard."""
    file = GGUFFile(path)
    count = file.metadata.get("split.count", 0)
    if type(count) is not int or not 0 <= count < _MAX_SHARDS:
        raise _bad(path, "split.count", "is no number of files")
    if count <= 1:
        return file
    match = _NAME.fullmatch(path.name)
    if match is None or int(match[3]) != count:
        raise _bad(
            path, "split.count", f"says that this is one of {count} files, and its name does not: "
            f"give all of them the names that they had, NAME-00001-of-{count:05}.gguf and so on",
        )  # fmt: skip
    names = [f"{match[1]}-{i:05}-of-{count:05}.gguf" for i in range(1, count + 1)]
    return GGUFShards([_open_shard(path.with_name(n), i, count) for i, n in enumerate(names)])


def _open_shard(path: Path, number: int, count: int) -> GGUFFile:
    if not path.is_file():
        raise NotFoundError(
            f"{path}: no such file; the model is cut into {count} files, which must lie in one "
            "folder: download this one too",
            param=str(path),
        )
    file = GGUFFile(path)
    found = (file.metadata.get("split.no"), file.metadata.get("split.count"))
    if found != (number, count):
        raise _bad(path, "split.no", f"is {found[0]} of {found[1]}, not {number} of {count}")
    return file


class GGUFShards(GGUFFile):
    """One model in several files: the metadata of the first file, the tensors of all files."""

    def __init__(self, files: list[GGUFFile]) -> None:
        self.path = files[0].path
        self.metadata: dict[str, Any] = files[0].metadata
        self._owners: dict[str, GGUFFile] = {}
        for file in files:
            for name in file.tensors():
                if name in self._owners:
                    raise _bad(file.path, name, f"is in {self._owners[name].path.name} too")
                self._owners[name] = file
        wanted = self.metadata.get("split.tensors.count", len(self._owners))
        if wanted != len(self._owners):
            raise _bad(
                self.path,
                "split.tensors.count",
                f"is {wanted}, and the files have {len(self._owners)} tensors",
            )

    def tensors(self) -> dict[str, TensorInfo]:
        files = dict.fromkeys(self._owners.values())
        return {name: info for file in files for name, info in file.tensors().items()}

    def read(self, name: str, start: int = 0, stop: int | None = None) -> Array:
        return self._owners[name].read(name, start, stop)

    def read_blocks(self, name: str, start: int = 0, stop: int | None = None) -> Array:
        return self._owners[name].read_blocks(name, start, stop)


def _bad(path: Path, field: str, problem: str) -> CorruptFileError:
    return CorruptFileError(f"{path}: {field!r} {problem}", param=field)

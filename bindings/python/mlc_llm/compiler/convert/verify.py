"""Checks an `-MLC` folder against its index: files, sizes, MD5 sums, offsets of tensors."""

from __future__ import annotations

import hashlib
from pathlib import Path, PurePosixPath
from typing import Any

from mlc_llm.compiler.convert.json_files import read_json
from mlc_llm.compiler.convert.mlc_writer import TENSOR_CACHE
from mlc_llm.compiler.convert.source import shared_bytes
from mlc_llm.errors import CorruptFileError, NotFoundError

_OLD_INDEX = "ndarray-cache.json"


def index_of(folder: Path) -> Path:
    """The file that says where the weights are."""
    index = folder / TENSOR_CACHE
    return index if index.is_file() else folder / _OLD_INDEX


def verify(folder: Path, *, hashes: bool = True) -> list[str]:
    """All errors in the folder's weights, one sentence each; [] if there are none. Without `hashes`
    the bytes of the tensors are not read."""
    index = index_of(folder)
    try:
        records = read_json(index).get("records")
    except (NotFoundError, CorruptFileError) as error:
        return [error.message]
    if not isinstance(records, list):
        return [f"{index}: 'records' is missing"]
    every = [_shard_problems(folder, record, hashes) for record in records]
    return [problem for some in every for problem in some]


def _shard_problems(folder: Path, record: Any, hashes: bool) -> list[str]:
    try:
        name, nbytes, tensors = record["dataPath"], record["nbytes"], record["records"]
        found = [(one["byteOffset"], one["nbytes"], one["name"]) for one in tensors]
    except (KeyError, TypeError):
        return [f"{folder}: a shard's record lacks dataPath, nbytes or records"]
    if not all(type(n) is int and n >= 0 for place in found for n in place[:2]):
        return [f"{folder}: byteOffset and nbytes of a shard's records must be whole numbers"]
    places = [(begin, begin + size, tensor) for begin, size, tensor in found]
    if not isinstance(name, str) or ".." in PurePosixPath(name).parts or name.startswith("/"):
        return [f"{folder}: dataPath {name!r} is outside the folder"]
    path = folder / name
    if not path.is_file():
        return [f"{path}: missing; download or convert the model again"]
    size = path.stat().st_size
    if size != nbytes:
        return [f"{path}: has {size} bytes and should have {nbytes}; it was cut off or damaged"]
    problems = [f"{path}: tensor {t} ends behind the file" for _, end, t in places if end > size]
    if problem := shared_bytes(index_of(folder), places):
        problems.append(f"{problem}; convert or download the weights again")
    if hashes and record.get("md5sum") not in (None, _md5(path)):
        problems.append(f"{path}: its MD5 sum differs; it is damaged, convert the model again")
    return problems


def _md5(path: Path) -> str:
    digest = hashlib.md5(usedforsecurity=False)
    with path.open("rb") as file:
        while chunk := file.read(1 << 20):
            digest.update(chunk)
    return digest.hexdigest()

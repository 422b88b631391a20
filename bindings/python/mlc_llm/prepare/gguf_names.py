"""What the names of GGUF files say: the model, the types of its weights, the part of several."""

from __future__ import annotations

import re
from collections.abc import Sequence
from pathlib import PurePath, PurePosixPath

from mlc_llm.errors import NotFoundError

_LATER_PART = re.compile(r"-(?!0*1-)\d+-of-\d+\.gguf$")  # a file that is not the first of several
_TYPES = r"(UD-)?(I?Q\d\w*|TQ\d\w*|F16|FP16|BF16|F32|MXFP4\w*|NVFP4)"
# What follows the name of a model: the types of its weights, its part.
_KIND = re.compile(rf"([-._]({_TYPES}|UD|\d+-of-\d+))+$", re.IGNORECASE)
_PROJECTOR = "mmproj"  # is in the name of a file with the tower of a model
# The types of a tower's weights, the best one first. Float16 is what they become.
_PROJECTOR_TYPES = ("f16", "bf16", "f32", "q8_0")
# The types that are taken where the user names none, as llama.cpp's.
_USUAL_TYPES = ("Q4_K_M", "Q4_0", "Q8_0")


def names_types(text: str) -> bool:
    """Whether a text is the name of the types of a file's weights: Q4_K_M."""
    return re.fullmatch(_TYPES, text, re.IGNORECASE) is not None


def is_projector(path: PurePath) -> bool:
    """Whether this is a GGUF file of llama.cpp with the tower of a model, by its name."""
    return path.suffix == ".gguf" and _PROJECTOR in path.name.lower()


def is_model_file(path: PurePath) -> bool:
    """Whether this is a GGUF file of a model, or the first one of several, by its name."""
    is_other = _LATER_PART.search(path.name) or is_projector(path)
    return path.suffix == ".gguf" and not is_other


def name_of(model: PurePath) -> str:
    """The name without types and part."""
    words = model.stem.lower().replace(_PROJECTOR, "").strip("-._")
    return _KIND.sub("", words).strip("-._")


def projector_rank(path: PurePath) -> int:
    """The smaller, the better."""
    types = (types_in(path) or "").lower()
    known = types in _PROJECTOR_TYPES
    return _PROJECTOR_TYPES.index(types) if known else len(_PROJECTOR_TYPES)


def types_in(path: PurePath) -> str | None:
    """The types of the weights, as the name has them."""
    kind = _KIND.search(path.stem)
    found = re.search(_TYPES, kind[0], re.IGNORECASE) if kind else None
    return found[0] if found else None


def files_to_take(names: Sequence[str], types: str | None, repository: object) -> list[str]:
    """Of a repository's files those of one model: all its parts, and its tower. `types`: those of
    the weights that the user wants."""
    paths = [PurePosixPath(name) for name in names if name.endswith(".gguf")]
    models = [path for path in paths if is_model_file(path)]
    found = models
    if types is not None or len(models) > 1:
        for wanted in _USUAL_TYPES if types is None else (types,):
            found = [model for model in models if _has(model, wanted)]
            if found:
                break
    if len(found) > 1:
        fitting = ", ".join(map(str, found))
        raise NotFoundError(
            f"{repository}: {len(found)} models fit: {fitting}; download one and give its path",
            param="model",
        )
    if not found:
        there = ", ".join(sorted({types_in(path) or path.name for path in models})) or "none"
        raise NotFoundError(
            f"{repository}: no GGUF files fit; name the types of the weights, as in "
            f"HF://org/repo:{_USUAL_TYPES[0]}. There are: {there}",
            param="model",
        )
    parts = [path for path in paths if _whole(path) == _whole(found[0])]
    towers = sorted(filter(is_projector, paths), key=projector_rank)
    taken = {*parts, *towers[:1]}
    return [name for name in names if PurePosixPath(name) in taken]


def _whole(path: PurePath) -> str:
    """The same for all parts of a model."""
    return re.sub(r"-\d+-of-\d+\.gguf$", "", str(path))


def _has(path: PurePath, types: str) -> bool:
    found = (types_in(path) or "").upper()
    return types.upper() in (found, found.removeprefix("UD-"))

"""What other packages add: the entry points of three groups.

    [project.entry-points."mlc_llm.families"]
    my_model = "my_package.my_model:FAMILY"

    [project.entry-points."mlc_llm.schemes"]
    my_q8 = "my_package.my_q8:SCHEME"

    [project.entry-points."mlc_llm.passes"]
    my_passes = "my_package.my_passes:change"

The name of a family's entry point is the config's `model_type`; its object is a `ModelFamily`. That
of a scheme's is the name of the quantization; its object is a `Scheme`. A family or a scheme here
with that name comes first. Nothing is loaded before somebody asks for a name that is not here. A
function of the last group changes the passes of each compilation (`changes.py`).
"""

from __future__ import annotations

import hashlib
import sys
from collections.abc import Callable
from importlib.util import find_spec
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeVar

from mlc_llm.errors import UnsupportedError

if TYPE_CHECKING:
    from importlib.metadata import EntryPoint

    from mlc_llm.compiler.models.family import ModelFamily
    from mlc_llm.compiler.quantization.scheme import Scheme

FAMILIES, SCHEMES, PASSES = "mlc_llm.families", "mlc_llm.schemes", "mlc_llm.passes"
_Kind = TypeVar("_Kind")
# Of each group: what an error calls its entry points, and its `param`.
_FAULTS = {
    FAMILIES: ("the model family", "model_type"),
    SCHEMES: ("the quantization", "quantization"),
    PASSES: ("the passes", "passes"),
}


def family(model_type: str) -> ModelFamily | None:
    """The family that a package offers under this name; None if none does. The error for a family
    that cannot be loaded names the package."""
    from mlc_llm.compiler.models.family import ModelFamily

    return _named(FAMILIES, model_type, ModelFamily)


def scheme(name: str) -> Scheme | None:
    """The same for a quantization."""
    from mlc_llm.compiler.quantization.scheme import Scheme

    return _named(SCHEMES, name, Scheme)


def scheme_names() -> list[str]:
    return sorted({point.name for point in _points(SCHEMES)})


def families() -> dict[str, ModelFamily]:
    """All of them that can be loaded, by `model_type`."""
    return {name: made for name, made in _every().items() if not isinstance(made, UnsupportedError)}


def faults() -> list[str]:
    """What is wrong with those that cannot be loaded, for the error of a model without a family."""
    return [str(made) for made in _every().values() if isinstance(made, UnsupportedError)]


def pass_changes() -> dict[str, Callable[[Any], object]]:
    """The functions that change the passes, by the names of their packages."""
    changes: dict[str, Callable[[Any], object]] = {}
    for point in sorted(_points(PASSES), key=lambda point: (_package(point), point.name)):
        changes[f"{_package(point)} ({point.value})"] = _object(point)
    return changes


def identity() -> list[str]:
    """What these packages are: libraries and weights that were made with other ones are made
    again. A look at the files comes first, because `importlib.metadata` is slow to load."""
    lists = (
        path
        for folder in dict.fromkeys(sys.path)
        for path in Path(folder).glob("*-info/entry_points.txt")
    )
    texts = "".join(path.read_text("utf-8", "replace") for path in lists)
    if not any(f"[{group}]" in texts for group in _FAULTS):
        return []
    points = (point for group in _FAULTS for point in _points(group))
    return sorted(f"{p.name}={p.value} {_package(p)} {_sources(p)}" for p in points)


def _points(group: str) -> list[EntryPoint]:
    from importlib.metadata import entry_points

    return list(entry_points(group=group))


def _every() -> dict[str, ModelFamily | UnsupportedError]:
    made: dict[str, ModelFamily | UnsupportedError] = {}
    for name in sorted({point.name for point in _points(FAMILIES)}):
        try:
            found = family(name)
        except UnsupportedError as error:
            made[name] = error
        else:
            assert found is not None
            made[name] = found
    return made


def _named(group: str, name: str, kind: type[_Kind]) -> _Kind | None:
    """The object of the group with this name."""
    found = [point for point in _points(group) if point.name == name]
    if not found:
        return None
    packages = list(dict.fromkeys(map(_package, found)))
    if len(packages) > 1:
        what, param = _FAULTS[group]
        raise UnsupportedError(
            f'the packages {" and ".join(packages)} both offer {what} "{name}"; remove one of them',
            param=param,
        )
    made = _object(found[0])
    if not isinstance(made, kind):
        why = f"is of the type {type(made).__name__}: it must be a {kind.__name__}"
        raise _fault(found[0], why)
    return made


def _object(point: EntryPoint) -> Any:
    try:
        return point.load()
    except Exception as error:
        why = f"{type(error).__name__}: {error}"
        raise _fault(point, f"cannot be loaded ({why}): update or remove that package") from error


def _fault(point: EntryPoint, problem: str) -> UnsupportedError:
    what, param = _FAULTS[point.group]
    return UnsupportedError(
        f'{what} "{point.name}" of the package {_package(point)} ({point.value}) {problem}',
        param=param,
    )


def _package(point: EntryPoint) -> str:
    return f"{point.dist.name} {point.dist.version}" if point.dist else point.value


def _sources(point: EntryPoint) -> str:
    """A hash of the Python files of the entry point's package, which is not imported for it."""
    spec = find_spec(point.module.partition(".")[0])
    if spec is None or spec.origin is None:
        return ""
    file, digest = Path(spec.origin), hashlib.sha256()
    files = sorted(file.parent.rglob("*.py")) if spec.submodule_search_locations else [file]
    for path in files:
        digest.update(f"{path.relative_to(file.parent)}\n".encode() + path.read_bytes())
    return digest.hexdigest()[:16]

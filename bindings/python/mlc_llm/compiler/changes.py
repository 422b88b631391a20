"""Changes to the passes by others: by packages with entry points of the group `mlc_llm.passes`, and
by the file of `--passes`.

    [project.entry-points."mlc_llm.passes"]
    my_passes = "my_package.my_passes:change"

Each is a function that gets the `Pipeline`. The packages come first, by their names.
"""

from __future__ import annotations

import importlib.util
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any

from mlc_llm.compiler import outside
from mlc_llm.errors import InvalidRequestError, MLCError, NotFoundError, UnsupportedError

if TYPE_CHECKING:
    from mlc_llm.compiler.pipeline import Pipeline

_FUNCTION = "change"


def apply(pipeline: Pipeline, file: Path | None) -> bool:
    """Changes the pipeline. Returns whether there was anything to do. Raises MLCError if a change
    fails."""
    functions = dict(outside.pass_changes())
    if file is not None:
        functions[str(file)] = _function_in(file)
    for name, function in functions.items():
        with blamed(name):
            function(pipeline)
    return bool(functions)


@contextmanager
def blamed(who: str | bool) -> Iterator[None]:
    """Names who changed the passes in the error for what goes wrong. False: nobody did."""
    try:
        yield
    except MLCError:
        raise
    except Exception as error:
        if not who:
            raise
        what = f"the passes of {who}" if isinstance(who, str) else "a compilation with other passes"
        why = f"{type(error).__name__}: {error}"
        raise UnsupportedError(f"{what} failed: {why}", param="passes") from error


def _function_in(file: Path) -> Callable[[Pipeline], object]:
    spec = importlib.util.spec_from_file_location("mlc_llm_passes", file)
    if spec is None or spec.loader is None:
        raise InvalidRequestError(f"--passes {file}: not a Python file (.py)", param="passes")
    module = importlib.util.module_from_spec(spec)
    try:
        spec.loader.exec_module(module)
    except FileNotFoundError:
        raise NotFoundError(f"--passes {file}: the file does not exist", param="passes") from None
    except Exception as error:
        why = f"{type(error).__name__}: {error}"
        raise InvalidRequestError(f"--passes {file}: {why}", param="passes") from error
    function: Any = getattr(module, _FUNCTION, None)
    if not callable(function):
        raise InvalidRequestError(
            f"--passes {file}: it has no function {_FUNCTION}(pipeline)", param="passes"
        )
    return function

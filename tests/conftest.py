"""Options of the Python tests, and how processes share them out (pytest-xdist)."""

from __future__ import annotations

import atexit
import gc
import os
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from devtools import skips

QUICK = Path(__file__).parent / "python" / "quick_site"
sys.path.append(str(QUICK))

import quick_compile  # noqa: E402

# NumPy's matrix products: a second thread waits by spinning, which costs more than it gives here.
# The programs that tests start inherit it.
os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")

# What takes minutes: begun last, it would leave a process alone. The files of an entry stay in one
# process, as the tests of every file do: they share what they build or compile.
LONGEST = (
    ("tests/bindings/", "tests/apps/test_chatkit_swift.py", "tests/docs/test_swift_snippets.py"),
    ("tests/python/compiler/test_attention.py", "tests/python/compiler/test_token_trees.py"),
    ("tests/python/compiler/test_library.py", "tests/python/compiler/test_kernel_programs.py"),
    ("tests/python/compiler/test_decoder.py", "tests/python/engine/test_mixed_layers.py"),
    ("tests/python/compiler/test_linear_strips.py",),
    ("tests/python/compiler/test_gpu_sampling.py",),
    ("tests/python/engine/test_equal_outputs.py",),
    ("tests/python/engine/test_linked_library.py",),
    ("tests/python/compiler/test_kernels_everywhere.py",),
    ("tests/parity/",),
    ("tests/python/text/test_tokenizer_parity.py",),
    ("tests/docs/test_sh_snippets.py",),
    ("tests/python/serve/test_load.py",),
    ("tests/python/test_long_run.py",),
)


def pytest_addoption(parser: pytest.Parser) -> None:
    parser.addoption("--long", action="store_true", help="run the full counts of soak tests")
    skips.add_option(parser)


def pytest_configure(config: pytest.Config) -> None:
    # Nearly all that collecting tests makes will stay. A process that starts others collects no
    # tests, and would never enable it again.
    if not config.getoption("numprocesses", None):
        gc.disable()
    if config.getoption("--long"):
        os.environ["MLC_TEST_OPTIMIZED"] = "1"  # `quick_compile.py` reads it
    paths = os.environ.get("PYTHONPATH", "").split(os.pathsep)
    if str(QUICK) not in paths:
        os.environ["PYTHONPATH"] = os.pathsep.join(filter(None, [str(QUICK), *paths]))
    quick_compile.install()
    skips.install(config)


def pytest_collection_finish() -> None:
    """Modules and tests stay until the end: the garbage collector leaves them out from here, also
    where pytest itself collects at the end."""
    gc.freeze()
    gc.enable()


def pytest_unconfigure() -> None:
    """Modules in C++ report what is left when the process ends."""
    gc.enable()
    atexit.register(gc.unfreeze)


def entry_of(nodeid: str) -> int:
    """Where a test is in LONGEST, or behind its end."""
    found = (i for i, files in enumerate(LONGEST) if nodeid.startswith(files))
    return next(found, len(LONGEST))


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    if "PYTEST_XDIST_WORKER" in os.environ:
        items.sort(key=lambda item: entry_of(item.nodeid))


@pytest.hookimpl(optionalhook=True)
def pytest_xdist_make_scheduler(config: pytest.Config, log: Callable[..., None]) -> Any:
    from xdist.scheduler import LoadScopeScheduling

    class ByFile(LoadScopeScheduling):
        """Hands out files, in their order."""

        def _split_scope(self, nodeid: str) -> str:
            entry = entry_of(nodeid)
            return LONGEST[entry][0] if entry < len(LONGEST) else nodeid.partition("::")[0]

    config.option.loadscopereorder = False
    return ByFile(config, log)


@pytest.fixture(scope="session")
def shared_folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder of this run, the same in all its processes."""
    folder = tmp_path_factory.getbasetemp()
    shared = (folder.parent if "PYTEST_XDIST_WORKER" in os.environ else folder) / "shared"
    shared.mkdir(exist_ok=True)
    return shared

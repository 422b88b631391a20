"""The libraries that `./dev build android` made: what Android's loader asks of them, and an answer
of the default model by the engine for phones, under qemu with musl's loader in place of Android's.

They are skipped where that command was not run. The answer takes minutes: --long.
"""

from __future__ import annotations

import functools
import json
import os
import platform
import shutil
import subprocess
import sys
import zipfile
from dataclasses import dataclass
from pathlib import Path

import easy_questions
import pytest
from devtools.android import build, musl, publish, sysroot
from devtools.debian_root import UnavailableError

from mlc_llm import MLCEngine
from mlc_llm.package.aar import OPENCL_LIBRARIES
from mlc_llm.prepare.model_source import ResolvedModel, resolve_model
from mlc_llm.types_gen import ChatCompletion

HERE = Path(__file__).parent
ALLOWED = {"libc.so", "libm.so", "libdl.so", "liblog.so"}
LARGEST = {"arm64-v8a": 6_350_000, "x86_64": 6_350_000}  # bytes
LARGEST_MODEL = 6_000_000
PACKAGED_LIBRARY = Path("lib/mlc4j/src/main/jniLibs/arm64-v8a/libsmol.so")
# Log probabilities list the tokens.
REQUESTS = [{**request, "logprobs": True} for request in easy_questions.requests()]


@pytest.fixture(params=build.ABIS)
def abi(request: pytest.FixtureRequest) -> str:
    folder = build.FOLDER / str(request.param) / "lib"
    if not all((folder / name).exists() for name in build.LIBRARIES):
        pytest.skip(f"not built: ./dev build android {request.param}")
    return str(request.param)


@pytest.mark.parametrize("name", build.LIBRARIES)
def test_what_androids_loader_asks(abi: str, name: str) -> None:
    """Read by lief."""
    lief = pytest.importorskip("lief")
    library = lief.parse(str(build.FOLDER / abi / "lib" / name))
    machine = {"arm64-v8a": "AARCH64", "x86_64": "X86_64"}[abi]
    assert library.header.machine_type.name == machine
    assert set(library.libraries) <= ALLOWED
    assert list(library.symbols_version_requirement) == []  # sysroot.py has why
    assert library.get(lief.ELF.DynamicEntry.TAG.SONAME).name == name
    flags = library.get(lief.ELF.DynamicEntry.TAG.FLAGS_1)
    assert flags.has(lief.ELF.DynamicEntryFlags.FLAG.NODELETE)
    loads = [s for s in library.segments if s.type == lief.ELF.Segment.TYPE.LOAD]
    assert loads and all(s.alignment == 16384 for s in loads)
    assert not library.has_section(".symtab") and not library.has_section(".debug_info")
    assert str(build.ROOT).encode() not in (build.FOLDER / abi / "lib" / name).read_bytes()
    known = {n.lstrip("*") for listed in sysroot.names().values() for n in listed}
    undefined = {s.name for s in library.imported_symbols if s.name}
    assert undefined <= known, undefined - known  # all in Android since API 26


def test_the_engine_is_small(abi: str) -> None:
    """With OpenCL inside, which is less than 0.1 MB of it."""
    size = (build.FOLDER / abi / "lib" / "libmlc_llm.so").stat().st_size
    assert size <= LARGEST[abi]


def test_opencl_is_looked_for_by_the_names_in_the_manifest(abi: str) -> None:
    """A vendor's library is only found under a name that the app's manifest has."""
    data = (build.FOLDER / abi / "lib" / "libmlc_llm.so").read_bytes()
    if b"clGetPlatformIDs" not in data:
        pytest.skip("built without OpenCL's headers")
    for name in (*OPENCL_LIBRARIES, "/vendor/lib64/egl/libGLES_mali.so"):
        assert name.encode() + b"\0" in data, name


def test_what_the_engine_shows(abi: str) -> None:
    """Its C functions and what model libraries call, and no C++."""
    lief = pytest.importorskip("lief")
    library = lief.parse(str(build.FOLDER / abi / "lib" / "libmlc_llm.so"))
    shown = {s.name for s in library.exported_symbols}
    of_programs = {"mlc_engine_create", "mlc_engine_submit"}
    of_libraries = {"mlc_backend_launch_loops", "TVMBackendParallelLaunch"}
    assert of_programs | of_libraries | {"TVMFFIErrorSetRaisedFromCStrParts"} <= shown
    assert [name for name in shown if not name.startswith(("mlc_", "TVMFFI", "TVMBackend"))] == []
    jni = lief.parse(str(build.FOLDER / abi / "lib" / "libmlc_llm_jni.so"))
    assert {s.name for s in jni.exported_symbols} == {"JNI_OnLoad"}


@dataclass(frozen=True)
class Phone:
    """A kind of Android's machines: by which devices the model is compiled, and on which processors
    of qemu it runs ("": this machine's own)."""

    abi: str
    debian: str
    devices: str
    processors: tuple[str, ...]

    @property
    def machine(self) -> str:
        return sysroot.MACHINES[self.abi]


PHONES = (
    # Without dotprod, with it, with i8mm.
    Phone(
        "arm64-v8a",
        "arm64",
        "aarch64,aarch64-dotprod,aarch64-i8mm",
        ("cortex-a57", "neoverse-n1", "max"),
    ),
    Phone("x86_64", "amd64", "x86-64-v2,x86-64-v3", ("",)),
)
RUNS = [
    pytest.param(phone, cpu, id=cpu or phone.abi) for phone in PHONES for cpu in phone.processors
]


@pytest.fixture(scope="module")
def scratch(tmp_path_factory: pytest.TempPathFactory, pytestconfig: pytest.Config) -> Path:
    if not pytestconfig.getoption("--long"):
        pytest.skip("compiles a model and runs it under qemu: run with --long")
    return tmp_path_factory.mktemp("phones")


@pytest.fixture(scope="module")
def default_model(scratch: Path) -> ResolvedModel:
    return resolve_model(None, device="cpu", progress=lambda _: None)


@pytest.fixture(scope="module")
def expected(default_model: ResolvedModel) -> list[ChatCompletion]:
    """The answers on this machine."""
    with MLCEngine(
        str(default_model.folder), model_lib=str(default_model.model_lib), device="cpu"
    ) as here:
        found = [here.chat.completions.create(**request) for request in REQUESTS]
    assert easy_questions.right([one.choices[0].message.content or "" for one in found]) == 5
    return found


@functools.cache
def programs(scratch: Path, machine: str) -> Path:
    """chat.c and bionic_names.c for musl."""
    folder = scratch / machine
    folder.mkdir()
    cache = {f"ZIG_{kind}_CACHE_DIR": str(folder / "zig") for kind in ("GLOBAL", "LOCAL")}
    compiler = [build.zig_program(), "cc", "-target", f"{machine}-linux-musl", "-O1", "-g0"]
    for words in (
        ["-dynamic", "-o", folder / "chat", HERE / "chat.c"],
        ["-shared", "-fPIC", "-o", folder / "liblog.so", HERE / "bionic_names.c"],
    ):
        subprocess.run([*compiler, *words], check=True, env={**os.environ, **cache})
    return folder


@functools.cache
def model_library(scratch: Path, phone: Phone, model: Path) -> Path:
    """The model's kernels for each generation of processors."""
    output = scratch / f"libsmollm2-{phone.abi}.so"
    command = [sys.executable, "-m", "mlc_llm", "compile", str(model), "--device", phone.devices]
    command += ["--host", f"{phone.machine}-linux-android", "-o", str(output)]
    subprocess.run(command, check=True, stdin=subprocess.DEVNULL)
    assert output.stat().st_size <= 2_000_000 * len(phone.devices.split(","))
    return output


def command_on(phone: Phone, cpu: str, root: Path, folder: Path, libraries: Path) -> list[object]:
    """What runs `chat` with musl's loader in place of Android's."""
    paths = f"{libraries}:{folder}"
    if not cpu:
        loader = [root / "lib" / f"ld-musl-{phone.machine}.so.1", "--library-path", paths]
        return [*loader, "--preload", folder / "liblog.so", folder / "chat"]
    qemu = [f"qemu-{phone.machine}", "-cpu", cpu, "-L", root]
    qemu += ["-E", f"LD_PRELOAD={folder / 'liblog.so'}", "-E", f"LD_LIBRARY_PATH={paths}"]
    return [*qemu, folder / "chat"]


@pytest.mark.parametrize(("phone", "cpu"), RUNS)
def test_a_model_answers_on_the_build_for_phones(
    scratch: Path,
    default_model: ResolvedModel,
    expected: list[ChatCompletion],
    phone: Phone,
    cpu: str,
) -> None:
    """The same tokens as on this machine."""
    libraries = build.FOLDER / phone.abi / "lib"
    if not libraries.exists():
        pytest.skip(f"not built: ./dev build android {phone.abi}")
    wanted = platform.machine() == phone.machine if not cpu else shutil.which("qemu-aarch64")
    if not wanted:
        pytest.skip("needs qemu-user, or that machine")
    try:
        root = musl.musl_root(phone.debian)
    except UnavailableError as error:
        pytest.skip(str(error))
    library = model_library(scratch, phone, default_model.folder)
    model = {"model": str(default_model.folder), "model_lib": str(library), "device": "cpu"}
    command = command_on(phone, cpu, root, programs(scratch, phone.machine), libraries)
    check_answer([*command, libraries / "libmlc_llm.so"], model, expected)


def check_answer(
    command: list[object], model: dict[str, str], expected: list[ChatCompletion]
) -> None:
    """The program gives the expected tokens."""
    command = [*command, json.dumps(model), *map(json.dumps, REQUESTS)]
    done = subprocess.run(command, capture_output=True, text=True, timeout=1500)
    assert done.returncode == 0, done.stdout[-2000:] + done.stderr[-2000:]
    lines = done.stdout.strip().splitlines()
    assert len(lines) == len(expected), done.stdout
    for line, wanted in zip(lines, expected, strict=True):
        kind, _, body = line.partition(" ")
        assert kind == "1", line
        answer, choice = json.loads(body)["choices"][0], wanted.choices[0]
        assert answer["message"]["content"] == choice.message.content
        tokens = [one.token for one in choice.logprobs.content]
        assert [one["token"] for one in answer["logprobs"]["content"]] == tokens


@functools.cache
def packaged(scratch: Path) -> Path:
    """What `mlc_llm package` makes of the default model for an APK: `bundle` and `lib`."""
    model = {"model": "default", "model_id": "smol", "estimated_vram_bytes": 1}
    model |= {"model_lib": "smol", "bundle_weight": True}
    config = scratch / "mlc-package-config.json"
    config.write_text(json.dumps({"device": "android", "model_list": [model]}))
    command = [sys.executable, "-m", "mlc_llm", "package", "--package-config", str(config)]
    dist = scratch / "dist"
    subprocess.run([*command, "-o", str(dist)], check=True, stdin=subprocess.DEVNULL)
    assert (dist / PACKAGED_LIBRARY).stat().st_size <= LARGEST_MODEL
    return dist


@pytest.mark.parametrize("cpu", PHONES[0].processors)
def test_a_phone_without_opencl_answers(
    scratch: Path, expected: list[ChatCompletion], cpu: str
) -> None:
    """The package's library by its name alone, as inside an APK, and the device `auto`."""
    phone, libraries = PHONES[0], build.FOLDER / "arm64-v8a" / "lib"
    if not libraries.exists():
        pytest.skip("not built: ./dev build android")
    if shutil.which("qemu-aarch64") is None:
        pytest.skip("needs qemu-user")
    try:
        root = musl.musl_root(phone.debian)
    except UnavailableError as error:
        pytest.skip(str(error))
    dist = packaged(scratch)
    folders = Path(f"{libraries}:{(dist / PACKAGED_LIBRARY).parent}")
    command = command_on(phone, cpu, root, programs(scratch, phone.machine), folders)
    model = {"model": str(dist / "bundle" / "smol"), "model_lib": "smol", "device": "auto"}
    check_answer([*command, libraries / "libmlc_llm.so"], model, expected)


def test_the_aar_holds_these_libraries() -> None:
    """Those of each ABI that was built last, in the folder of its machine; read by lief."""
    lief = pytest.importorskip("lief")
    found = list(publish.RUNTIME.glob("*.aar"))
    if not found:
        pytest.skip("not built: ./dev build android")
    with zipfile.ZipFile(found[0]) as aar:
        held = {name: aar.read(name) for name in aar.namelist() if name.startswith("jni/")}
    abis = {name.split("/")[1] for name in held}
    assert abis == {folder.name for folder in (publish.RUNTIME / "lib").iterdir()}
    assert set(held) == {f"jni/{abi}/{name}" for abi in abis for name in build.LIBRARIES}
    for name, data in held.items():
        abi, library = name.split("/")[1:]
        machine = lief.parse(list(data)).header.machine_type.name
        assert machine.lower() == sysroot.MACHINES[abi]
        for folder in (build.FOLDER / abi / "lib", publish.RUNTIME / "lib" / abi):
            assert data == (folder / library).read_bytes(), name

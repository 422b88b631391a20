"""The XCFramework that `./dev build xcframework` made: what lief and LLVM's linker read in it.
Skipped where that command was not run. No Mac was at hand: nothing here runs its code.
"""

from __future__ import annotations

import functools
import hashlib
import importlib.util
import json
import platform
import plistlib
import re
import shutil
import struct
import subprocess
import sys
import zipfile
from pathlib import Path

import pytest
from devtools.debian_root import UnavailableError, unpacked
from devtools.swift import package as swift_package
from devtools.xcframework import build, package

from mlc_llm.package.ar import members
from mlc_llm.package.xcframework import SLICES

sys.path.insert(0, str(Path(__file__).resolve().parent / "swift"))

import toolchain  # noqa: E402

lief = pytest.importorskip("lief")
PLATFORMS = {
    ("ios", ""): "IOS",
    ("ios", "simulator"): "IOS_SIMULATOR",
    ("ios", "maccatalyst"): "MAC_CATALYST",
    ("macos", ""): "MACOS",
}
CPUS = {"arm64": "ARM64", "x86_64": "X86_64"}
WANTED = {"_mlc_engine_create", "_mlc_engine_submit", "_mlc_backend_launch_loops"}
# What libc++ got after LLVM 13, by its ABI changelog; iOS 16.0 and macOS 13.0 have LLVM 13's.
NEWER = re.compile(
    r"13__hash_memory|__from_chars_floating_point|__is_posix_terminal|init_primary_exception|3pmr"
    r"|__libcpp_verbose_abort|8to_charsEPcS0_[dfe]|ZT[IV]NSt3__117bad_function_call|_global_table"
    r"|_nativeILm8|__get_ostream_file|__atomic_monitor_global"
)
# What the linker itself defines.
OF_LINKER = {"___dso_handle"}
# Of Clang's own runtime library, which Xcode's compiler links (LLVM: compiler-rt/lib/builtins):
# what `__builtin_cpu_supports` reads.
OF_CLANG = {"arm64": set(), "x86_64": {"___cpu_model", "___cpu_features2", "___cpu_indicator_init"}}
# By LLVM's names: of the platform for its linker, of the system for its compiler, in a `.tbd` file.
SYSTEMS = {
    ("ios", ""): ("ios", "ios16.0", "ios"),
    ("ios", "simulator"): ("ios-simulator", "ios16.0-simulator", "ios-simulator"),
    ("ios", "maccatalyst"): ("mac-catalyst", "ios16.0-macabi", "maccatalyst"),
    ("macos", ""): ("macos", "macos13.0", "macos"),
}
PROGRAM = """
extern void *mlc_engine_create, *mlc_engine_load, *mlc_engine_submit, *mlc_engine_destroy;
void* used[] = {&mlc_engine_create, &mlc_engine_load, &mlc_engine_submit, &mlc_engine_destroy};
#if defined(__x86_64__)  // in place of Clang's runtime library
struct { unsigned vendor, type, subtype, features[1]; } __cpu_model;
unsigned __cpu_features2[3];
int __cpu_indicator_init(void) { return 0; }
#endif
int main(int count, char** words) { return used[count] == (void*)words; }
"""


@pytest.fixture(scope="module")
def archive() -> Path:
    if not package.ARCHIVE.exists():
        pytest.skip("not built: ./dev build xcframework")
    return package.ARCHIVE


def thin(data: bytes, machines: list[str]) -> dict[str, bytes]:
    """The archives in a file for one or more CPUs."""
    if len(machines) == 1:
        return {machines[0]: data}
    found = {}
    for i, machine in enumerate(machines):
        _, _, at, size, _ = struct.unpack_from(">5I", data, 8 + 20 * i)
        found[machine] = data[at : at + size]
    return found


@pytest.fixture(scope="module")
def libraries(archive: Path) -> dict[tuple[str, str, str], bytes]:
    """The archive of each (platform, variant, CPU)."""
    found = {}
    with zipfile.ZipFile(archive) as files:
        info = plistlib.loads(files.read("CMLCLLM.xcframework/Info.plist"))
        for one in info["AvailableLibraries"]:
            name = f"CMLCLLM.xcframework/{one['LibraryIdentifier']}/{one['LibraryPath']}"
            for machine, data in thin(files.read(name), one["SupportedArchitectures"]).items():
                system = (one["SupportedPlatform"], one.get("SupportedPlatformVariant", ""))
                found[(*system, machine)] = data
    return found


@functools.cache  # lief's objects live as long as the file that they are in
def parsed(data: bytes):
    return lief.MachO.parse(list(data))


def engine(library: bytes):
    ((_, data),) = members(library)
    return parsed(data).at(0)


def names(library: bytes, defined: bool) -> set[str]:
    return {
        one.name
        for one in engine(library).symbols
        if one.raw_type & 0x01 and bool(one.raw_type & 0x0E) == defined
    }


def test_each_slice_says_what_it_is_for(libraries: dict[tuple[str, str, str], bytes]) -> None:
    assert {key[:2] for key in libraries} == {(one.platform, one.variant) for one in SLICES}
    for (system, variant, machine), library in libraries.items():
        read = engine(library)
        assert read.build_version.platform.name == PLATFORMS[(system, variant)]
        oldest = [13, 0, 0] if system == "macos" else [16, 0, 0]
        assert list(read.build_version.minos) == oldest
        assert read.header.cpu_type.name == CPUS[machine]


def test_it_shows_the_c_interface_and_no_cpp(
    libraries: dict[tuple[str, str, str], bytes],
) -> None:
    for library in libraries.values():
        shown = names(library, defined=True)
        assert shown >= WANTED | {"_TVMFFIErrorSetRaisedFromCStrParts"}
        own = ("_mlc_", "_TVMFFI", "_TVMBackend")
        assert [name for name in shown if not name.startswith(own)] == []


def test_it_calls_what_the_oldest_systems_have(
    libraries: dict[tuple[str, str, str], bytes],
) -> None:
    """C's functions by the list of macOS's that zig carries, C++'s by what is too new."""
    spec = importlib.util.find_spec("ziglang")
    if spec is None or spec.origin is None:
        pytest.skip("needs ziglang")
    text = (Path(spec.origin).parent / "lib/libc/darwin/libSystem.tbd").read_text()
    system = set(re.findall(r"[\w$.]+", text))
    for key, library in libraries.items():
        called = names(library, defined=False)
        cpp = {name for name in called if name.startswith(("__Z", "___cxa_", "___gxx_"))}
        others = called - cpp - OF_LINKER - OF_CLANG[key[2]]
        assert others <= system, (key, others - system)
        assert [name for name in cpp if NEWER.search(name)] == [], key


def test_the_features_of_a_cpu_are_read_when_they_are_asked_for(
    libraries: dict[tuple[str, str, str], bytes],
) -> None:
    """By Clang's own library: the one that zig would link says that a CPU has none. And before the
    engine's static variables ask, which Xcode's linker runs before that library's constructor."""
    for key, library in libraries.items():
        assert names(library, defined=False) >= OF_CLANG[key[2]], key
        own = {s.name for s in engine(library).symbols if s.raw_type & 0x0E}
        assert not own & OF_CLANG[key[2]], key


def test_zigs_own_library_is_not_joined(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Needs no XCFramework: code that asks for a feature of an Intel CPU, joined as that is."""
    pytest.importorskip("ziglang")
    monkeypatch.setattr(build, "FOLDER", tmp_path)
    for name, value in build.environment().items():
        monkeypatch.setenv(name, value)
    source, made = tmp_path / "asks.cc", tmp_path / "asks.o"
    source.write_text(
        'extern "C" int mlc_asks() { __builtin_cpu_init(); return __builtin_cpu_supports("avx2"); }'
    )
    compile_ = [build.compiler("x86_64"), "-O1", "-g0", "-c", source, "-o", made]
    subprocess.run(compile_, check=True)
    joined = parsed(build.joined("x86_64", [made.read_bytes()])).at(0)
    kinds = {symbol.name: symbol.raw_type & 0x0E for symbol in joined.symbols}
    assert kinds["_mlc_asks"] and "___cpu_model" in kinds
    assert not any(kinds.get(name) for name in OF_CLANG["x86_64"])


def test_what_registers_itself_is_in_it(libraries: dict[tuple[str, str, str], bytes]) -> None:
    """TVM's functions, which nothing calls by name, and thread variables that can be bound."""
    for library in libraries.values():
        sections = {section.name: section for section in engine(library).sections}
        assert b"device_api.cpu\0" in library and sections["__mod_init_func"].size >= 8 * 10
        assert sections["__thread_vars"].alignment >= 3
        assert sections["__thread_vars"].virtual_address % 8 == 0


def stub(path: Path, name: str, symbols: set[str], target: str) -> Path:
    """A library of names, as Apple's SDKs have them (`.tbd`)."""
    listed = ", ".join(f"'{symbol}'" for symbol in sorted(symbols))
    path.write_text(
        f"--- !tapi-tbd\ntbd-version: 4\ntargets: [ {target} ]\n"
        f"install-name: '/usr/lib/{name}'\nexports:\n"
        f"  - targets: [ {target} ]\n    symbols: [ {listed} ]\n...\n"
    )
    return path


@pytest.fixture(scope="module")
def linker(archive: Path, pytestconfig: pytest.Config) -> list[str]:
    """The command of LLVM's linker for Apple's systems: Swift's toolchain has it without them."""
    if not pytestconfig.getoption("--long"):
        pytest.skip("fetches Debian's lld: run with --long")
    try:
        architecture = {"x86_64": "amd64", "aarch64": "arm64"}[platform.machine()]
        packages = ["lld-19", "libllvm19", "libz3-4"]
        root = unpacked(architecture, packages, build.FOLDER / "lld" / architecture)
    except UnavailableError as error:
        pytest.skip(str(error))
    llvm = root / "usr" / "lib" / "llvm-19"
    libraries = f"{llvm / 'lib'}:{root / 'usr' / 'lib' / f'{platform.machine()}-linux-gnu'}"
    return ["env", f"LD_LIBRARY_PATH={libraries}", str(llvm / "bin" / "lld"), "-flavor", "darwin"]


@pytest.mark.parametrize("machine", CPUS)
@pytest.mark.parametrize("system", SYSTEMS)
def test_llvms_linker_takes_it(
    linker: list[str], libraries: dict[tuple[str, str, str], bytes], system: tuple[str, str],
    machine: str, tmp_path: Path,
) -> None:  # fmt: skip
    """Into a program that names four functions; what is not called is left out."""
    swift, library = toolchain.find_swift(), libraries.get((*system, machine))
    if swift is None or library is None:
        pytest.skip("needs the Swift toolchain, and the slice")
    name, os_name, of_stub = SYSTEMS[system]
    main, file, program = tmp_path / "main.o", tmp_path / "libmlc_llm.a", tmp_path / "program"
    clang = [Path(swift).resolve().with_name("clang"), "-target", f"{machine}-apple-{os_name}"]
    compile_ = [*clang, "-x", "c", "-c", "-", "-o", main]
    subprocess.run(compile_, input=PROGRAM.encode(), check=True)
    file.write_bytes(library)
    called = names(library, defined=False) - OF_CLANG[machine] | {"dyld_stub_binder"}
    stubs = stub(tmp_path / "libSystem.tbd", "libSystem.B.dylib", called, f"{machine}-{of_stub}")
    oldest = "13.0" if name == "macos" else "16.0"
    link = [*linker, "-arch", machine, "-platform_version", name, oldest, oldest, "-dead_strip"]
    done = subprocess.run([*link, main, file, stubs, "-o", program], capture_output=True, text=True)
    assert done.returncode == 0, done.stderr[-3000:]
    sections = {section.name: section for section in parsed(program.read_bytes()).at(0).sections}
    assert sections["__text"].size > 2_000_000 and sections["__unwind_info"].size > 10_000
    assert sections["__thread_vars"].virtual_address % 8 == 0
    assert b"device_api.cpu\0" in program.read_bytes()


def test_a_package_for_all_systems(
    archive: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Package.swift of a release names both archives by their checksums, and SwiftPM reads it."""
    swift = toolchain.find_swift()
    if swift is None:
        pytest.skip("swift is neither on PATH nor in its usual place")
    linux = tmp_path / "CMLCLLM.artifactbundle.zip"
    linux.write_bytes(b"stands for the archive for Linux")
    monkeypatch.setattr(swift_package, "ARCHIVE", linux)
    text = swift_package.manifest(swift_package.engines(), "https://localhost/0.1.0")
    (tmp_path / "Sources" / "MLCSwift").mkdir(parents=True)
    (tmp_path / "Sources" / "MLCSwift" / "Empty.swift").write_text("")
    (tmp_path / "Package.swift").write_text(text)
    command = [swift, "package", "--disable-sandbox"]
    done = subprocess.run(
        [*command, "dump-package"], cwd=tmp_path, capture_output=True, text=True, timeout=300
    )
    assert done.returncode == 0, done.stderr
    targets = {one["name"]: one for one in json.loads(done.stdout)["targets"]}
    checksum = hashlib.sha256(archive.read_bytes()).hexdigest()
    assert targets["CMLCLLM"]["url"] == f"https://localhost/0.1.0/{archive.name}"
    assert targets["CMLCLLM"]["checksum"] == checksum
    shutil.copyfile(archive, tmp_path / archive.name)
    done = subprocess.run(
        [*command, "compute-checksum", archive.name], cwd=tmp_path, capture_output=True, text=True
    )
    assert done.stdout.strip() == checksum, done.stderr
    systems = {
        one["target"][0]: one["target"][1]["platformNames"]
        for one in targets["MLCSwift"]["dependencies"]
    }
    assert systems == {"CMLCLLMLinux": ["linux"], "CMLCLLM": ["macos", "ios", "maccatalyst"]}

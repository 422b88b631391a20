"""The headers that stand in for bionic's, against another description of bionic: Rust's crate libc,
which Debian packages as librust-libc-dev. Each number that both know must be the same, and each
type must have the same size. It fetches that package and needs ziglang: --long.
"""

from __future__ import annotations

import os
import re
import shutil
import subprocess
from pathlib import Path

import pytest
from devtools.android import build, headers, sysroot

# Types that the core, TVM's runtime and libc++ pass to Android's libraries, and the bytes that
# bionic has for them on 64 bits (android/b64/mod.rs and android/mod.rs of the crate).
SIZES = {
    "pthread_mutex_t": 40,
    "pthread_cond_t": 48,
    "pthread_rwlock_t": 56,
    "pthread_attr_t": 56,
    "pthread_mutexattr_t": 8,
    "pthread_condattr_t": 8,
    "pthread_t": 8,
    "pthread_key_t": 4,
    "pthread_once_t": 4,
    "struct sigaction": 32,
    "sigset_t": 8,
    "cpu_set_t": 128,
    "struct dirent": 280,
    "struct statvfs": 112,
    "struct timespec": 16,
    "struct tm": 56,
    "off_t": 8,
    "time_t": 8,
    "mode_t": 4,
    "Dl_info": 32,
    "mbstate_t": 8,
}
INCLUDES = "dirent dlfcn errno fcntl locale pthread sched signal sys/mman sys/prctl sys/resource \
sys/stat sys/statvfs sys/wait time unistd wchar".split()
# Where the crate follows newer kernels than these headers, or another view of the same number.
DIFFERENT_VIEW = {"O_LARGEFILE", "SIGSTKSZ", "MINSIGSTKSZ", "PRIO_MIN", "PRIO_MAX", "LC_ALL_MASK"}
PREFIXES = ("_SC_", "O_", "PROT_", "MAP_", "MADV_", "SIG", "SA_", "RTLD_", "PTHREAD_", "LC_",
            "CLOCK_", "S_I", "E", "PRIO_", "SCHED_", "AT_", "F_", "MS_")  # fmt: skip


@pytest.fixture(scope="module")
def crate(tmp_path_factory: pytest.TempPathFactory, pytestconfig: pytest.Config) -> Path:
    """The folder of the crate's definitions for Android."""
    if not pytestconfig.getoption("--long"):
        pytest.skip("fetches a Debian package: run with --long")
    if shutil.which("apt-get") is None:
        pytest.skip("needs apt-get")
    folder = tmp_path_factory.mktemp("crate")
    fetch = ["apt-get", "-qq", "download", "librust-libc-dev"]
    done = subprocess.run(fetch, cwd=folder, capture_output=True, text=True)
    if done.returncode != 0:
        pytest.skip(f"librust-libc-dev cannot be fetched: {done.stderr.strip()[-200:]}")
    (package,) = folder.glob("*.deb")
    subprocess.run(["dpkg", "-x", package, folder], check=True)
    (android,) = folder.glob("usr/share/cargo/registry/libc-*/src/unix/linux_like/android")
    return android


@pytest.fixture(scope="module")
def include(tmp_path_factory: pytest.TempPathFactory, crate: Path) -> Path:
    folder = tmp_path_factory.mktemp("include")
    headers.write(build.zig_program().parent / "lib" / "libc" / "include", "aarch64", folder)
    paths = dict.fromkeys(("include_dir", "sys_include_dir", "crt_dir", "cc_dir"), str(folder))
    paths |= dict.fromkeys(("msvc_lib_dir", "kernel32_lib_dir", "darwin_sdk_dir"), "")
    (folder / "libc.txt").write_text("".join(f"{key}={path}\n" for key, path in paths.items()))
    return folder


def preprocessed(
    include: Path, lines: list[str], *options: str
) -> subprocess.CompletedProcess[str]:
    zig = build.zig_program()
    text = "".join(f"#include <{name}.h>\n" for name in INCLUDES) + "\n".join(lines) + "\n"
    cache = {f"ZIG_{kind}_CACHE_DIR": str(include / "zig") for kind in ("GLOBAL", "LOCAL")}
    cache["ZIG_LIBC"] = str(include / "libc.txt")
    command = [zig, "cc", "-target", sysroot.triple("arm64-v8a"), "-D_GNU_SOURCE", *options]
    command += (
        ["-x", "c", "-"] if "-E" in options else ["-c", "-o", include / "out.o", "-x", "c", "-"]
    )
    return subprocess.run(
        command, input=text, capture_output=True, text=True, env={**os.environ, **cache}
    )


def numbers(crate: Path) -> dict[str, int]:
    """The crate's integer constants for 64-bit ARM."""
    sources = [crate.parent / "mod.rs", crate / "mod.rs", crate / "b64" / "mod.rs"]
    sources.append(crate / "b64" / "aarch64" / "mod.rs")
    pattern = r"^pub const (\w+): (?:::)?\w+ = (0x[0-9a-fA-F]+|0o[0-7]+|-?\d+);"
    found: dict[str, int] = {}
    for path in sources:
        for name, value in re.findall(pattern, path.read_text(), re.MULTILINE):
            found[name] = int(value, 0)
    return {
        name: value
        for name, value in found.items()
        if name.startswith(PREFIXES) and name not in DIFFERENT_VIEW
    }


def test_numbers_are_those_of_bionic(include: Path, crate: Path) -> None:
    wanted = numbers(crate)
    lines = [f"#ifdef {name}\nNUMBER {name} {name}_IS ({name})\n#endif" for name in wanted]
    done = preprocessed(include, lines, "-E", "-P")
    assert done.returncode == 0, done.stderr[-2000:]
    names = set(re.findall(r"(\w+)_IS \(", done.stdout))
    checks = [
        f'_Static_assert((long long)({name}) == {wanted[name]}LL, "{name} is not {wanted[name]}");'
        for name in sorted(names)
    ]
    assert len(checks) > 250  # so many are known to both
    done = preprocessed(include, checks)
    assert re.findall(r"error: .*", done.stderr) == []


def test_sizes_are_those_of_bionic(include: Path) -> None:
    checks = [
        f'_Static_assert(sizeof({name}) == {size}, "{name}");' for name, size in SIZES.items()
    ]
    done = preprocessed(include, checks)
    assert re.findall(r"error: .*", done.stderr) == []

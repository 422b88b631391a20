"""What `./dev` says on a machine that lacks something (devtools/machine.py)."""

from __future__ import annotations

import ast
import os
import re
import shutil
import subprocess
import sys
from pathlib import Path

import pytest
from devtools import machine, zig

ROOT = Path(__file__).resolve().parents[2]
NOBODY = 65534


@pytest.fixture
def clone(tmp_path: Path) -> Path:
    """What `./dev` reads before it builds anything."""
    folder = tmp_path / "clone"
    shutil.copytree(ROOT / "devtools", folder / "devtools")
    for name in ("dev", "pyproject.toml"):
        shutil.copy(ROOT / name, folder)
    return folder


def dev(clone: Path, *before: str, code: str = "", **env: str) -> list[str]:
    """The lines that `./dev chat` ends with, which must fail; `code` runs first."""
    start = f"import runpy, sys; sys.argv = ['dev', 'chat']; {code}\n"
    start += "sys.path.insert(0, '.'); runpy.run_path('dev', run_name='__main__')"
    done = subprocess.run(
        [*before, sys.executable, "-c", start],
        cwd=clone,
        env={**os.environ, "PYTHONDONTWRITEBYTECODE": "1", **env},
        capture_output=True,
        text=True,
        timeout=300,
    )
    assert done.returncode == 1 and "Traceback" not in done.stderr, done.stderr
    return done.stderr.splitlines()


def test_an_old_python(clone: Path) -> None:
    said = dev(clone, code="sys.version_info = (3, 9, 2, 'final', 0)")
    assert said == ["[dev] Python 3.10 or later is needed, and this is 3.9.2: python3.12 ./dev ..."]
    assert not (clone / ".venv").exists()


@pytest.mark.parametrize("name", ["dev", "devtools/machine.py", "devtools/progress.py"])
def test_an_old_python_can_read_what_refuses_it(name: str) -> None:
    text = (ROOT / name).read_text(encoding="utf-8")
    ast.parse(text, feature_version=(3, 9))
    assert "from __future__ import annotations" in text


def test_the_package_wants_the_same_python() -> None:
    wanted = ".".join(map(str, machine.OLDEST_PYTHON))
    text = (ROOT / "pyproject.toml").read_text(encoding="utf-8")
    assert f'requires-python = ">={wanted}"' in text
    assert f"Python {wanted}+" in (ROOT / "README.md").read_text(encoding="utf-8")


def test_no_compiler_and_nothing_to_install_it_with(clone: Path) -> None:
    said = dev(clone, PATH=str(clone))
    assert said == ["[dev] please install: g++ (or what your system calls them)"]
    assert not (clone / ".venv").exists()  # it is found before the work


def test_windows_is_sent_to_linux(clone: Path) -> None:
    said = dev(clone, code="sys.platform = 'win32'")
    assert len(said) == 1 and "use Linux, or WSL (wsl --install)" in said[0]
    assert not (clone / ".venv").exists()


def test_a_mac_hears_what_it_can_do(clone: Path) -> None:
    for words in (["app", "android"], ["build", "swift"], ["build", "jvm", "aarch64"]):
        said = machine.complaint(clone, True, words, system="darwin")
        assert "runs on Linux alone" in said and "build xcframework" in said
    for words in (["build"], ["build", "xcframework"], ["test"], ["wheel"]):
        assert machine.complaint(clone, True, words, system="darwin") == ""
        assert machine.complaint(clone, True, words, system="linux") == ""


def test_pip_on_windows_ends_with_one_line(tmp_path: Path) -> None:
    """CMake's own variable for the host is set by a file that runs before the project's."""
    initial = tmp_path / "windows.cmake"
    initial.write_text(
        "set(CMAKE_HOST_WIN32 TRUE CACHE BOOL '')\nset(SKBUILD TRUE CACHE BOOL '')\n"
    )
    cmake = shutil.which("cmake", path=f"{Path(sys.executable).parent}:{os.environ['PATH']}")
    if cmake is None:
        pytest.skip("no cmake is here")
    command = [cmake, "-C", str(initial), "-S", str(ROOT), "-B", str(tmp_path / "build")]
    done = subprocess.run(command, capture_output=True, text=True, timeout=120)
    said = " ".join(done.stderr.split())
    assert done.returncode != 0 and "install it in WSL (wsl --install)" in said
    assert "compiler" not in (done.stdout + done.stderr).replace("-- ", "").lower()


def test_a_full_disk(clone: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(
        machine.shutil, "disk_usage", lambda _: shutil._ntuple_diskusage(9e9, 8.8e9, 200_000_000)
    )
    said = machine.complaint(clone, is_set_up=False)
    assert said == f"{clone}: {machine.NEEDED_MB} MB are needed and 200 are free: make room"
    assert machine.complaint(clone, is_set_up=True) == ""


def test_a_folder_of_another_user(clone: Path) -> None:
    if os.geteuid() != 0 or shutil.which("setpriv") is None:
        pytest.skip("only root can become another user")
    for folder in (clone, *clone.parents):
        if folder.owner() == "root" and folder != Path("/"):
            folder.chmod(folder.stat().st_mode | 0o055)
    user = ("setpriv", f"--reuid={NOBODY}", f"--regid={NOBODY}", "--clear-groups")
    said = dev(clone, *user)
    assert re.fullmatch(r"\[dev\] \S+\.venv: Permission denied: clone into yours", said[-1]), said


def test_no_network(clone: Path) -> None:
    """pip's own words come first; the last line says what they mean."""
    dead = "http://127.0.0.1:9"
    said = dev(
        clone,
        PIP_INDEX_URL=dead,
        PIP_RETRIES="0",
        PIP_NO_CACHE_DIR="1",
        PIP_CONFIG_FILE="/dev/null",
    )
    assert said[-1].startswith("[dev] the package index cannot be reached: is there a network?")


@pytest.mark.parametrize(
    ("line", "words"),
    [
        ("ERROR: Could not find a version that satisfies x (from versions: none)", "network"),
        ("OSError: [Errno 28] No space left on device", "make room"),
        ("mkdir: cannot create directory 'x': Read-only file system", "clone into yours"),
        ("CMake Error: No CMAKE_CXX_COMPILER could be found.", "install g++"),
        ("g++: fatal error: Killed signal terminated program cc1plus", "out of memory"),
        ("error: expected ';' before '}' token", ""),
    ],
)
def test_advice(line: str, words: str) -> None:
    said = machine.advice(["something before", line, "something behind"])
    assert (words in said) if words else said == ""


def test_a_missing_ziglang_is_named_with_what_installs_it(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(zig.importlib.util, "find_spec", lambda _: None)
    with pytest.raises(SystemExit, match="ziglang is missing: run .* -m pip install ziglang=="):
        zig.zig_program()

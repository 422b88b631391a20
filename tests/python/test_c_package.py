"""What a wheel gives to programs in C: the library by its plain name, CMake and pkg-config."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest
import tvm
import tvm_ffi

ROOT = Path(__file__).parents[2]
BUILD = ROOT / "build" / "dev"
CMAKE = Path(sys.executable).with_name("cmake")
NINJA = Path(sys.executable).with_name("ninja")
PROGRAM = """
#include <mlc_llm.h>
#include <stdio.h>
int main(void) {
  MLCEngine* engine = NULL;
  MLCStatus* status = mlc_engine_create("{\\"mode\\": \\"local\\"}", &engine);
  puts(status == NULL ? "made" : mlc_status_get_error_json(status));
  mlc_engine_destroy(engine);
  return status != NULL;
}
"""
PROJECT = """
cmake_minimum_required(VERSION 3.18)
project(program C)
find_package(mlc_llm 0.1 REQUIRED)
add_executable(program program.c)
target_link_libraries(program PRIVATE mlc_llm::mlc_llm)
"""


@pytest.fixture(scope="module")
def installed(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The folder `mlc_llm` beside TVM's, as in `site-packages`."""
    if not (BUILD / "cmake_install.cmake").exists():
        pytest.skip("there is no build/dev to install from")
    packages = tmp_path_factory.mktemp("site-packages")
    subprocess.run([CMAKE, "--install", BUILD, "--prefix", packages], check=True)
    for package in (tvm, tvm_ffi):
        folder = Path(package.__file__).parent
        (packages / folder.name).symlink_to(folder)
    return packages / "mlc_llm"


@pytest.fixture
def source(tmp_path: Path) -> Path:
    (tmp_path / "program.c").write_text(PROGRAM, encoding="utf-8")
    return tmp_path


def run(*command: str | Path, **env: str) -> str:
    done = subprocess.run(
        list(map(str, command)), capture_output=True, text=True, env={**os.environ, **env}
    )
    assert done.returncode == 0, done.stdout[-2000:] + done.stderr[-2000:]
    return done.stdout


def test_the_library_has_one_plain_name(installed: Path) -> None:
    libraries = sorted(p.name for p in installed.glob("libmlc_llm.so*"))
    assert libraries == ["libmlc_llm.so"] and not (installed / libraries[0]).is_symlink()
    text = run("readelf", "-d", installed / "libmlc_llm.so")
    assert "soname: [libmlc_llm.so]" in text


def test_a_program_by_cmake(installed: Path, source: Path) -> None:
    (source / "CMakeLists.txt").write_text(PROJECT, encoding="utf-8")
    settings = (f"-Dmlc_llm_ROOT={installed}", f"-DCMAKE_MAKE_PROGRAM={NINJA}")
    run(CMAKE, "-S", source, "-B", source / "build", "-G", "Ninja", *settings)
    run(CMAKE, "--build", source / "build")
    assert run(source / "build" / "program") == "made\n"


def test_a_program_by_pkg_config(installed: Path, source: Path) -> None:
    if shutil.which("pkg-config") is None:
        pytest.skip("pkg-config is not installed")
    where = {"PKG_CONFIG_PATH": str(installed / "pkgconfig")}
    flags = run("pkg-config", "--cflags", "--libs", "mlc_llm", **where).split()
    run("cc", source / "program.c", *flags, "-o", source / "program")
    assert run(source / "program") == "made\n"


def test_plugins_of_other_systems_stay_out_of_a_wheel() -> None:
    """The rule: an editable build, such as this one, has all of them for the tests."""
    text = (ROOT / "cmake" / "DevicePlugins.cmake").read_text(encoding="utf-8")
    script = text[text.index("function(") : text.index("endfunction()")]
    condition = script[script.index("if(MLC_BUILD_PYTHON") : script.index("install(")]
    for system, state, wanted in (
        ("Linux", "wheel", False),
        ("Linux", "editable", True),
        ("Darwin", "wheel", True),
    ):
        lines = (
            f'set(CMAKE_SYSTEM_NAME "{system}")\nset(SKBUILD_STATE "{state}")\n'
            "set(MLC_BUILD_PYTHON ON)\nset(ARGN Darwin iOS)\n"
            f'{condition}message("installs")\nendif()\n'
        )
        done = subprocess.run(
            [CMAKE, "-P", "/dev/stdin"], input=lines, capture_output=True, text=True
        )
        assert done.returncode == 0, done.stderr
        assert ("installs" in done.stderr) == wanted, (system, state)

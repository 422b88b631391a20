"""The jar for desktop programs: what is in it, and a Java program with nothing but it."""

from __future__ import annotations

import os
import re
import struct
import subprocess
import sys
import zipfile
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]
KOTLIN = ROOT / "bindings" / "kotlin" / "build.py"
FAKE_MODEL = ROOT / "tests" / "fixtures" / "fake-model"
NATIVE = "ai/mlc/mlcllm/native/linux-x86_64"
CANNOT_BUILD = 77


@pytest.fixture(scope="module")
def class_path() -> list[str]:
    """What the jar's POM names, as files: Kotlin's libraries."""
    done = subprocess.run(
        [sys.executable, str(KOTLIN), "classpath"], capture_output=True, text=True
    )
    if done.returncode == CANNOT_BUILD:
        pytest.skip(done.stderr.strip().splitlines()[-1])
    return done.stdout.strip().split(os.pathsep)[1:]


@pytest.fixture(scope="module")
def jar(class_path: list[str]) -> Path:
    command = [sys.executable, "-m", "devtools.jvm"]
    done = subprocess.run(command, capture_output=True, text=True, cwd=ROOT)
    assert done.returncode == 0, done.stderr[-4000:]
    return ROOT / done.stdout.split(":")[0]


def test_the_libraries_of_this_system_are_in_it(jar: Path) -> None:
    with zipfile.ZipFile(jar) as archive:
        names = set(archive.namelist())
        listed = archive.read(f"{NATIVE}/libraries.txt").decode().split()
        for name in listed:
            data = archive.read(f"{NATIVE}/{name}")
            assert data[:5] == b"\x7fELF\x02" and struct.unpack_from("<H", data, 18) == (62,)
            for path in re.findall(rb"/(?:home|root|work)/[\w./\-]+", data):
                assert not path.endswith((b"/lib", b"/core")), (name, path)  # no run path of ours
        assert {"libmlc_llm.so", "libmlc_llm_jni.so"} <= set(listed)
    assert {n.rpartition("/")[2] for n in names if n.startswith(NATIVE)} == {
        *listed,
        "libraries.txt",
    }
    assert "ai/mlc/mlcllm/MLCEngine.class" in names


def test_a_program_needs_no_system_property(
    jar: Path, class_path: list[str], tmp_path: Path
) -> None:
    readme = (KOTLIN.parent / "README.md").read_text(encoding="utf-8")
    source = tmp_path / "Hello.java"
    source.write_text(readme.split("```java\n")[1].split("```")[0], encoding="utf-8")
    temporary = tmp_path / "temporary"
    temporary.mkdir()
    command = [
        "java", f"-Djava.io.tmpdir={temporary}", "-cp", os.pathsep.join([str(jar), *class_path]),
        str(source), str(FAKE_MODEL), "none", "fake",
    ]  # fmt: skip
    done = subprocess.run(command, capture_output=True, text=True, cwd=tmp_path)
    assert done.returncode == 0, done.stderr[-4000:]
    assert len(done.stdout) > 10 and "null" not in done.stdout
    assert list(temporary.glob("mlc_llm*")) == []  # the copies are gone


def test_a_second_build_has_the_same_bytes(jar: Path, pytestconfig: pytest.Config) -> None:
    if not pytestconfig.getoption("--long"):
        pytest.skip("builds the jar once more: run with --long")
    before = jar.read_bytes()
    subprocess.run([sys.executable, "-m", "devtools.jvm"], check=True, cwd=ROOT)
    assert jar.read_bytes() == before

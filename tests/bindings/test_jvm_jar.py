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
from devtools import jvm, jvm_machines

from mlc_llm.prepare.model_source import resolve_model

ROOT = Path(__file__).resolve().parents[2]
KOTLIN = ROOT / "bindings" / "kotlin" / "build.py"
FAKE_MODEL = ROOT / "tests" / "fixtures" / "fake-model"
CANNOT_BUILD = 77
sys.path[:0] = [str(ROOT / "tests" / "python"), str(ROOT / "tests" / "python" / "convert")]

import arm64_linux  # noqa: E402
import tiny_models  # noqa: E402

# Prints the tokens of an answer of the model that its arguments name.
ANSWER = r"""
import ai.mlc.mlcllm.*;
import java.util.List;

class Answer {
    public static void main(String[] arguments) throws Exception {
        try (MLCEngine engine = new MLCEngine()) {
            engine.loadAsync(arguments[0], arguments[1], "cpu").get();
            var message = new ChatCompletionMessage(ChatCompletionRole.user, "Hello");
            var request = new ChatCompletionRequestBuilder(List.of(message))
                .temperature(0.0).seed(7L).max_tokens(8L).logprobs(true)
                .debug_config(new DebugConfig(true)).build();
            var answer = engine.chat().completions().completeAsync(request).get();
            answer.getChoices().get(0).getLogprobs().getContent()
                .forEach(one -> System.out.println(one.getToken().replace("\n", "\\n")));
        }
    }
}
"""


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


def libraries_in(jar: Path, system: str) -> dict[str, bytes]:
    """Those of a system; the jar lists each of them, and nothing else is there."""
    folder = f"ai/mlc/mlcllm/native/{system}/"
    with zipfile.ZipFile(jar) as archive:
        held = {n.removeprefix(folder): archive.read(n) for n in archive.namelist() if folder in n}
    assert held.pop("libraries.txt").decode().split() == sorted(held)
    return held


def test_the_libraries_of_this_system_are_in_it(jar: Path) -> None:
    libraries = libraries_in(jar, "linux-x86_64")
    for name, data in libraries.items():
        assert data[:5] == b"\x7fELF\x02" and struct.unpack_from("<H", data, 18) == (62,)
        for path in re.findall(rb"/(?:home|root|work)/[\w./\-]+", data):
            assert not path.endswith((b"/lib", b"/core")), (name, path)  # no run path of ours
    assert {"libmlc_llm.so", "libmlc_llm_jni.so"} <= set(libraries)
    with zipfile.ZipFile(jar) as archive:
        assert "ai/mlc/mlcllm/MLCEngine.class" in archive.namelist()


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


def test_what_another_cpu_needs_is_said(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    with pytest.raises(SystemExit, match=r"riscv64: not a CPU of this build \(aarch64\)"):
        jvm.natives_of_machines(["riscv64"])
    monkeypatch.setattr(jvm_machines, "ROOT", tmp_path)
    with pytest.raises(SystemExit, match=r"no wheel for aarch64: ./dev wheel aarch64"):
        jvm.natives_of_machines(["aarch64"])


def for_old_linux(libraries: dict[str, bytes]) -> None:
    """Read by lief: for that CPU, and for glibc 2.28."""
    lief = pytest.importorskip("lief")
    assert {"libmlc_llm.so", "libmlc_llm_jni.so"} <= set(libraries)
    for name, data in libraries.items():
        library = lief.parse(list(data))
        assert library.header.machine_type.name == "AARCH64", name
        versions = {
            version.name
            for needed in library.symbols_version_requirement
            for version in needed.get_auxiliary_symbols()
        }
        glibc = [v.removeprefix("GLIBC_") for v in versions if v.startswith("GLIBC_2")]
        assert max(tuple(map(int, v.split("."))) for v in glibc) <= (2, 28), name


def answer_of(java: list[str], path: list[str], *arguments: object) -> str:
    """What the class Answer prints."""
    command = [*java, "-cp", os.pathsep.join(path), "Answer", *map(str, arguments)]
    done = subprocess.run(command, capture_output=True, text=True, timeout=1500)
    assert done.returncode == 0, done.stderr[-4000:]
    return done.stdout


@pytest.mark.parametrize("kind", ["tiny", "default"])
def test_linux_on_aarch64_answers_with_these_tokens(
    kind: str,
    class_path: list[str],
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    pytestconfig: pytest.Config,
) -> None:
    """The jar's libraries for that CPU, on its JVM under qemu."""
    if not pytestconfig.getoption("--long"):
        pytest.skip("fetches a JVM for that CPU: run with --long")
    if not list((ROOT / "dist").glob("mlc_llm-*_aarch64.whl")):
        pytest.skip("not built: ./dev wheel aarch64")
    monkeypatch.setattr(jvm, "RUNTIME", tmp_path / "runtime")
    java = arm64_linux.java()
    folder = None  # the default model, kept between runs
    if kind == "tiny":
        monkeypatch.setenv("MLC_LLM_HOME", str(tmp_path / "home"))
        folder = tiny_models.write_hf_folder(tmp_path / "tiny", tiny_models.random_weights())
    model = resolve_model(folder, device="cpu", quantization="q4f32_1", progress=lambda _: None)
    jar = jvm.make(["aarch64"])
    for_old_linux(libraries_in(jar, "linux-aarch64"))
    assert "libmlc_llm.so" in libraries_in(jar, "linux-x86_64")  # this system's are there too
    path = [str(jar), *class_path, str(tmp_path)]
    (tmp_path / "Answer.java").write_text(ANSWER)
    javac = ["javac", "-cp", os.pathsep.join(path), "-d", tmp_path, tmp_path / "Answer.java"]
    subprocess.run(javac, check=True)
    expected = answer_of(["java"], path, model.folder, model.model_lib)
    assert len(expected.splitlines()) == 8
    library = arm64_linux.compiled(model.folder, tmp_path)
    assert answer_of(java, path, model.folder, library) == expected

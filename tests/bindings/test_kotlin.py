"""The Kotlin binding's own tests, in Kotlin and Java, under the virtual machine's check of JNI."""

from __future__ import annotations

import os
import re
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from mlc_llm.prepare.model_source import ResolvedModel

ROOT = Path(__file__).resolve().parents[2]
BUILD = ROOT / "bindings" / "kotlin" / "build.py"
CANNOT_BUILD = 77


def test_the_binding_passes_its_tests(default_model: ResolvedModel) -> None:
    command = [sys.executable, str(BUILD), "test"]
    model = {
        "MLC_TEST_MODEL": str(default_model.folder),
        "MLC_TEST_MODEL_LIB": str(default_model.model_lib),
    }
    done = subprocess.run(command, capture_output=True, text=True, env={**os.environ, **model})
    if done.returncode == CANNOT_BUILD:
        pytest.skip(done.stderr.strip().splitlines()[-1])
    assert done.returncode == 0, done.stdout[-8000:] + done.stderr[-4000:]
    assert "\nOK (" in done.stdout


def test_the_readmes_program_runs(tmp_path: Path) -> None:
    """With the class path and the properties that stand there."""
    command = [sys.executable, str(BUILD), "classpath"]
    done = subprocess.run(command, capture_output=True, text=True)
    if done.returncode == CANNOT_BUILD:
        pytest.skip(done.stderr.strip().splitlines()[-1])
    readme = (BUILD.parent / "README.md").read_text(encoding="utf-8")
    source = readme.split("```java\n")[1].split("```")[0]
    (tmp_path / "Hello.java").write_text(source, encoding="utf-8")
    properties = re.findall(r"-Dmlc_llm\.\w+=\S+", readme)
    model = str(ROOT / "tests" / "fixtures" / "fake-model")
    program = ["java", "-cp", done.stdout.strip(), *properties, str(tmp_path / "Hello.java")]
    answer = subprocess.run(
        [*program, model, "none", "fake"], capture_output=True, text=True, cwd=ROOT
    )
    assert answer.returncode == 0, answer.stderr[-4000:]
    assert len(answer.stdout) > 10 and "null" not in answer.stdout


# Loads the library by the name that its arguments give, as MLC-LLM's apps do, and answers.
BARE_NAME = r"""
import ai.mlc.mlcllm.*;
import java.util.List;

class BareName {
    public static void main(String[] arguments) throws Exception {
        try (MLCEngine engine = new MLCEngine()) {
            engine.reload(arguments[0], arguments[1]);
            var message = new ChatCompletionMessage(ChatCompletionRole.user, "Hello");
            var request = new ChatCompletionRequestBuilder(List.of(message)).max_tokens(2L).build();
            var answer = engine.chat().completions().completeAsync(request).get();
            System.out.println(answer.getUsage().getCompletion_tokens() + " tokens");
        } catch (MLCException error) {
            System.out.println(error.getCode() + ": " + error.getMessage());
        }
    }
}
"""


def test_a_bare_name_is_found_where_the_loader_searches(
    default_model: ResolvedModel, tmp_path: Path
) -> None:
    """A JVM opens the core for itself alone; the model's library needs its functions."""
    build = subprocess.run(
        [sys.executable, str(BUILD), "classpath"], capture_output=True, text=True
    )
    if build.returncode == CANNOT_BUILD:
        pytest.skip(build.stderr.strip().splitlines()[-1])
    (tmp_path / "BareName.java").write_text(BARE_NAME)
    shutil.copy(default_model.model_lib, tmp_path / "libhello_q4f32_1.so")
    (tmp_path / "libbroken.so").write_text("no library\n")

    def run(name: str) -> str:
        jni, core = ROOT / "build/kotlin/libmlc_llm_jni.so", ROOT / "build/dev/core/libmlc_llm.so"
        program = [
            "java", "-cp", build.stdout.strip(), f"-Dmlc_llm.jni={jni}", f"-Dmlc_llm.core={core}",
            str(tmp_path / "BareName.java"), str(default_model.folder), name,
        ]  # fmt: skip
        folders = {"LD_LIBRARY_PATH": str(tmp_path)}
        done = subprocess.run(program, capture_output=True, text=True, env=os.environ | folders)
        assert done.returncode == 0, done.stderr[-4000:]
        return done.stdout

    assert run("hello_q4f32_1") == "2 tokens\n"
    assert "libbroken.so: " in run("broken")  # the loader's reason, not advice about linking
    assert "link the whole archive" in run("absent")

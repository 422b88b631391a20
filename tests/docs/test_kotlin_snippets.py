"""The Kotlin programs of the pages and of examples/kotlin compile, each in a package of its own.
The examples run, too."""

from __future__ import annotations

import os
import sys
from pathlib import Path

import native_examples
import pytest
import snippets

sys.path.append(str(snippets.ROOT / "bindings" / "kotlin"))

import build  # noqa: E402

EXAMPLES = snippets.ROOT / "examples" / "kotlin"


@pytest.fixture(scope="module")
def class_path(tmp_path_factory: pytest.TempPathFactory) -> list[Path]:
    """All programs are compiled in one run of the compiler: its start takes as long as they do."""
    folder = tmp_path_factory.mktemp("kotlin")
    programs = snippets.to_run("kotlin")
    assert len(programs) >= 5
    texts = {f"Snippet{number}": program.text for number, program in enumerate(programs)}
    for name in native_examples.all_of(EXAMPLES, ".kt"):
        texts[name] = (EXAMPLES / f"{name}.kt").read_text(encoding="utf-8")
    for name, text in texts.items():
        file = folder / f"{name}.kt"
        file.write_text(f"package {name.lower()}\n\n{text}", encoding="utf-8")
    try:
        with build.exclusive():
            path = [build.core_classes(), *build.libraries()]
            build.kotlinc(sorted(folder.glob("*.kt")), folder / "classes", path)
            build.native_library()
    except build.UnavailableError as error:
        pytest.skip(str(error))
    return [folder / "classes", *path]


def test_the_programs_compile(class_path: list[Path]) -> None:
    compiled = {path.parent.name for path in class_path[0].rglob("*.class")}
    assert {"snippet0", *map(str.lower, native_examples.PROGRAMS)} <= compiled


@pytest.mark.parametrize("name", native_examples.PROGRAMS)
def test_an_example_runs(name: str, class_path: list[Path], tmp_path: Path) -> None:
    places = {"jni": build.BUILD / "libmlc_llm_jni.so", "core": build.core_library()}
    options = [f"-Dmlc_llm.{key}={path}" for key, path in places.items()]
    java = [str(build.jdk() / "bin" / "java"), *build.QUICK, *options]
    command = [*java, "-cp", build.class_path(class_path), f"{name.lower()}.{name}Kt"]
    native_examples.check(name, command, os.environ, tmp_path)

"""An app's Kotlin code against the AAR, as Gradle compiles it: with `classes.jar` out of the AAR
and the libraries that its POM names."""

from __future__ import annotations

import xml.etree.ElementTree as ElementTree
import zipfile
from pathlib import Path

import pytest
from devtools import kotlin_parts
from devtools.android import build, publish

from mlc_llm.package.aar import write_aar
from mlc_llm.package.maven import pom

APP = """
package com.example.chat

import ai.mlc.mlcllm.ChatCompletionMessage
import ai.mlc.mlcllm.ChatCompletionRole
import ai.mlc.mlcllm.MLCEngine

suspend fun answer(model: String, library: String, question: String, show: (String) -> Unit) {
    val engine = MLCEngine()
    engine.load(model, library)
    val messages = listOf(ChatCompletionMessage(ChatCompletionRole.user, question))
    engine.chat.completions.stream(messages, max_tokens = 100).collect { chunk ->
        show(chunk.choices.firstOrNull()?.delta?.content.orEmpty())
    }
    engine.close()
}
"""


@pytest.fixture(scope="module")
def aar(tmp_path_factory: pytest.TempPathFactory, pytestconfig: pytest.Config) -> Path:
    if not pytestconfig.getoption("--long"):
        pytest.skip("compiles Kotlin: run with --long")
    libraries = {"arm64-v8a": dict.fromkeys(build.LIBRARIES, b"not looked at")}
    return write_aar(tmp_path_factory.mktemp("aar") / "one.aar", publish.aar_of(libraries))


def compile_app(aar: Path, folder: Path, text: str) -> None:
    with zipfile.ZipFile(aar) as archive:
        archive.extract("classes.jar", folder)
    (folder / "App.kt").write_text(text)
    kotlin = kotlin_parts.kotlin_build()
    path = [folder / "classes.jar", *kotlin.libraries()]
    kotlin.kotlinc([folder / "App.kt"], folder / "out", path)


def test_an_app_compiles_against_the_classes(aar: Path, tmp_path: Path) -> None:
    compile_app(aar, tmp_path, APP)
    assert list((tmp_path / "out" / "com" / "example" / "chat").glob("AppKt*.class"))


def test_what_is_not_in_the_aar_is_an_error(aar: Path, tmp_path: Path) -> None:
    with pytest.raises(SystemExit, match="loadd"):
        compile_app(aar, tmp_path, APP.replace("engine.load(", "engine.loadd("))


def test_the_pom_names_what_the_classes_need(aar: Path) -> None:
    found = ElementTree.fromstring(pom(publish.android_artifact()))
    names = {one.text for one in found.findall(".//{*}artifactId")}
    assert {"mlcllm", "kotlin-stdlib", "kotlinx-serialization-json"} <= names
    assert "kotlinx-coroutines-android" in names

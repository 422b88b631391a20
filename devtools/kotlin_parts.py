"""What the artifacts for Android and for the JVM share: classes, sources and reference of the
Kotlin binding, as bytes.
"""

from __future__ import annotations

import importlib.util
from pathlib import Path
from types import ModuleType

from devtools import reference

from mlc_llm.package.archive import files_below, zipped
from mlc_llm.package.maven import Dependency

ROOT = Path(__file__).resolve().parents[1]
KOTLIN = ROOT / "bindings" / "kotlin"
GROUP = "ai.mlc"
LIBRARIES_OF_KOTLIN = (
    Dependency("org.jetbrains.kotlin", "kotlin-stdlib", "2.2.20"),
    Dependency("org.jetbrains.kotlinx", "kotlinx-serialization-json", "1.9.0"),
)
COROUTINES = "1.10.2"


def version() -> str:
    from importlib.metadata import version as installed

    return installed("mlc-llm")


def kotlin_build() -> ModuleType:
    """bindings/kotlin/build.py, which is a program and in no package."""
    spec = importlib.util.spec_from_file_location("kotlin_build", KOTLIN / "build.py")
    assert spec is not None and spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def classes(android: bool = False) -> dict[str, bytes]:
    """The binding's classes, with those for Android alone if asked. Compiling needs a JDK."""
    kotlin = kotlin_build()
    try:
        with kotlin.exclusive():
            found: dict[str, bytes] = files_below(kotlin.core_classes())
            more = files_below(kotlin.android_classes()) if android else {}
            return found | {n: data for n, data in more.items() if not n.startswith("android/")}
    except kotlin.UnavailableError as error:
        raise SystemExit(f"[dev] the Kotlin classes: {error}") from None


def sources_jar(scratch: Path, android: bool = False) -> bytes:
    parts = ("core", "android") if android else ("core",)
    folders = (files_below(KOTLIN / part / "src" / "main" / "kotlin") for part in parts)
    return zipped({name: data for files in folders for name, data in files.items()}, scratch)


def reference_jar(scratch: Path) -> bytes:
    """The reference pages as HTML: what `-javadoc.jar` is in a repository."""
    from markdown_it import MarkdownIt

    markdown = MarkdownIt("commonmark").enable("table")
    pages = {}
    for name, title in (("kotlin", "index"), ("kotlin-types", "types")):
        text = (ROOT / "docs" / "reference" / f"{name}.md").read_text(encoding="utf-8")
        body = markdown.render(reference.filled(text)).replace("kotlin-types.md", "types.html")
        page = "<!DOCTYPE html>\n<html><head><meta charset='utf-8'><title>mlc_llm</title></head>\n"
        pages[f"{title}.html"] = f"{page}<body>\n{body}</body></html>\n".encode()
    return zipped(pages, scratch)

"""The reference pages have all that is public in Python, C, Swift and Kotlin."""

from __future__ import annotations

import inspect
import pydoc
import re
from collections.abc import Iterable
from functools import cached_property
from pathlib import Path

import pytest
from devtools import reference
from devtools.declarations import declarations, outline

import mlc_llm

ROOT = Path(__file__).resolve().parents[2]
PAGES = ROOT / "docs" / "reference"
HEADER = ROOT / "core" / "include" / "mlc_llm.h"
SWIFT = ROOT / "bindings" / "swift" / "Sources" / "MLCSwift"
KOTLIN = ROOT / "bindings" / "kotlin" / "core" / "src" / "main" / "kotlin" / "ai" / "mlc" / "mlcllm"
SWIFT_DECLARATION = re.compile(
    r"^ *(?:@\w+ )*public (?:[a-z]+ )*?(class|struct|enum|protocol|typealias|func) (\w+)", re.M
)
# What Swift's protocols want of every type: a page of it would say nothing.
SWIFT_PLUMBING = {"func encode", "func hash"}
KOTLIN_DECLARATION = re.compile(
    r"^(?!.*\b(?:internal|private)\b.*[({=:])(?:[a-z]+ )*?"
    r"(class|interface|object|fun|typealias) (?!interface)(?:<.*?> )?(?:\w+\.)?(\w+)",
    re.M,
)
SHOWN = re.compile(
    r"\b(class|struct|enum|protocol|interface|object|typealias|func|fun) (?!class|interface)"
    r"(?:<.*?> )?(?:\w+\.)?(\w+)"
)
KOTLIN_METHOD = re.compile(r"^ {4}(?:(?:suspend|override) )*(fun) (\w+)", re.M)


def page(*names: str) -> str:
    """The pages as the site shows them."""
    return "\n".join(reference.filled((PAGES / name).read_text("utf-8")) for name in names)


def missing(pairs: Iterable[tuple[str, str]], text: str) -> list[str]:
    """The declarations, as `fun load`, that a page does not have."""
    shown = set(SHOWN.findall(text))
    return sorted({f"{kind} {name}" for kind, name in pairs if (kind, name) not in shown})


def directives() -> list[str]:
    """What mkdocstrings is asked for."""
    text = page("python.md", "python-types.md", "python-answers.md")
    return re.findall(r"^::: (\S+)$", text, re.MULTILINE)


def test_every_public_name_of_python_is_on_a_page() -> None:
    asked = directives()
    for name in mlc_llm.__all__:
        value = getattr(mlc_llm, name)
        where = {f"mlc_llm.{name}", getattr(value, "__module__", "")}
        assert where & set(asked), name
    assert "mlc_llm.types_gen" in asked  # all types of the protocol


@pytest.mark.parametrize("engine", [mlc_llm.MLCEngine, mlc_llm.AsyncMLCEngine])
def test_the_python_page_has_what_the_engines_inherit(engine: type) -> None:
    inherited = {n for n in dir(engine) if n[0] != "_"} - vars(engine).keys()
    listed = f"::: mlc_llm.{engine.__name__}\n    options:\n      inherited_members: "
    assert f"{listed}[{', '.join(sorted(inherited))}]\n" in page("python.md")


@pytest.mark.parametrize("name", directives())
def test_what_the_python_page_asks_for_is_there_and_described(name: str) -> None:
    value = pydoc.locate(name)
    assert inspect.getdoc(value), name
    if inspect.isclass(value):  # the page leaves out what has no docstring
        methods = {n: m for n, m in vars(value).items() if n[0] != "_"}
        kinds = (cached_property, property)
        bare = [n for n, m in methods.items() if callable(m) or isinstance(m, kinds)]
        assert [n for n in bare if not methods[n].__doc__] == []


def test_every_function_of_the_header_is_on_the_page() -> None:
    code = re.sub(r"/\*.*?\*/", "", HEADER.read_text("utf-8"), flags=re.DOTALL)
    functions = set(re.findall(r"^MLC_LLM_API .*?\b(mlc_\w+)\(", code, re.MULTILINE))
    text = page("c.md")
    titles = set(re.findall(r"\w+", " ".join(re.findall(r"^### (.*)$", text, re.MULTILINE))))
    assert len(functions) > 20 and functions - titles == set()
    assert "mlc_event_callback" in titles and "## Requests" in text and "MLC_LLM_API" not in text
    assert '    "kv.save": KVSaveRequest -> KVSaveResponse\n' in text


def test_all_that_is_public_in_swift_is_on_a_page() -> None:
    sources = "\n".join(path.read_text("utf-8") for path in sorted(SWIFT.rglob("*.swift")))
    public = SWIFT_DECLARATION.findall(sources)
    text = page("swift.md", "swift-types.md")
    assert len(public) > 100 and set(missing(public, text)) <= SWIFT_PLUMBING
    assert {("func", "load"), ("func", "trimMemory"), ("func", "runTools")} <= set(public)
    assert "package func" not in text


def test_all_that_is_public_in_kotlin_is_on_a_page() -> None:
    sources = "\n".join(path.read_text("utf-8") for path in sorted(KOTLIN.rglob("*.kt")))
    public = KOTLIN_DECLARATION.findall(sources)
    public += KOTLIN_METHOD.findall((KOTLIN / "engine" / "MLCEngine.kt").read_text("utf-8"))
    text = page("kotlin.md", "kotlin-types.md")
    assert len(public) > 100 and missing(public, text) == []
    assert {("fun", "load"), ("fun", "trimMemory"), ("fun", "runTools")} <= set(public)
    assert "internal fun" not in text and "private fun" not in text


def test_what_a_page_lacks_is_found() -> None:
    assert missing([("fun", "load"), ("fun", "close")], "suspend fun load()") == ["fun close"]
    with pytest.raises(AssertionError, match="there are no such files"):
        reference.filled("<!-- declarations of core/include/nothing.h -->")


SWIFT_TEXT = """
/// An engine.
public final class Engine: Sendable {
    let hidden = 1
    /// Loads a model.
    @discardableResult
    public func load(
        model: String, // as { in a shell
        then: (Int) -> Void = { _ in }
    ) async throws -> Int {
        let inner = 2
        return inner
    }

    package func forTests() {}
    public enum Mode: String { // how
        /// Many.
        case server = "s"
    }
}

extension Engine {
    func helper() {}
}
"""
KOTLIN_TEXT = """
/** An engine: see [load]. */
class Engine @JvmOverloads constructor(
    /** How. */
    @EncodeDefault
    val config: Config = Config("{"),
) : Calls(1, of(2)),
    AutoCloseable {
    private val hidden = 1

    /** Loads a model. */
    @JvmOverloads
    suspend fun load(model: String): Unit = withContext(IO) {
        val inner = 2
    }

    internal fun forTests() = 1
    override fun toString(): String = ""
    companion object {
        private val all = 1
    }
}

internal class Helper(val x: Int)

/** Words. */
enum class Word(val text: String) {
    /** Yes. */
    YES("yes"),
}
"""


def outlines(text: str, language: str) -> list[str]:
    return ["\n".join(outline(one)) for one in declarations(text.split("\n"), language)]


def test_the_declarations_of_a_swift_source() -> None:
    assert outlines(SWIFT_TEXT, "swift") == [
        "/// An engine.\npublic final class Engine: Sendable {\n"
        "    /// Loads a model.\n    public func load(\n"
        "        model: String, // as { in a shell\n        then: (Int) -> Void = { _ in }\n"
        "    ) async throws -> Int\n    public enum Mode: String {\n"
        '        /// Many.\n        case server = "s"\n    }\n}'
    ]


def test_the_declarations_of_a_kotlin_source() -> None:
    engine, word = outlines(KOTLIN_TEXT, "kotlin")
    assert engine == (
        "/** An engine: see [load]. */\nclass Engine(\n    /** How. */\n"
        '    val config: Config = Config("{"),\n) : Calls, AutoCloseable {\n'
        "    /** Loads a model. */\n    suspend fun load(model: String): Unit\n}"
    )
    assert word.endswith('{\n    /** Yes. */\n    YES("yes"),\n}')
    (first, _) = declarations(KOTLIN_TEXT.split("\n"), "kotlin")
    assert reference.prose(first.comment) == "An engine: see `load`.\n"

"""The Swift package: its own tests, and that what is generated compiles without a warning."""

from __future__ import annotations

import re
import subprocess
import sys
from pathlib import Path

import pytest

from mlc_llm.prepare.model_source import ResolvedModel

HERE = Path(__file__).resolve().parent
sys.path.insert(0, str(HERE / "swift"))

import toolchain  # noqa: E402

GOLDEN = HERE.parent / "codegen" / "golden"
SOURCES = toolchain.PACKAGE / "Sources"
APP_MANIFEST = """// swift-tools-version: 6.0
import PackageDescription
let package = Package(
    name: "App",
    platforms: [.macOS(.v13)],
    dependencies: [.package(PACKAGE)],
    targets: [
        .executableTarget(
            name: "App", dependencies: [.product(name: "MLCSwift", package: "swift")])
    ])
"""
APP = """import MLCSwift
let engine = MLCEngine()
try await engine.load(model: CommandLine.arguments[1], device: "fake")
let messages = [ChatCompletionMessage(role: .user, content: "Hello")]
for try await chunk in engine.chat.completions.stream(messages: messages, max_tokens: 20) {
    print(chunk.choices.first?.delta.content ?? "", terminator: "")
}
"""


@pytest.fixture(scope="module")
def swift() -> str:
    found = toolchain.find_swift()
    if found is None:
        pytest.skip("swift is neither on PATH nor in its usual place")
    return found


def run(command: list[str], **env: str) -> subprocess.CompletedProcess[str]:
    done = subprocess.run(
        command, env={**toolchain.environment(), **env}, capture_output=True, text=True
    )
    assert done.returncode == 0, (done.stdout + done.stderr)[-6000:]
    return done


def test_the_package_passes_its_own_tests(swift: str, default_model: ResolvedModel) -> None:
    done = run(
        toolchain.command(swift, "test"),
        MLC_TEST_MODEL=str(default_model.folder),
        MLC_TEST_MODEL_LIB=str(default_model.model_lib),
    )
    counts = re.search(r"Test run with (\d+) tests.* passed", done.stdout + done.stderr)
    assert counts is not None and int(counts[1]) > 20, done.stdout[-2000:]


def test_the_package_passes_under_the_thread_sanitizer(
    swift: str, default_model: ResolvedModel, pytestconfig: pytest.Config
) -> None:
    if not pytestconfig.getoption("--long"):
        pytest.skip("builds everything once more; run with --long")
    scratch = ("--scratch-path", f"{toolchain.BUILD}-tsan", "--sanitize=thread")
    run(
        toolchain.command(swift, "test", *scratch),
        MLC_TEST_MODEL=str(default_model.folder),
        MLC_TEST_MODEL_LIB=str(default_model.model_lib),
        TSAN_OPTIONS="halt_on_error=1",
    )


def test_the_sources_are_as_the_formatter_leaves_them(swift: str) -> None:
    run([swift, "format", "lint", "--strict", "-r", str(SOURCES), str(toolchain.PACKAGE / "Tests")])


@pytest.mark.parametrize("by", ["path", "url"])
def test_an_app_takes_the_package(
    swift: str, by: str, tmp_path: Path, pytestconfig: pytest.Config
) -> None:
    if not pytestconfig.getoption("--long"):
        pytest.skip("builds everything once more; run with --long")
    package = f'path: "{toolchain.PACKAGE}"'
    if by == "url":
        clone = tmp_path / "swift"
        run(["git", "clone", "-q", "--no-hardlinks", str(toolchain.ROOT), str(clone)])
        run(["git", "-C", str(clone), "checkout", "-q", "-B", "app"])
        package = f'url: "file://{clone}", branch: "app"'
    app = tmp_path / "app"
    (app / "Sources" / "App").mkdir(parents=True)
    (app / "Package.swift").write_text(APP_MANIFEST.replace("PACKAGE", package))
    (app / "Sources" / "App" / "main.swift").write_text(APP)
    folder = str(toolchain.LIBRARY.parent)
    linker = [word for flag in ("-L", "-rpath") for word in ("-Xlinker", flag, "-Xlinker", folder)]
    verb = [swift, "run", "--package-path", str(app), "--disable-sandbox", *linker, "App"]
    model = toolchain.ROOT / "tests" / "fixtures" / "fake-model"
    done = run([*verb, str(model)])
    assert len(done.stdout.strip()) > 10


def test_what_is_generated_from_the_small_schema_compiles(swift: str, tmp_path: Path) -> None:
    """With every feature of a schema, keywords as names among them. What stands beside it in the
    module is read, and was checked when the package was built."""
    for name in ("Types", "Completions", "Walks"):
        text = (GOLDEN / f"{name}.gen.swift.txt").read_text(encoding="utf-8")
        text = re.sub(r"let schemaHash = .*\n", "", text)  # the real protocol is there too
        (tmp_path / f"Small{name}.swift").write_text(text, encoding="utf-8")
    (tmp_path / "Stub.swift").write_text(
        "extension Piece: FailableChunk {\n"
        "    public static func failed(_ request: Request, after last: Self?, with error: MLCError)"
        " -> Self { last! }\n"
        "    public func withContent() -> Self { self }\n"
        "}\n"
    )
    beside = sorted(map(str, (SOURCES / "MLCSwift").rglob("*.swift")))
    checked = [
        word for path in sorted(tmp_path.glob("*.swift")) for word in ("-primary-file", path)
    ]
    compiler = str(Path(swift).with_name("swiftc"))
    options = [
        "-frontend",
        "-typecheck",
        "-swift-version",
        "6",
        "-warnings-as-errors",
        "-parse-as-library",
    ]
    modules = ["-module-name", "MLCSwift", "-package-name", "small"]
    core = ["-Xcc", f"-fmodule-map-file={SOURCES / 'CMLCLLM' / 'module.modulemap'}"]
    run([compiler, *options, *modules, *core, *map(str, checked), *beside])


# Of Apple's documentation of FoundationModels.
FOUNDATION_MODELS = set(
    "Adapter ConvertibleFromGeneratedContent ConvertibleToGeneratedContent DynamicGenerationSchema "
    "Generable GeneratedContent GenerationGuide GenerationID GenerationOptions GenerationSchema "
    "Guide Instructions InstructionsBuilder InstructionsRepresentable LanguageModelFeedback "
    "LanguageModelSession Prompt PromptBuilder PromptRepresentable SystemLanguageModel Tool "
    "ToolOutput Transcript".split()
)


def test_no_name_is_one_of_foundation_models() -> None:
    """An app may import both modules, and would have to write the module before such a name."""
    declaration = re.compile(
        r"^public (?:final )?(?:class|struct|enum|protocol|actor|typealias) (\w+)"
    )
    lines = [
        line
        for path in (SOURCES / "MLCSwift").rglob("*.swift")
        for line in path.read_text(encoding="utf-8").splitlines()
    ]
    names = {found[1] for line in lines if (found := declaration.match(line))}
    assert {"ModelTool", "PromptInput", "MLCEngine"} <= names
    assert names & FOUNDATION_MODELS == set()

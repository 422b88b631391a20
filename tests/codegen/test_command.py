"""`python -m codegen`: the files of the repository are current, and a new field is one edit."""

from __future__ import annotations

import json
import re
import shutil
import subprocess
import sys
from functools import cache
from pathlib import Path

import pytest
from codegen import formatters
from codegen.__main__ import LANGUAGES
from codegen.lower import lower
from codegen.schema import PROTOCOL

ROOT = Path(__file__).resolve().parents[2]
SAMPLING = "codegen.languages.sampling"
ERRORS = "codegen.languages.errors"
STEPS = "codegen.languages.steps"


@cache
def generated() -> dict[str, list[str]]:
    """The paths that each language writes."""
    return {one.__name__: list(one.generate(lower(PROTOCOL))) for one in LANGUAGES}


@pytest.fixture(scope="module", autouse=True)
def _formatters() -> None:
    try:
        formatters.format_text("x.cc", "")
        formatters.format_text("x.py", "")
    except formatters.FormatterError as error:
        pytest.skip(str(error))


def run(*arguments: str, cwd: Path = ROOT) -> subprocess.CompletedProcess[str]:
    command = [sys.executable, "-m", "codegen", *arguments]
    return subprocess.run(command, cwd=cwd, capture_output=True, text=True)


def test_the_repository_is_current() -> None:
    done = run("--check")
    assert done.returncode == 0, done.stdout + done.stderr


def test_every_file_begins_with_source_command_and_hash() -> None:
    hashes = set()
    for path in sum(generated().values(), []):
        first, second = (ROOT / path).read_text(encoding="utf-8").splitlines()[:2]
        assert "Generated from codegen/schema by `python -m codegen`. Do not edit." in first, path
        match = re.fullmatch(r"\W*Schema hash: ([0-9a-f]{16})\W*", second)
        assert match, second
        hashes.add(match[1])
    assert len(hashes) == 1


def test_check_shows_a_stale_file_and_writes_nothing(tmp_path: Path) -> None:
    assert run("--root", str(tmp_path)).returncode == 0
    stale = tmp_path / generated()["codegen.languages.cpp"][0]
    stale.write_text(stale.read_text().replace("kSchemaHash", "kOther"))
    before = stale.read_text()
    done = run("--check", "--root", str(tmp_path))
    assert done.returncode == 1
    assert "-inline constexpr char kOther[]" in done.stdout
    assert "+inline constexpr char kSchemaHash[]" in done.stdout
    assert "python -m codegen" in done.stderr
    assert stale.read_text() == before


def languages_with(name: str, root: Path) -> set[str]:
    """The languages whose files have a field, a parameter or a property of that name."""
    texts = {
        language: "".join((root / path).read_text(encoding="utf-8") for path in paths)
        for language, paths in generated().items()
    }
    return {language for language, text in texts.items() if re.search(rf"\b{name}\b", text)}


# What CONTRIBUTING.md says to write for each new thing: a file, what stands below it, and a line.
EDITS = (
    (
        "sampling.py",
        "    logit_bias: dict",
        '    temper: float | None = maybe("How merry it is.", ge=0, le=9, neutral=4)\n',
    ),
    (
        "step.py",
        '    Row("logit_rows"',
        '    Row("humour", ("n",), "How merry each row is.", when="humours", unset=4),\n',
    ),
    (
        "chat_request.py",
        "    user: str | None =",
        '    mood: int | None = maybe("How merry the answer is.", ge=0, le=9)\n',
    ),
    (
        "errors.py",
        "    # One for each status",
        '    ReasonModel("too_merry", EXHAUSTED, "It laughs.", "Wait a little.", http=503),\n',
    ),
)


@pytest.fixture(scope="module")
def edited(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A copy of the repository's schema with one edit for each new thing, after one command."""
    root = tmp_path_factory.mktemp("edited")
    shutil.copytree(ROOT / "codegen", root / "codegen")
    shutil.copy(ROOT / ".clang-format", root)
    header = root / "core/include/mlc_llm.h"
    header.parent.mkdir(parents=True)
    shutil.copy(ROOT / "core/include/mlc_llm.h", header)
    for name, before, line in EDITS:
        schema = root / "codegen/schema" / name
        text = schema.read_text()
        assert before in text, name
        schema.write_text(text.replace(before, line + before, 1))
    done = run(cwd=root)
    assert done.returncode == 0, done.stderr
    return root


def test_a_new_number_of_sampling_is_one_edit(edited: Path) -> None:
    """All three requests have it then, and what the core and the package know of sampling."""
    assert languages_with("temper", edited) == generated().keys() - {ERRORS, STEPS}
    document = (edited / "bindings/python/mlc_llm/serve/openapi_gen.json").read_text()
    schemas = json.loads(document)["schemas"]
    for name in ("ChatCompletionRequest", "CompletionRequest", "ResponseCreateRequest"):
        assert "temper" in schemas[name]["properties"], name
    assert "double temper = 4;" in (edited / "core/src/sampling/sampling_numbers.gen.h").read_text()
    reader = (edited / "core/src/chat/request/sampling_fields.gen.h").read_text()
    assert "out.temper = *given" in reader


def test_a_new_input_of_a_step_is_one_row(edited: Path) -> None:
    """The compiler and the core have it then; what is left is the code that uses it."""
    assert languages_with("humour", edited) == {STEPS}
    core = (edited / "core/src/model/step_inputs.gen.h").read_text()
    assert "  std::vector<int32_t> humour;" in core
    row = '{"humour", &StepValues::humour, "n", 1, false, nullptr, 4, "How merry each row is."}'
    assert row in core
    compiler = edited / "bindings/python/mlc_llm/compiler/step_inputs_gen.py"
    assert 'StepInput("humour", ("n",), "humours"),' in compiler.read_text()


def test_a_new_field_is_one_edit(edited: Path) -> None:
    """As CONTRIBUTING.md says: one line in the schema, one command, and every language has it."""
    assert languages_with("mood", edited) == generated().keys() - {SAMPLING, ERRORS, STEPS}
    cpp = generated()["codegen.languages.cpp"]
    header, source = ((edited / path).read_text() for path in cpp[:2])
    assert "  std::optional<int64_t> mood;" in header
    assert 'reader.Optional("mood", &out.mood, wire::Limits().AtLeast(0).AtMost(9));' in source


def test_a_new_reason_of_an_error_is_one_edit(edited: Path) -> None:
    """A row in the schema; the core, every language, the C header and the documents have it."""
    words = {
        "core/src/base/reason.gen.h": "Reason::kTooMerry",
        "core/include/mlc_llm.h": '"too_merry": MLC_RESOURCE_EXHAUSTED. It laughs.',
        "bindings/python/mlc_llm/errors/reasons_gen.py": "TOO_MERRY = Reason(",
        "docs/errors.md": "`too_merry` | `resource_exhausted` | 503 | `ResourceError` | It laughs",
    }
    for path in (*generated()[ERRORS], "core/include/mlc_llm.h"):
        if "kinds" not in path:  # the kinds of exceptions are the same
            word = words.get(path, "too_merry")
            assert word in (edited / path).read_text(), path
    vectors = edited / "tests/bindings/vectors"
    shutil.copytree(ROOT / "tests/bindings/vectors", vectors)
    make = subprocess.run([sys.executable, vectors / "make.py"], capture_output=True, text=True)
    assert make.returncode == 0, make.stderr
    cases = json.loads((vectors / "cases/errors.json").read_text())["cases"]
    case = next(case for case in cases if case["name"] == "error: too_merry")
    assert case["class"] == {
        "python": "ResourceError",
        "swift": "outOfResources",
        "kotlin": "ResourceException",
        "typescript": "ResourceError",
    }

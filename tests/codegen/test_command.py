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
    assert run("--check", "--root", str(tmp_path)).returncode == 0
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


def test_a_new_number_of_sampling_is_one_edit(tmp_path: Path) -> None:
    """All three requests have it then, and what the core and the package know of sampling."""
    shutil.copytree(ROOT / "codegen", tmp_path / "codegen")
    shutil.copy(ROOT / ".clang-format", tmp_path)
    schema = tmp_path / "codegen/schema/sampling.py"
    before = "    logit_bias: dict"
    number = '    mood: float | None = maybe("How merry it is.", ge=0, le=9, neutral=4)\n'
    schema.write_text(schema.read_text().replace(before, number + before))
    done = run(cwd=tmp_path)
    assert done.returncode == 0, done.stderr
    assert languages_with("mood", tmp_path) == generated().keys() - {ERRORS, STEPS}
    document = (tmp_path / "bindings/python/mlc_llm/serve/openapi_gen.json").read_text()
    schemas = json.loads(document)["schemas"]
    for name in ("ChatCompletionRequest", "CompletionRequest", "ResponseCreateRequest"):
        assert "mood" in schemas[name]["properties"], name
    assert "double mood = 4;" in (tmp_path / "core/src/sampling/sampling_numbers.gen.h").read_text()
    reader = (tmp_path / "core/src/chat/request/sampling_fields.gen.h").read_text()
    assert "out.mood = *given" in reader


def test_a_new_input_of_a_step_is_one_row(tmp_path: Path) -> None:
    """The compiler and the core have it then; what is left is the code that uses it."""
    shutil.copytree(ROOT / "codegen", tmp_path / "codegen")
    shutil.copy(ROOT / ".clang-format", tmp_path)
    schema = tmp_path / "codegen/schema/step.py"
    before = '    Row("logit_rows"'
    row = '    Row("mood", ("n",), "How merry each row is.", when="moods", unset=4),\n'
    schema.write_text(schema.read_text().replace(before, row + before))
    done = run(cwd=tmp_path)
    assert done.returncode == 0, done.stderr
    assert languages_with("mood", tmp_path) == {STEPS}
    core = (tmp_path / "core/src/model/step_inputs.gen.h").read_text()
    assert "  std::vector<int32_t> mood;" in core
    assert (
        '{"mood", &StepValues::mood, "n", 1, false, nullptr, 4, "How merry each row is."}' in core
    )
    compiler = tmp_path / "bindings/python/mlc_llm/compiler/step_inputs_gen.py"
    assert 'StepInput("mood", ("n",), "moods"),' in compiler.read_text()


def test_a_new_field_is_one_edit(tmp_path: Path) -> None:
    """As CONTRIBUTING.md says: one line in the schema, one command, and every language has it."""
    shutil.copytree(ROOT / "codegen", tmp_path / "codegen")
    shutil.copy(ROOT / ".clang-format", tmp_path)
    schema = tmp_path / "codegen/schema/chat_request.py"
    before = "    user: str | None ="
    text = schema.read_text()
    assert before in text
    mood = '    mood: int | None = maybe("How merry the answer is.", ge=0, le=9)\n'
    schema.write_text(text.replace(before, mood + before))
    done = run(cwd=tmp_path)
    assert done.returncode == 0, done.stderr
    assert languages_with("mood", tmp_path) == generated().keys() - {SAMPLING, ERRORS, STEPS}
    cpp = generated()["codegen.languages.cpp"]
    header, source = ((tmp_path / path).read_text() for path in cpp[:2])
    assert "  std::optional<int64_t> mood;" in header
    assert 'reader.Optional("mood", &out.mood, wire::Limits().AtLeast(0).AtMost(9));' in source


def test_a_new_reason_of_an_error_is_one_edit(tmp_path: Path) -> None:
    """A row in the schema; the core, every language, the C header and the documents have it."""
    shutil.copytree(ROOT / "codegen", tmp_path / "codegen")
    shutil.copy(ROOT / ".clang-format", tmp_path)
    header = tmp_path / "core/include/mlc_llm.h"
    header.parent.mkdir(parents=True)
    shutil.copy(ROOT / "core/include/mlc_llm.h", header)
    schema = tmp_path / "codegen/schema/errors.py"
    row = (
        '    ReasonModel("too_merry", EXHAUSTED, "It laughs.", "Wait until it stops.", http=503),\n'
    )
    text = schema.read_text()
    assert text.count("CORE = (\n") == 1
    schema.write_text(text.replace("CORE = (\n", "CORE = (\n" + row))
    done = run(cwd=tmp_path)
    assert done.returncode == 0, done.stderr
    words = {
        "core/src/base/reason.gen.h": "Reason::kTooMerry",
        "core/include/mlc_llm.h": '"too_merry": MLC_RESOURCE_EXHAUSTED. It laughs.',
        "bindings/python/mlc_llm/errors/reasons_gen.py": "TOO_MERRY = Reason(",
        "docs/errors.md": "`too_merry` | `resource_exhausted` | 503 | `ResourceError` | It laughs",
    }
    for path in (*generated()[ERRORS], "core/include/mlc_llm.h"):
        if "kinds" not in path:  # the kinds of exceptions are the same
            word = words.get(path, "too_merry")
            assert word in (tmp_path / path).read_text(), path
    vectors = tmp_path / "tests/bindings/vectors"
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

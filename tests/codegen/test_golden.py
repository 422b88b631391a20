"""The text that each template makes of a small schema, line by line.

After a change that is meant: `python tests/codegen/test_golden.py` writes the golden files anew.
"""

from __future__ import annotations

import re
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

HERE = Path(__file__).resolve().parent
ROOT = HERE.parents[1]
GOLDEN = HERE / "golden"
sys.path[:0] = [str(HERE), str(ROOT)]

import small_schema  # noqa: E402
from codegen import formatters  # noqa: E402
from codegen.__main__ import LANGUAGES as MODULES  # noqa: E402
from codegen.__main__ import generate  # noqa: E402
from codegen.languages import common  # noqa: E402
from codegen.lower import lower  # noqa: E402

# The templates of `codegen/languages/x.py` are in `codegen/templates/x`.
LANGUAGES = {module.__name__.rpartition(".")[2]: module for module in MODULES}
TEMPLATES = sorted(common.TEMPLATES.glob("*/*.j2"))


def golden_path(path: str) -> Path:
    return GOLDEN / (Path(path).name + ".txt")


@pytest.fixture(scope="module")
def files() -> dict[str, str]:
    try:
        return generate(lower(small_schema.PROTOCOL))
    except formatters.FormatterError as error:
        pytest.skip(str(error))


def test_every_language_has_templates_and_every_template_a_language() -> None:
    assert {template.parent.name for template in TEMPLATES} == set(LANGUAGES)


def test_golden_files_are_what_is_generated(files: dict[str, str]) -> None:
    assert len({golden_path(path) for path in files}) == len(files), "two files of one name"
    assert {golden_path(path) for path in files} == set(GOLDEN.iterdir())
    for path, text in files.items():
        assert text == golden_path(path).read_text(encoding="utf-8"), path


def test_formatters_leave_the_output_alone(files: dict[str, str]) -> None:
    for path, text in files.items():
        assert formatters.format_text(path, text) == text, path


@pytest.mark.parametrize("template", TEMPLATES, ids=lambda t: f"{t.parent.name}/{t.name}")
def test_every_template_line_matters(
    template: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, pytestconfig: pytest.Config
) -> None:
    """Without any one line that is not blank, the output is another, or there is none. A run tries
    each third line of a template, --long all."""
    step = 1 if pytestconfig.getoption("--long") else 3
    language = LANGUAGES[template.parent.name]
    protocol = lower(small_schema.PROTOCOL)
    whole = language.generate(protocol)
    copy = tmp_path / "templates"
    shutil.copytree(common.TEMPLATES, copy)
    monkeypatch.setattr(common, "TEMPLATES", copy)
    lines = template.read_text(encoding="utf-8").splitlines(keepends=True)
    for number, line in enumerate(lines):
        if not line.strip() or number % step:
            continue
        rest = "".join(lines[:number] + lines[number + 1 :])
        (copy / template.parent.name / template.name).write_text(rest, encoding="utf-8")
        try:
            changed = language.generate(protocol)
        except Exception:  # any failure shows that the line is needed
            continue
        assert changed != whole, f"{template.name}:{number + 1} has no effect: {line}"


def test_generated_cpp_compiles_without_a_warning(files: dict[str, str], tmp_path: Path) -> None:
    compiler = shutil.which("g++") or shutil.which("clang++")
    if compiler is None:
        pytest.skip("no C++ compiler")
    room = tmp_path / "chat" / "protocol"
    room.mkdir(parents=True)
    for path, text in files.items():
        if path.endswith((".h", ".cc")):
            (room / Path(path).name).write_text(text, encoding="utf-8")
    flags = ["-std=c++17", "-fsyntax-only", "-Wall", "-Wextra", "-Werror"]
    includes = [f"-I{tmp_path}", f"-I{ROOT / 'core' / 'src'}"]
    users = tmp_path / "access.cc"
    users.write_text('#include "chat/protocol/access.gen.h"\n', encoding="utf-8")
    for source in (room / "protocol.gen.cc", users):
        done = subprocess.run([compiler, *flags, *includes, source], capture_output=True, text=True)
        assert done.returncode == 0, done.stderr


# Of what is not generated, the names that generated code uses: mypy would read everything that the
# package itself imports.
PYTHON_ERRORS = """
class InvalidRequestError(Exception):
    def __init__(self, message: str, *, param: str | None = None) -> None: ...
"""
PYTHON_ENGINES = """
from collections.abc import Mapping
from typing import Any, TypeVar
from small.completions_gen import AsyncStream, Stream
T = TypeVar("T")
class Timeout(int):
    @classmethod
    def of(cls, seconds: object) -> Timeout: ...
class Sender:
    def call(
        self, route: str, answer: type[T], request: Mapping[str, Any], name: str | None = None
    ) -> T: ...
    def stream(
        self, route: str, chunk: type[T], request: Mapping[str, Any], name: str | None
    ) -> Stream[T]: ...
class AsyncSender:
    async def call(
        self, route: str, answer: type[T], request: Mapping[str, Any], name: str | None = None
    ) -> T: ...
    async def stream(
        self, route: str, chunk: type[T], request: Mapping[str, Any], name: str | None
    ) -> AsyncStream[T]: ...
"""


def test_generated_python_type_checks(files: dict[str, str], tmp_path: Path) -> None:
    pytest.importorskip("mypy", reason="mypy is not installed")
    package = tmp_path / "small"
    package.mkdir()
    (package / "__init__.py").write_text(PYTHON_ERRORS, encoding="utf-8")
    (package / "engines.pyi").write_text(PYTHON_ENGINES, encoding="utf-8")
    errors = ROOT / "bindings/python/mlc_llm/errors"
    used = {name: (errors / name).read_text(encoding="utf-8") for name in ("base.py", "nearest.py")}
    for path, text in {**files, **used}.items():
        if path.endswith(".py"):
            text = text.replace("mlc_llm.errors", "small")
            text = text.replace("mlc_llm.types_gen", "small.types_gen")
            text = re.sub(r"mlc_llm\.sdk\.\w+", "small.engines", text)
            (package / Path(path).name).write_text(text, encoding="utf-8")
    command = [sys.executable, "-m", "mypy", "--strict", "--no-incremental", "-p", "small"]
    done = subprocess.run(command, capture_output=True, text=True, cwd=tmp_path)
    assert done.returncode == 0, done.stdout


CHANNEL = """
import type { Codec } from "../protocol/wire.ts";
export type RequestOptions = { signal?: AbortSignal };
export type AnswerStream<T> = AsyncIterable<T>;
export interface Channel {
  result<T>(route: string, request: object, codec: Codec<T>, o?: RequestOptions): Promise<T>;
  stream<T>(r: string, q: object, c: Codec<T>, o?: RequestOptions): Promise<AnswerStream<T>>;
}
"""


# The small schema has no error object.
ERRORS = "type ErrorResponse = object; type ErrorStatus = string;"


def test_generated_typescript_type_checks(files: dict[str, str], tmp_path: Path) -> None:
    beside = shutil.which("deno", path=str(Path(sys.executable).parent))
    deno = beside or shutil.which("deno")
    if deno is None:
        pytest.skip("deno is not installed: pip install deno")
    web = ROOT / "bindings" / "web"
    base = (web / "src" / "error_base.ts").read_text(encoding="utf-8")
    code = {path: text for path, text in files.items() if path.endswith(".ts")}
    code |= {
        "bindings/web/src/engine/channel.ts": CHANNEL,
        "bindings/web/src/error_base.ts": re.sub("import type .*types.gen.ts.*", ERRORS, base),
        "bindings/web/src/protocol/wire.ts": (web / "src/protocol/wire.ts").read_text("utf-8"),
        "bindings/web/deno.json": (web / "deno.json").read_text(encoding="utf-8"),
    }
    for path, text in code.items():
        (tmp_path / path).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / path).write_text(text, encoding="utf-8")
    command = [deno, "check", "--quiet", *sorted(tmp_path.rglob("*.ts"))]
    done = subprocess.run(command, capture_output=True, text=True, cwd=tmp_path / "bindings/web")
    assert done.returncode == 0, done.stderr


if __name__ == "__main__":
    GOLDEN.mkdir(exist_ok=True)
    for _path, _text in generate(lower(small_schema.PROTOCOL)).items():
        golden_path(_path).write_text(_text, encoding="utf-8")

"""The Python programs of examples/python, on the fake model.

Those for LangChain and LlamaIndex need examples/python/requirements.txt: install it somewhere, name
that Python in MLC_TEST_CLIENTS_PYTHON, and run with --long.
"""

from __future__ import annotations

import asyncio
import importlib.util
import io
import json
import os
import re
import subprocess
import sys
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

ROOT = Path(__file__).resolve().parents[2]
PROGRAMS = ROOT / "examples" / "python"
sys.path.append(str(ROOT / "tests" / "docs"))

import fake_roles  # noqa: E402
from serving import PATIENCE, serving  # noqa: E402

import mlc_llm  # noqa: E402

Program = Callable[..., str]


@pytest.fixture
def program(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str], tmp_path: Path
) -> Iterator[Program]:
    """Runs a program's `main` with arguments and input; gives what it prints."""
    fake_roles.write_roles(tmp_path)
    made: list[Any] = []
    for name in ("MLCEngine", "AsyncMLCEngine"):
        real = getattr(mlc_llm, name)

        def engine(model: Any = fake_roles.FAKE, kind: Any = real) -> Any:
            folder = tmp_path / str(model).split("/")[-1]
            made.append(kind(folder if folder.is_dir() else model, device="fake"))
            return made[-1]

        monkeypatch.setattr(mlc_llm, name, engine)

    def run(name: str, *arguments: str, typed: str = "") -> str:
        monkeypatch.setattr(sys, "argv", [name, *arguments])
        monkeypatch.setattr(sys, "stdin", io.StringIO(typed))
        main = module(name).main()
        if main is not None:
            asyncio.run(main)
        return capsys.readouterr().out

    yield run
    for one in made:
        one.terminate()


def module(name: str) -> Any:
    spec = importlib.util.spec_from_file_location(f"example_{name}", PROGRAMS / f"{name}.py")
    assert spec is not None and spec.loader is not None
    found = importlib.util.module_from_spec(spec)
    sys.modules[spec.name] = found  # dataclasses look their module up
    spec.loader.exec_module(found)
    return found


def test_chat_remembers_and_ends(program: Program) -> None:
    said = program("chat", typed="Hello\nAgain\n\n")
    assert said.count("Model: ") == 2 and len(said) > 100


def test_extract_gives_a_line_of_json_for_each_file(program: Program, tmp_path: Path) -> None:
    for name in ("a.txt", "b.txt"):
        (tmp_path / name).write_text("From: Acme. 3 lamps, 30 EUR.")
    lines = program("extract", str(tmp_path / "a.txt"), str(tmp_path / "b.txt")).splitlines()
    assert len(lines) == 2
    for line in map(json.loads, lines):
        assert line["currency"] in ("EUR", "USD", "other") and len(line["items"]) <= 10


def test_agent_answers(program: Program, tmp_path: Path) -> None:
    (tmp_path / "license.txt").write_text("Do as you like.\n")
    said = program("agent", str(tmp_path), "What does the license say?", "--yes")
    assert re.match(r"\[(list_files|read_file): \w+\]\n", said), said  # it must call one at first


def test_the_agents_tools_read_their_folder_alone(tmp_path: Path) -> None:
    (tmp_path / "in").mkdir()
    (tmp_path / "secret.txt").write_text("secret")
    (tmp_path / "in" / "a.txt").write_text("".join(f"line {i}\n" for i in range(1, 100)))
    list_files, read_file = module("agent").tools_of(tmp_path / "in")
    assert list_files() == "a.txt"
    assert read_file("a.txt", 50).splitlines()[0] == "line 50"
    for name in ("../secret.txt", str(tmp_path / "secret.txt"), "b.txt"):
        assert read_file(name) == f"There is no file {name}. These are here:\na.txt"


def test_rag_answers_with_sources(program: Program, tmp_path: Path) -> None:
    texts = tmp_path / "texts"
    texts.mkdir()
    (texts / "cats.md").write_text("Cats sleep on warm stones.\n\nThey eat fish.\n" + "x" * 2000)
    (texts / "rates.txt").write_text("Interest rates rose.\n")
    lines = program("rag", str(texts), "Where do cats sleep?").splitlines()
    assert [line[:3] for line in lines[-3:]] == ["[1]", "[2]", "[3]"]
    assert any("cats.md: " in line for line in lines[-3:])


def test_batch_answers_every_line_once(program: Program, tmp_path: Path) -> None:
    ask = {"messages": [{"role": "user", "content": "Hi"}], "max_tokens": 5, "seed": 1}
    bodies = {"1": ask, "2": {**ask, "max_tokens": -1}, "3": {**ask, "no_such_field": 1}}
    requests, answers = tmp_path / "requests.jsonl", tmp_path / "answers.jsonl"
    lines = [json.dumps({"custom_id": i, "body": body}) for i, body in bodies.items()]
    requests.write_text("\n".join(lines) + "\n")
    assert program("batch", str(requests), str(answers)) == "3 answers, 0 were there before\n"
    found = {one["custom_id"]: one for one in map(json.loads, answers.read_text().splitlines())}
    assert found["1"]["response"]["body"]["usage"]["completion_tokens"] == 5
    assert "max_tokens" in found["2"]["error"] and found["3"]["response"] is None
    assert program("batch", str(requests), str(answers)) == "0 answers, 3 were there before\n"


def test_a_program_is_one_page() -> None:
    for path in PROGRAMS.glob("*.py"):
        assert len(path.read_text(encoding="utf-8").splitlines()) <= 110, path.name


@pytest.fixture(scope="module")
def clients_python(request: pytest.FixtureRequest) -> str:
    python = os.environ.get("MLC_TEST_CLIENTS_PYTHON")
    if not (python and request.config.getoption("--long")):
        pytest.skip("needs MLC_TEST_CLIENTS_PYTHON and --long")
    return python


@pytest.mark.parametrize("name", ["langchain_chat", "llamaindex_rag"])
def test_a_client_of_the_server(name: str, clients_python: str, tmp_path: Path) -> None:
    fake_roles.write_roles(tmp_path)
    (tmp_path / "texts").mkdir()
    (tmp_path / "texts" / "cats.md").write_text("Cats sleep on warm stones.\n")
    model = [str(fake_roles.FAKE), "--device", "fake", "--port", "0"]
    encoder = ["--embedding-model", str(tmp_path / "all-MiniLM-L6-v2")]
    command = [sys.executable, "-m", "mlc_llm", "serve", *model, *encoder]
    words = ["texts", "Where do cats sleep?"] if name == "llamaindex_rag" else []
    with serving(command, tmp_path / "log") as url:
        done = subprocess.run(
            [clients_python, str(PROGRAMS / f"{name}.py"), *words, f"{url}/v1"],
            cwd=tmp_path,
            capture_output=True,
            text=True,
            timeout=PATIENCE,
        )
    assert done.returncode == 0, done.stderr[-3000:]
    wanted = ("typed: room=", "call: The light") if not words else ("Answer: ", "Source: cats.md")
    assert all(text in done.stdout for text in wanted), done.stdout

"""The pages' Python programs: each block is a program of its own, on the fake model."""

from __future__ import annotations

import functools
import importlib
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
import snippets
from serving import serving

import mlc_llm

FAKE = snippets.ROOT / "tests" / "fixtures" / "fake-model"
# Pages whose blocks stand in a module of ours.
MODULES = {
    "docs/new-model.md": (
        "mlc_llm.compiler.spec.tensors",
        "mlc_llm.compiler.spec.transforms",
        "mlc_llm.compiler.models.qwen3",
    ),
    "CONTRIBUTING.md": ("codegen.schema.base",),
}
# Clients of the server: their module and class, and the argument that says where it is.
CLIENTS = (
    ("openai", "OpenAI", "base_url", "/v1"),
    ("anthropic", "Anthropic", "base_url", ""),
    ("ollama", "Client", "host", ""),
)
BLOCKS = snippets.to_run("python")


@pytest.fixture
def engines(monkeypatch: pytest.MonkeyPatch) -> Iterator[list[Any]]:
    """An engine that names nothing gets the fake model; what is made ends with the test."""
    made: list[Any] = []
    for name in ("MLCEngine", "AsyncMLCEngine"):
        real = getattr(mlc_llm, name)

        def engine(model: Any = FAKE, kind: Any = real, **options: Any) -> Any:
            made.append(kind(model, **options, device="fake"))
            return made[-1]

        monkeypatch.setattr(mlc_llm, name, engine)
    yield made
    for one in made:
        one.terminate()


@pytest.fixture(scope="module")
def server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    command = [sys.executable, "-m", "mlc_llm", "serve", str(FAKE), "--device", "fake"]
    with serving(
        [*command, "--port", "0", "--any-model-name"], tmp_path_factory.mktemp("server") / "log"
    ) as url:
        yield url


def names_for(page: str) -> dict[str, Any]:
    names: dict[str, Any] = {}
    for module in MODULES.get(page, ()):
        names |= vars(importlib.import_module(module))
    if page == "docs/new-model.md":
        names["c"] = names["Qwen3Config"].from_dict(small_qwen3())
    return names


def small_qwen3() -> dict[str, Any]:
    return {
        "hidden_size": 64, "intermediate_size": 96, "num_hidden_layers": 2, "vocab_size": 128,
        "num_attention_heads": 4, "num_key_value_heads": 2, "head_dim": 16, "rms_norm_eps": 1e-6,
        "max_position_embeddings": 128,
    }  # fmt: skip


def at(client: Any, place: dict[str, str], **said: Any) -> Any:
    """A client that asks this server, whatever the page says."""
    return client(**said | place)


@pytest.mark.parametrize("block", BLOCKS, ids=lambda s: s.place)
def test_a_program_runs(
    block: snippets.Snippet,
    engines: list[Any],
    reader_folder: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
    request: pytest.FixtureRequest,
) -> None:
    monkeypatch.chdir(reader_folder)
    for module, name, argument, path in CLIENTS:
        if f"from {module} import {name}\n" in block.text:
            place = {argument: request.getfixturevalue("server") + path}
            real = getattr(importlib.import_module(module), name)
            monkeypatch.setattr(f"{module}.{name}", functools.partial(at, real, place))
    # Blank lines in front: a traceback names the page's line.
    source = "\n" * block.line + block.text
    exec(compile(source, block.page, "exec", dont_inherit=True), names_for(block.page))
    said = capsys.readouterr().out
    assert "print(" not in block.text or len(said.strip()) > 4


def source_of(family: str) -> str:
    module = importlib.import_module(f"mlc_llm.compiler.models.{family}")
    return Path(str(module.__file__)).read_text()


@pytest.mark.parametrize("family", ["minicpm", "mistral", "olmo", "orion", "qwen3", "smollm3"])
def test_a_family_like_llama_has_at_most_60_lines(family: str) -> None:
    lines = source_of(family).count("\n")
    assert lines <= 60
    page = (snippets.ROOT / "docs/new-model.md").read_text(encoding="utf-8")
    assert family != "qwen3" or f"(`models/qwen3.py`, {lines} lines)" in page


def test_the_page_on_new_models_shows_the_file() -> None:
    source = source_of("qwen3")
    page = [s.text for s in BLOCKS if s.page == "docs/new-model.md"]
    others = ("HUGGING_FACE", "# acme_models")
    shown = [text for text in page if not text.startswith(others)]
    assert len(shown) == 3
    for text in shown:
        assert text.strip() in source

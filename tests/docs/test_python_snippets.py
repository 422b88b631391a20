"""The pages' Python programs: the blocks of a page are one program, on the fake model."""

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
from mlc_llm.sdk.async_engine import AsyncMLCEngine
from mlc_llm.sdk.engine import MLCEngine

FAKE = snippets.ROOT / "tests" / "fixtures" / "fake-model"
# Pages whose programs another test runs, with more asked of them.
ELSEWHERE = {"docs/helpers.md": "tests/python/test_helper_docs.py"}
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
PAGES = {p: s for p, s in snippets.by_page("python").items() if p not in ELSEWHERE}


@pytest.fixture
def on_the_fake_model(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    """An engine or a client that names nothing gets the fake model."""
    for name, kind in (("MLCEngine", MLCEngine), ("AsyncMLCEngine", AsyncMLCEngine)):
        made = functools.partial(kind, FAKE, device="fake")
        monkeypatch.setattr(mlc_llm, name, made, raising=False)
    yield


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


def run_page(page: str) -> dict[str, Any]:
    names = names_for(page)
    for snippet in PAGES[page]:
        # Blank lines in front: a traceback names the page's line.
        source = "\n" * snippet.line + snippet.text
        exec(compile(source, page, "exec", dont_inherit=True), names)
    return names


@pytest.mark.parametrize("page", PAGES)
def test_the_programs_of_a_page_run(
    page: str,
    on_the_fake_model: None,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    text = "".join(snippet.text for snippet in PAGES[page])
    clients = [client for client in CLIENTS if f"from {client[0]} import {client[1]}\n" in text]
    if clients:
        command = [sys.executable, "-m", "mlc_llm", "serve", str(FAKE), "--device", "fake"]
        with serving([*command, "--port", "0", "--any-model-name"], tmp_path / "log") as url:
            for module, name, argument, path in clients:
                real = getattr(importlib.import_module(module), name)
                made = functools.partial(at, real, {argument: url + path})
                monkeypatch.setattr(f"{module}.{name}", made)
            names = run_page(page)
    else:
        names = run_page(page)
    said = capsys.readouterr().out
    assert ("print(" not in "".join(s.text for s in PAGES[page])) or len(said.strip()) > 10
    assert "None" not in said  # the last chunk's content is a text
    for value in names.values():
        if isinstance(value, MLCEngine):
            value.terminate()


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
    others = ("HUGGING_FACE", "# acme_models")
    shown = [s.text for s in PAGES["docs/new-model.md"] if not s.text.startswith(others)]
    assert len(shown) == 3
    for text in shown:
        assert text.strip() in source


@pytest.mark.parametrize("page", ELSEWHERE)
def test_a_page_that_another_test_runs(page: str) -> None:
    text = (snippets.ROOT / ELSEWHERE[page]).read_text(encoding="utf-8")
    assert Path(page).name in text

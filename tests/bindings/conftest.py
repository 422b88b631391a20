"""The programs that can be built here, the default model, and the table of the vectors' results."""

from __future__ import annotations

import json
import shutil
import sys
from collections.abc import Callable
from pathlib import Path

import pytest

HERE = Path(__file__).resolve().parent
sys.path[:0] = [str(HERE), str(HERE.parent / "python" / "convert")]

import programs  # noqa: E402

from mlc_llm.prepare.model_source import ResolvedModel, resolve_model  # noqa: E402


@pytest.fixture(params=programs.languages())
def program(
    request: pytest.FixtureRequest, record_property: Callable[[str, str], None]
) -> programs.Program:
    reason = programs.why_not(request.param)
    if reason:
        record_property(programs.VECTORS + request.param, f"not built here: {reason}")
        pytest.skip(reason)
    return programs.Program(request.param)


@pytest.fixture(scope="session")
def default_model() -> ResolvedModel:
    return resolve_model(None, quantization="q4f32_1", progress=lambda _: None)


@pytest.fixture(scope="session")
def real(default_model: ResolvedModel) -> tuple[str, ...]:
    """The options with which a program loads the default model."""
    folder, library = str(default_model.folder), str(default_model.model_lib)
    return ("--model", folder, "--lib", library, "--device", "cpu:0")


@pytest.fixture(scope="session")
def adapted(tmp_path_factory: pytest.TempPathFactory) -> tuple[str, ...]:
    """The options of a tiny model that takes adapters, and an adapter's file."""
    import tiny_models
    from tiny_adapters import random_adapter, write_peft

    from mlc_llm.compiler.compile import compile_model, read_chat_config
    from mlc_llm.compiler.convert import convert_model, open_source
    from mlc_llm.compiler.convert.adapters import open_adapter, write_run_time

    folder = tmp_path_factory.mktemp("adapted")
    source = tiny_models.write_hf_folder(folder / "hf", tiny_models.random_weights())
    convert_model(open_source(source), folder / "mlc", quantization="q0f32")
    config, library, file = (
        read_chat_config(folder / "mlc"),
        folder / "cpu.so",
        folder / "style.mlc-adapter",
    )
    compile_model(config, output=library, device="cpu", adapters=True)
    adapter = open_adapter(write_peft(folder / "peft", random_adapter(1)))
    write_run_time(adapter, config, file)
    model = ("--model", str(folder / "mlc"), "--lib", str(library), "--device", "cpu:0")
    return (*model, "--adapter", str(file))


def pytest_terminal_summary(terminalreporter: pytest.TerminalReporter) -> None:
    reports = [report for some in terminalreporter.stats.values() for report in some]
    noted = [note for report in reports for note in getattr(report, "user_properties", ())]
    results = {name: text for name, text in noted if name.startswith(programs.VECTORS)}
    if results:
        terminalreporter.section("conformance vectors")
        for name, text in sorted(results.items()):
            terminalreporter.write_line(f"{name.removeprefix(programs.VECTORS):8} {text}")


@pytest.fixture(scope="session")
def reranker(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The folder of the fake model, as a reranker."""
    folder = tmp_path_factory.mktemp("rerank") / "fake-reranker"
    shutil.copytree(programs.FAKE_MODEL, folder)
    path = folder / "mlc-chat-config.json"
    metadata = {"model_type": "reranker", "pooling_strategy": "last", "normalize": False}
    config = json.loads(path.read_text()) | {"embedding_metadata": metadata}
    path.write_text(json.dumps(config))
    return folder

"""Adapters in a package: made for the model, checked, and chosen by a request of an engine that has
only the package's files."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import tiny_adapters
from safetensors.numpy import save_file

from mlc_llm import MLCEngine
from mlc_llm.errors import InvalidRequestError, NotFoundError, UnsupportedError
from mlc_llm.package import check
from mlc_llm.package.check import Report, check_package
from mlc_llm.package.devices import DEVICES

Entry = Callable[..., dict[str, Any]]
SMALL = {"prefill_chunk_size": 128, "context_window_size": 256}


@pytest.fixture
def one_cpu(monkeypatch: pytest.MonkeyPatch) -> None:
    """`linux` for this machine alone: its three variants would be compiled one after another."""
    from dataclasses import replace

    linux = replace(DEVICES["linux"], target="cpu")
    monkeypatch.setitem(DEVICES, "linux", linux)


def test_an_app_loads_a_bundled_adapter(
    packager: Any, entry: Entry, one_cpu: None, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    tiny_adapters.write_peft(tmp_path / "style", tiny_adapters.random_adapter())
    model = entry("one", bundle_weight=True, overrides=SMALL, adapters={"json": "style"})
    dist = packager({"device": "linux", "model_list": [model]})
    (listed,) = json.loads((dist / "bundle" / "mlc-app-config.json").read_text())["model_list"]
    assert listed["adapters"] == {"json": "adapters/one-MLC/json.mlc-adapter"}
    report = check_package(dist)
    assert report.problems == []
    path = dist / "bundle" / listed["adapters"]["json"]
    assert any(line.startswith(f"{path}: an adapter of one-MLC") for line in report.lines)

    library = dist / "lib" / DEVICES["linux"].file(listed["model_lib"])
    monkeypatch.setenv("MLC_LLM_HOME", str(tmp_path / "none"))  # nothing is made here
    options = {"model_lib": library, "device": "cpu", "engine_config": {"lora_ranks": 8}}
    with MLCEngine(dist / "bundle" / "one-MLC", **options) as engine:
        engine.load_adapter("json", path)
        base, changed = (_logprobs(engine, lora) for lora in (None, "json"))
        assert base != changed
    whole = path.read_bytes()
    for damaged in (whole[:40], b"\xff" * 8 + whole[8:], b"\x03" + bytes(7) + b"[1]", b"\x01"):
        path.write_bytes(damaged)
        assert any(str(path) in problem for problem in check_package(dist).problems), damaged[:9]


def test_libraries_with_one_name_have_layers_together(tmp_path: Path) -> None:
    """One without adapters may be read last."""
    report = Report()
    one = np.zeros(1, np.float32)
    save_file({"one.a": one, "one.b": one, "two.a": one}, tmp_path / "style")
    (tmp_path / "bundle").symlink_to(tmp_path)
    for layers in ([{"name": "one"}, {"name": "two"}], []):
        text = {"schema_version": 3, "adapters": {"layers": layers}}
        check._metadata(tmp_path, "lib", json.dumps(text).encode(), report)
    entry = {"model_lib": "lib", "model_id": "m", "adapters": {"a": "style"}}
    check._adapters_fit(entry, tmp_path, report)
    assert report.problems == []
    report.adapted_layers["lib"].remove("two")
    check._adapters_fit(entry, tmp_path, report)
    assert len(report.problems) == 1


def _logprobs(engine: MLCEngine, lora: str | None) -> list[float]:
    made: Any = engine.chat.completions.create(
        messages=[{"role": "user", "content": "hi"}], max_tokens=3, logprobs=True, lora=lora
    )
    return [token.logprob for token in made.choices[0].logprobs.content]


def test_wrong_adapters_of_a_config_are_named(packager: Any, entry: Entry, tmp_path: Path) -> None:
    tiny_adapters.write_peft(tmp_path / "style", tiny_adapters.random_adapter())
    for adapters, device, kind, place in (
        ({"json": "none"}, "linux", NotFoundError, "model_list[0].adapters.json"),
        ({"a b": "style"}, "linux", InvalidRequestError, "model_list[0].adapters.a b"),
        (["style"], "linux", InvalidRequestError, "model_list[0].adapters"),
        ({"json": "style"}, "web", UnsupportedError, "model_list[0].adapters"),
    ):
        with pytest.raises(kind) as caught:
            packager({"device": device, "model_list": [entry("one", adapters=adapters)]})
        assert getattr(caught.value, "param", None) == place

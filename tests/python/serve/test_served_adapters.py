"""LoRA adapters of a server (docs/adapters.md), over the fake model, whose one layer has 16 inputs
and outputs."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from safetensors.numpy import save_file

from .conftest import FAKE, Running, get, post, started_server

MODEL = FAKE.name


def write_adapter(path: Path, value: float, layer: str = "fake") -> Path:
    values = np.full((1, 1, 8, 16), value, np.float32)
    about = {"format": "mlc-adapter", "version": "1", "rank": "8"}
    save_file({f"{layer}.a": values, f"{layer}.b": values}, path, metadata=about)
    return path


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("adapters")
    for index, name in enumerate(("one", "two")):
        write_adapter(folder / f"{name}.mlc-adapter", 1.0 + index)
    write_adapter(folder / "foreign.mlc-adapter", 1.0, "other")
    return folder


@pytest.fixture(scope="module")
def server(folder: Path) -> Iterator[Running]:
    lora = ("--lora", f"one={folder / 'one.mlc-adapter'}", "--lora-ranks", "24")
    with started_server(str(FAKE), "--device", "fake", "--enable-admin", *lora) as made:
        yield made


def ask(server: Running, **fields: Any) -> Any:
    body = {"prompt": "ba be bi", "temperature": 0, "max_tokens": 8, **fields}
    return post(f"{server.url}/v1/completions", json=body)


def text(server: Running, **fields: Any) -> str:
    answer = ask(server, **fields)
    assert answer.status_code == 200, answer.text
    return str(answer.json()["choices"][0]["text"])


def names(server: Running) -> dict[str, Any]:
    return {m["id"]: m for m in get(f"{server.url}/v1/models").json()["data"]}


def change(server: Running, act: str, **fields: str) -> Any:
    return post(f"{server.url}/v1/{act}_lora_adapter", json=fields)


def test_a_request_names_an_adapter_as_its_model_or_in_lora(server: Running, folder: Path) -> None:
    base, one = text(server), text(server, model="one")
    assert base == text(server, model=MODEL) != one
    assert text(server, model=f"{MODEL}:one") == text(server, lora="one") == one
    assert text(server, model=MODEL, lora=[{"name": "one", "scale": 0.5}]) not in (base, one)
    assert ask(server, model=f"{MODEL}:none").status_code == 404
    unknown = ask(server, lora="none")
    assert unknown.status_code == 404
    assert unknown.json()["error"]["code"] == "adapter_not_found"
    found = names(server)
    assert found["one"]["parent"] == MODEL and "parent" not in found[MODEL]
    assert found["one"]["root"] == str(folder / "one.mlc-adapter")


def test_other_apis_name_adapters_too(server: Running) -> None:
    """Responses, Anthropic's and Ollama's."""
    turn = [{"role": "user", "content": "ba be bi"}]
    none = {"temperature": 0}

    def answer(path: str, **fields: Any) -> Any:
        made = post(f"{server.url}{path}", json=fields)
        return made.json() if made.status_code == 200 else made.status_code

    def response(**more: Any) -> Any:
        made = answer("/v1/responses", input="ba be bi", max_output_tokens=8, **none, **more)
        return made if isinstance(made, int) else made["output"]

    def message(**more: Any) -> Any:
        made = answer("/v1/messages", messages=turn, max_tokens=8, **none, **more)
        return made if isinstance(made, int) else made["content"]

    def chat(**more: Any) -> Any:
        options = {"num_predict": 8, **none}
        made = answer(
            "/api/chat", model=MODEL, messages=turn, options=options, stream=False, **more
        )
        return made if isinstance(made, int) else made["message"]

    def generated(**more: Any) -> Any:
        asked = {"model": MODEL, "prompt": "ba be bi", "raw": True, "stream": False}
        made = answer("/api/generate", **asked, options={"num_predict": 8, **none}, **more)
        return made if isinstance(made, int) else made["response"]

    for ask_one in (response, message, chat, generated):
        base, one = _content(ask_one()), _content(ask_one(lora="one"))
        assert base != one == _content(ask_one(lora=[{"name": "one"}])), ask_one
        assert ask_one(lora="none") == 404
        assert ask_one(lora=[{"name": "one", "scale": "big"}]) == 400


def _content(made: Any) -> Any:
    """Without ids, which differ."""
    return [item.get("content", item) for item in made] if isinstance(made, list) else made


def test_adapters_come_and_go_while_the_server_runs(server: Running, folder: Path) -> None:
    path = str(folder / "two.mlc-adapter")
    loaded = change(server, "load", lora_name="two", lora_path=path)
    assert loaded.status_code == 200, loaded.text
    assert [a["name"] for a in loaded.json()["adapters"]] == ["one", "two"]
    assert loaded.json()["free_ranks"] == 8
    assert text(server, model="two") == text(server, lora="two") != text(server, model="one")
    assert "two" in names(server)
    assert change(server, "unload", lora_name="two").status_code == 200
    assert "two" not in names(server) and ask(server, model="two").status_code == 404


def test_wrong_adapters_are_refused(server: Running, folder: Path) -> None:
    for name, path, status, code in (
        ("x", folder / "none.mlc-adapter", 404, "file_not_found"),
        ("x", folder / "foreign.mlc-adapter", 400, None),
        ("x", FAKE / "tokenizer.json", 400, "corrupt_file"),
        (MODEL, folder / "two.mlc-adapter", 409, "model_exists"),
    ):
        answer = change(server, "load", lora_name=name, lora_path=str(path))
        assert (answer.status_code, answer.json()["error"]["code"]) == (status, code), answer.text
        assert answer.json()["error"]["param"] in ("lora_path", "lora_name"), answer.text
    for name in ("none", f"{MODEL}:none"):
        error = change(server, "unload", lora_name=name).json()["error"]
        assert (error["code"], error["param"]) == ("adapter_not_found", "lora_name"), name
    assert change(server, "load", lora_name="x").status_code == 400

"""Every language does the same: the conformance vectors, and real runs of one program each."""

from __future__ import annotations

import json
import shutil
from collections.abc import Callable
from functools import cache
from pathlib import Path

import pytest
from programs import FAKE, HERE, VECTORS, Program, languages

QUESTION = ("--prompt", "What is the capital of France?")
# Every other program must say what this one says: it has nothing of a binding in it.
REFERENCE = "c" if "c" in languages() else "python"
OTHER = [language for language in languages() if language not in ("c", "python")][:1]


@pytest.fixture
def models(
    program: Program, real: tuple[str, ...], pytestconfig: pytest.Config
) -> list[tuple[str, ...]]:
    """The options of the fake model, in three languages and with --long in all also of the default
    model: what a binding does with an answer is the same for both."""
    if program.language in ("c", "python", *OTHER) or pytestconfig.getoption("--long"):
        return [real, FAKE]
    return [FAKE]


@cache
def reference(*arguments: str) -> dict[str, object]:
    return Program(REFERENCE).call(*arguments)


@cache
def typed_reference(*arguments: str) -> dict[str, object]:
    return Program("python").call(*arguments)


def test_conformance_vectors(program: Program, record_property: Callable[[str, str], None]) -> None:
    result = program.call("vectors", HERE / "vectors", *FAKE)
    passed, failed = result["passed"], result["failed"]
    record_property(VECTORS + program.language, f"{passed:5} passed {failed:5} failed")
    for failure in result["failures"][:20]:
        print(f"{failure['name']}: {failure['why']}")
    assert failed == 0 and passed == number_of_cases()


@cache
def number_of_cases() -> int:
    files = (HERE / "vectors" / "cases").glob("*.json")
    return sum(len(json.loads(path.read_text(encoding="utf-8"))["cases"]) for path in files)


def test_there_are_enough_vectors() -> None:
    assert number_of_cases() >= 150


TOOL = {
    "name": "switch_light",
    "strict": True,
    "parameters": {
        "type": "object",
        "properties": {"room": {"enum": ["bath", "kitchen"]}, "on": {"type": "boolean"}},
        "required": ["room", "on"],
        "additionalProperties": False,
    },
}


def test_a_tool_call_streamed_and_whole(program: Program, real: tuple[str, ...]) -> None:
    if program.language == "c":
        pytest.skip("a program in C has the core's own JSON")
    request = {
        "messages": [{"role": "user", "content": "Switch on the light in the kitchen."}],
        "tools": [{"type": "function", "function": TOOL}],
        "tool_choice": "required",
        "parallel_tool_calls": False,
        "temperature": 0,
        "max_tokens": 100,
    }
    result = program.call("tools", "--request", json.dumps(request), *real)
    reference = {**typed_reference("tools", "--request", json.dumps(request), *real)}
    # Forced text is drafted, as far as the measured time of steps says that it pays: how many
    # pieces the arguments come in is not the same in each run.
    assert result.pop("pieces") > 1 and reference.pop("pieces") > 1
    assert result == reference
    assert result["same"] and result["finish_reason"] == "tool_calls"
    (call,) = result["calls"]
    arguments = json.loads(call["arguments"])
    assert call["name"] == "switch_light" and set(arguments) == {"room", "on"}


def test_a_loop_of_tool_calls(program: Program, real: tuple[str, ...]) -> None:
    """The model calls a typed function, reads its result and answers."""
    if program.language == "c":
        pytest.skip("C has no helpers")
    prompt = "Switch on the light in the kitchen, then tell me that it is on."
    run = program.call("run-tools", "--prompt", prompt, *real)
    assert 1 <= len(run["calls"]) <= run["num_calls"] <= 2
    for light in (*run["calls"], run["light"]):
        assert light["room"] in ("bath", "kitchen") and isinstance(light["on"], bool)
    for light, result in zip(run["calls"], run["results"], strict=False):
        assert result == f"The light in the {light['room']} is {'on' if light['on'] else 'off'}."
    rounds = run["roles"][1:-1]
    assert run["roles"][0] == "user" and rounds[:2] == ["assistant", "tool"]
    assert run["roles"][-1] == "assistant" and run["content"]
    assert run["text"].endswith(run["content"])


def test_the_same_text_for_the_same_seed(program: Program, real: tuple[str, ...]) -> None:
    request = (*QUESTION, "--seed", "7", "--temperature", "1.2", "--max-tokens", "40", *real)
    streamed = program.call("stream", *request)
    assert streamed == reference("stream", *request)
    assert streamed["text"] and streamed["completion_tokens"] > 0
    whole = program.call("complete", *request)
    assert {**whole, "chunks": 0} == {**streamed, "chunks": 0}


def test_the_same_vectors(program: Program, models: list[tuple[str, ...]]) -> None:
    if program.language == "c":
        pytest.skip("C has no types of its own")
    for options in models:
        found = program.call("embed", *QUESTION, *options)
        assert found == typed_reference("embed", *QUESTION, *options)
        assert len(found["vectors"]) == 2 and len(found["vectors"][0]) in (16, 576)


def test_an_adapter_is_loaded_chosen_and_unloaded(
    program: Program, adapted: tuple[str, ...]
) -> None:
    if program.language == "c":
        pytest.skip("C has no types of its own")
    found = program.call("adapter", *QUESTION, *adapted)
    assert found == typed_reference("adapter", *QUESTION, *adapted)
    assert found["named"] != found["plain"] == found["scaled"]
    assert found["listed"] == [["style", 4]] and found["free"] == [8, 16]
    assert found["error"]["code"] == "adapter_not_found" and found["error"]["param"] == "lora"


def test_the_same_order_of_documents(program: Program, reranker: Path) -> None:
    if program.language == "c":
        pytest.skip("C has no types of its own")
    options = (*QUESTION, "--model", str(reranker), "--device", "fake")
    found = program.call("rerank", *options)
    assert found == typed_reference("rerank", *options)
    (first, best, text), (second, worse, _) = found["best"]
    assert 1 > best > worse > 0 and {first, second} < {0, 1, 2}
    assert text == (QUESTION[1], f"{QUESTION[1]} 2", "no")[first]
    assert found["raw"] == sorted(found["raw"], reverse=True) and len(found["raw"]) == 3


def test_the_same_continuation(program: Program, models: list[tuple[str, ...]]) -> None:
    if program.language == "c":
        pytest.skip("C has no types of its own")
    for options in models:
        request = (*QUESTION, "--seed", "7", "--max-tokens", "30", *options)
        found = program.call("continue", *request)
        assert found == typed_reference("continue", *request)
        assert found["text"] and found["text"] == found["whole"]


def test_other_seeds_give_other_texts(real: tuple[str, ...]) -> None:
    request = (*QUESTION, "--temperature", "1.2", "--max-tokens", "40", *real)
    assert reference("stream", "--seed", "7", *request) != reference(
        "stream", "--seed", "8", *request
    )


def test_cancelling_gives_the_pages_back(program: Program, models: list[tuple[str, ...]]) -> None:
    for options in models:
        result = program.call("cancel", *QUESTION, *options)
        assert result["chunks_before_cancel"] == 3
        assert result["pages_free"] == result["pages_total"] > 0
        assert result["answer_after"]


def test_two_engines_and_eight_requests(program: Program, models: list[tuple[str, ...]]) -> None:
    for options in models:
        texts = program.call("parallel", *QUESTION, *options)["texts"]
        assert texts == reference("parallel", *QUESTION, *options)["texts"]
        assert len(texts) == 8 and all(texts) and len(set(texts)) > 2


def test_parallel_is_as_alone(real: tuple[str, ...]) -> None:
    """What the programs agree on is right: each text is that of the request by itself."""
    texts = reference("parallel", *QUESTION, *real)["texts"]
    assert isinstance(texts, list)
    for i in (0, 5):
        request = ("--prompt", f"{QUESTION[1]} {i}", "--seed", str(i), "--max-tokens", "24")
        assert reference("stream", *request, *real)["text"] == texts[i]


@pytest.mark.parametrize("damage", ["weights cut", "weights gone", "library cut", "config bad"])
def test_a_damaged_model_is_a_typed_error(
    program: Program, real: tuple[str, ...], damage: str, tmp_path: Path
) -> None:
    folder, library = tmp_path / "model", tmp_path / "model.so"
    folder.mkdir()
    for file in Path(real[1]).iterdir():
        (folder / file.name).symlink_to(file)
    shutil.copy(real[3], library)
    damaged(damage, folder, library)
    request = ("--model", str(folder), "--lib", str(library), "--device", "cpu:0")
    error, expected = program.call("load-error", *request), reference("load-error", *request)
    # Python reads the config itself before the core does, and says the same in other words.
    own_words = ("message", "param") if damage == "config bad" else ()
    assert {k: v for k, v in error.items() if k not in own_words} == {
        k: v for k, v in expected.items() if k not in own_words
    }
    assert error["type"] and error["message"]


def damaged(how: str, folder: Path, library: Path) -> None:
    shard = sorted(folder.glob("params_shard_*.bin"))[-1]
    if how == "weights cut":
        data = shard.read_bytes()
        shard.unlink()
        shard.write_bytes(data[:-1])
    elif how == "weights gone":
        shard.unlink()
    elif how == "library cut":
        library.write_bytes(library.read_bytes()[:-100])
    else:
        (folder / "mlc-chat-config.json").unlink()
        (folder / "mlc-chat-config.json").write_text('{"model_type": ')


def test_ten_thousand_tokens_keep_their_order(program: Program) -> None:
    result = program.call("order", *FAKE)
    assert result["same"] and result["completion_tokens"] == 10000
    expected = reference("order", *FAKE)
    assert result["text"] == expected["text"] and result["chunks"] == expected["chunks"]

"""Adapters that requests choose while the engine runs (docs/adapters.md), over a tiny Llama from
its folder.

The judge is the model whose weights were merged in NumPy; and each answer alone, of which no bit
may change in company.
"""

from __future__ import annotations

import json
import subprocess
import sys
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import tiny_models
from engine_ways import MAX_TOKENS, PROMPT, TREES, WAYS, Model, engine_of
from tiny_adapters import ALPHA, RANK, TinyAdapter, random_adapter, write_peft

from mlc_llm import MLCEngine, plan
from mlc_llm.compiler.compile import compile_model, read_chat_config
from mlc_llm.compiler.convert import convert_model, open_source
from mlc_llm.errors import InvalidRequestError, NotFoundError, ResourceError, UnsupportedError

WEIGHTS = tiny_models.random_weights()
EVERY = ("q_proj", "k_proj", "v_proj", "o_proj", "gate_proj", "up_proj", "down_proj")
SCALE = ALPHA / RANK


def small(seed: int, modules: Any = EVERY, rank: int = RANK) -> TinyAdapter:
    """Its effect is about as large as the base's."""
    adapter = random_adapter(seed, modules, rank)
    adapter.b = {name: (0.02 * b).astype(np.float32) for name, b in adapter.b.items()}
    return adapter


ADAPTERS = {"one": small(1), "two": small(2, ("q_proj", "v_proj", "down_proj"))}


MADE: dict[tuple[str, bool], Path] = {}  # libraries: the weights are not in them


def model_of(weights: Any, folder: Path, quantization: str = "q0f32", adapters: bool = True):
    source = tiny_models.write_hf_folder(folder / "hf", weights)
    convert_model(open_source(source), folder / "mlc", quantization=quantization)
    config, library = read_chat_config(folder / "mlc"), folder / "cpu.so"
    if (made := MADE.setdefault((quantization, adapters), library)) is library:
        compile_model(config, output=library, device="cpu", adapters=adapters)
    return folder / "mlc", made


@pytest.fixture(scope="module")
def model(tmp_path_factory: pytest.TempPathFactory) -> Model:
    return model_of(WEIGHTS, tmp_path_factory.mktemp("base"))


@pytest.fixture(scope="module")
def paths(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Path]:
    folder = tmp_path_factory.mktemp("adapters")
    return {name: write_peft(folder / name, adapter) for name, adapter in ADAPTERS.items()}


def with_adapters(model: Model, paths: dict[str, Path], **options: Any) -> MLCEngine:
    engine = engine_of(model, **{"lora_ranks": 32, **options})
    for name, path in paths.items():
        engine.load_adapter(name, path)
    return engine


def ask(engine: MLCEngine, lora: Any = None, text: str = PROMPT, n: int = 1) -> list[list[float]]:
    """The logprobs of a greedy answer."""
    made: Any = engine.chat.completions.create(
        messages=[{"role": "user", "content": text}], n=n, max_tokens=MAX_TOKENS, temperature=0,
        logprobs=True, top_logprobs=3, debug_config={"ignore_eos": True}, lora=lora,
    )  # fmt: skip
    return [[t.logprob for t in choice.logprobs.content] for choice in made.choices]


def cached(engine: MLCEngine, lora: Any, text: str) -> int:
    made: Any = engine.chat.completions.create(
        messages=[{"role": "user", "content": text}], max_tokens=1, lora=lora
    )
    return int(made.usage.prompt_tokens_details.cached_tokens)


USES: list[Any] = ["one", "two", [{"name": "one", "scale": -0.5}, {"name": "two"}]]


@pytest.mark.parametrize("use", range(len(USES)))
def test_an_adapter_gives_the_merged_models_answer(use, model, paths, tmp_path):
    named = USES[use] if isinstance(USES[use], list) else [{"name": USES[use]}]
    merged = WEIGHTS
    for one in named:
        merged = ADAPTERS[one["name"]].merged(merged, SCALE * one.get("scale", 1.0))
    with engine_of(model_of(merged, tmp_path, adapters=False)) as engine:
        wanted = ask(engine)
    with with_adapters(model, paths) as engine:
        base = ask(engine)
        np.testing.assert_allclose(ask(engine, USES[use]), wanted, rtol=0, atol=1e-4)
        assert ask(engine) == base and np.abs(np.subtract(base, wanted)).max() > 0.01


@pytest.mark.parametrize("quantization", ["q0f32", "q4f16_1"])
def test_company_changes_no_bit(quantization, model, paths, tmp_path, pytestconfig):
    if quantization != "q0f32":
        if not pytestconfig.getoption("--long"):
            pytest.skip("test_low_rank.py has such a product; run with --long")
        model = model_of(WEIGHTS, tmp_path, quantization)
    with engine_of(model) as engine:
        plain = ask(engine)
    jobs = [(lora, f"{text}{PROMPT}") for text in ("", "b") for lora in (None, *USES)]
    with with_adapters(model, paths, prefix_cache_mode="disable") as engine:
        alone = [ask(engine, *job) for job in jobs]
        assert alone[0] == plain and len({str(one) for one in alone}) == len(jobs)
        with ThreadPoolExecutor(len(jobs)) as pool:
            for _ in range(3):
                assert list(pool.map(lambda job: ask(engine, *job), jobs)) == alone


@pytest.mark.parametrize("way", [*WAYS, "trees", "one thread"])
def test_every_way_gives_the_same_answer(way, model, paths):
    options = {**WAYS, "trees": TREES, "one thread": {"num_threads": 1}}[way]
    with with_adapters(model, paths) as engine:
        first = [ask(engine, lora) for lora in ("one", None, "two")]
    with with_adapters(model, paths, **options) as engine:
        assert [ask(engine, lora) for lora in ("one", None, "two")] == first
        assert ask(engine, "one", n=2) == first[0] * 2


def test_preempted_requests_keep_their_adapters(model, paths):
    jobs = [(lora, f"{text}{PROMPT}") for text, lora in (("", "one"), ("b", None), ("c", "two"))]
    with with_adapters(model, paths) as engine:
        alone = [ask(engine, *job) for job in jobs]
    tight = {"max_total_seq_length": 224, "max_num_sequence": 3}
    with with_adapters(model, paths, **tight) as engine, ThreadPoolExecutor(len(jobs)) as pool:
        for _ in range(50):  # in some rounds a busy machine runs one thread after another
            assert list(pool.map(lambda job: ask(engine, *job), jobs)) == alone
            if engine.metrics()["num_preemptions"] > 0:
                break
        assert engine.metrics()["num_preemptions"] > 0


def test_a_zero_adapter_changes_no_bit(model, tmp_path):
    zero = random_adapter(3, EVERY)
    zero.b = {name: 0 * b for name, b in zero.b.items()}
    with with_adapters(model, {"zero": write_peft(tmp_path / "zero", zero)}) as engine:
        assert ask(engine, "zero") == ask(engine)


def test_prefixes_are_never_shared_between_adapters(model, paths):
    with with_adapters(model, paths) as engine:
        for lora in (None, *USES, [{"name": "one", "scale": 0.5}]):
            assert cached(engine, lora, PROMPT) == 0
            assert cached(engine, lora, PROMPT) > 0
        # the same content under another name is the same adapter
        engine.load_adapter("again", paths["one"])
        assert cached(engine, "again", PROMPT) > 0


def test_an_adapter_may_be_unloaded_and_replaced_while_it_is_used(model, paths):
    with with_adapters(model, paths) as engine:
        wanted = {lora: ask(engine, lora) for lora in ("one", "two")}
        chat: Any = engine.chat.completions.create(
            messages=[{"role": "user", "content": PROMPT}], max_tokens=MAX_TOKENS, temperature=0,
            logprobs=True, debug_config={"ignore_eos": True}, lora="one", stream=True,
        )  # fmt: skip
        chunks = [next(chat)]
        engine.unload_adapter("one")
        with pytest.raises(NotFoundError, match="no adapter 'one' is loaded"):
            ask(engine, "one")
        engine.load_adapter("one", paths["two"])  # takes the groups that are free
        assert ask(engine, "one") == wanted["two"]
        chunks += chat
        content = [c.choices[0].logprobs for c in chunks if c.choices and c.choices[0].logprobs]
        assert [t.logprob for one in content for t in one.content] == wanted["one"][0]
        engine.load_adapter("one", paths["one"])
        assert [ask(engine, lora) for lora in wanted] == list(wanted.values())
        listed = engine.adapters()
        assert [a.name for a in listed.adapters] == ["one", "two"]
        assert (listed.ranks, listed.free_ranks) == (32, 16)


def test_loads_under_traffic_lose_nothing(model, paths, request):
    """Every answer is compared, and memory stays as it is. `--long`: a thousand loads."""
    early, loads = (200, 1000) if request.config.getoption("--long") else (20, 60)
    named = [f"{name}={path}" for name, path in paths.items()]
    script = Path(__file__).parents[1] / "long_adapters.py"
    command = [sys.executable, script, *model, early, loads, *named]
    made = subprocess.run(
        list(map(str, command)), capture_output=True, text=True, timeout=3600, check=False
    )
    assert made.returncode == 0, made.stderr
    found = json.loads(made.stdout.splitlines()[-1])
    assert found["wrong"] == [] and found["answers"] > loads / 20
    assert found["free_ranks"] == 64 - 8 * len(paths)
    # An adapter of this model has 40 KB: 40 of them that stay would be 1.6 MB.
    assert found["late"]["heap_kb"] - found["early"]["heap_kb"] < 1024, found


def test_what_does_not_fit_is_refused(model, paths, tmp_path):
    wide = write_peft(tmp_path / "wide", small(4, rank=40), r=40)
    head = write_peft(tmp_path / "head", random_adapter(5, ("lm_head",)))
    dora = random_adapter(6)
    dora.m = {name: np.ones(len(b), np.float32) for name, b in dora.b.items()}
    with with_adapters(model, {}) as engine:
        with pytest.raises(ResourceError, match="takes 40 ranks, and 32 of 32 are free") as error:
            engine.load_adapter("wide", wide)
        assert error.value.code == "adapters_full"
        with pytest.raises(UnsupportedError, match="lm_head is no linear layer"):
            engine.load_adapter("head", head)
        with pytest.raises(UnsupportedError, match="magnitude"):
            engine.load_adapter("dora", write_peft(tmp_path / "dora", dora))
        with pytest.raises(NotFoundError):
            engine.load_adapter("none", tmp_path / "none")
        with pytest.raises(NotFoundError, match="no adapter 'one'") as missing:
            ask(engine, "one")
        assert missing.value.code == "adapter_not_found" and missing.value.param == "lora"
        engine.load_adapter("one", paths["one"])
        with pytest.raises(InvalidRequestError, match="named twice"):
            ask(engine, [{"name": "one"}, {"name": "one"}])
        assert engine.adapters().free_ranks == 24
    with engine_of(model) as engine, pytest.raises(UnsupportedError, match="lora_ranks"):
        engine.load_adapter("one", paths["one"])


def test_the_room_is_planned_and_has_limits(model, paths):
    options = {"model_lib": model[1], "device": "cpu"}
    plain, planned = (
        plan(model[0], **options, engine_config={"lora_ranks": ranks}) for ranks in (0, 64)
    )
    one = ADAPTERS["one"]
    floats = sum(one.a[name].shape[1] + one.b[name].shape[0] for name in one.a)  # of a rank
    assert (plain.adapter_bytes, planned.adapter_bytes) == (0, 64 * floats * 4)
    assert planned.lora_ranks == 64 and planned.temporary_bytes > plain.temporary_bytes
    parts = planned.parameter_bytes, planned.kv_cache_bytes, planned.temporary_bytes
    assert planned.total_bytes == sum(parts) + planned.adapter_bytes
    with pytest.raises(ResourceError, match="lora_ranks to at most 32"):
        engine_of(model, lora_ranks=64, lora_bytes=planned.adapter_bytes // 2)
    with with_adapters(model, {}, max_loras=1) as engine:
        for _ in range(2):  # the second one replaces the first
            engine.load_adapter("one", paths["one"])
        with pytest.raises(ResourceError, match="'max_loras'") as error:
            engine.load_adapter("two", paths["two"])
        assert error.value.code == "adapters_full" and engine.adapters().free_ranks == 24


def test_a_library_without_adapters_is_refused(tmp_path):
    plain = model_of(WEIGHTS, tmp_path, adapters=False)
    with pytest.raises(UnsupportedError, match="compile the model with --lora"):
        engine_of(plain, lora_ranks=8)

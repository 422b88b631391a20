"""An engine whose layers several shards compute together: the answers are those of one shard."""

from __future__ import annotations

import ctypes
import shutil
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from engine_ways import (
    DEVICE,
    PROMPT,
    TREES,
    WAYS,
    Model,
    ask,
    check_a_chat,
    check_a_saved_state,
    check_a_way,
    check_preemption,
    engine_of,
)
from fixture_models import FixtureModel
from sharded_child import nearly

from mlc_llm.compiler.compile import compile_model, read_chat_config
from mlc_llm.errors import (
    CancelledError,
    InternalError,
    InvalidRequestError,
    MLCError,
    UnsupportedError,
)
from mlc_llm.sdk.core_engine import CoreEngine

# 2 and 4 shards can share the heads, the groups of 32 inputs and the vocabulary, in strips of 16
SIZES = {"hidden_size": 128, "intermediate_size": 256, "num_hidden_layers": 2, "vocab_size": 320,
         "num_attention_heads": 8, "num_key_value_heads": 4}  # fmt: skip
NO_ATTENTION = {"num_attention_heads": None, "num_key_value_heads": None}
EXACTLY = "activation_bits=32"
FAMILIES: dict[str, dict[str, Any]] = {
    "mistral": {},
    "qwen2": {},  # biases
    "gemma2": {"num_key_value_heads": 4},  # windows, norms behind the sums, softcaps
    "olmo2": {},  # one norm for all heads
    "qwen3_moe": {"moe_intermediate_size": 128},
    # such a norm, and experts
    "minimax_m2": {"intermediate_size": 128, "num_hidden_layers": 4},
    "gpt_oss": {"intermediate_size": 128, "num_hidden_layers": 4},  # experts with biases, sinks
    "qwen2_moe": {"moe_intermediate_size": 128, "shared_expert_intermediate_size": 128},
    "deepseek_v2": {"num_key_value_heads": 8, "num_hidden_layers": 3},  # latent attention
    "deepseek_v3": {"num_key_value_heads": 8, "num_hidden_layers": 3},  # and latent queries
    "kimi_linear": {"num_key_value_heads": 8, "num_hidden_layers": 4},  # and the delta rule
    "lfm2": {"num_hidden_layers": 5, "block_dim": 128},  # short convolutions
    "qwen3_5": {"num_hidden_layers": 4, "linear_num_key_heads": 4, "linear_num_value_heads": 8},
    "nemotron_h": {"num_hidden_layers": 6, "n_groups": 4},  # Mamba 2
    # one group of heads, and a norm over all
    "granitemoehybrid": {"intermediate_size": 128, "num_hidden_layers": 4, "mamba_n_heads": 16,
                         "shared_intermediate_size": 128},
    "falcon_h1_norm": {"mamba_d_ssm": 256, "mamba_n_heads": 16},  # attention beside Mamba 2
    "jamba": {},  # Mamba 1
    "rwkv5": {**NO_ATTENTION, "head_size": 32},
    "rwkv6": {**NO_ATTENTION, "head_size": 32, "lora_rank_tokenshift": 32, "lora_rank_decay": 64},
    "rwkv7": {**NO_ATTENTION, "head_dim": 32, "num_hidden_layers": 3, "decay_low_rank_dim": 96,
              "a_low_rank_dim": 32, "v_low_rank_dim": 64, "gate_low_rank_dim": 128},
}  # fmt: skip


def fixture_of(family: str) -> FixtureModel:
    changes = SIZES | FAMILIES[family]
    return FixtureModel(family, **{k: v for k, v in changes.items() if v is not None})


def library(folder: Path, count: int, opt: str = EXACTLY, **options: Any) -> Path:
    made = folder / f"{count}{opt}.so"
    if not made.exists():
        overrides = f"tensor_parallel_shards={count}"
        config = read_chat_config(folder)
        compile_model(config, output=made, device="cpu", opt=opt, overrides=overrides, **options)
    return made


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return FixtureModel("qwen2", **SIZES).written(tmp_path_factory.mktemp("sharded"))


@pytest.fixture(scope="module")
def model(folder: Path) -> Model:
    return folder, library(folder, 2)


@pytest.fixture(scope="module")
def greedy(folder: Path) -> list[float]:
    with engine_of((folder, library(folder, 1))) as engine:
        (found,) = ask(engine)
    return found


def test_a_chat_is_that_of_one_shard(model: Model, greedy: list[float]) -> None:
    check_a_chat(model, greedy, atol=1e-3)


@pytest.mark.parametrize("way", {**WAYS, "trees": TREES}.items(), ids=lambda way: way[0])
def test_every_way_through_the_engine_gives_the_same(
    way: tuple[str, dict[str, Any]], model: Model
) -> None:
    check_a_way(model, way[1])


def test_preempted_chats_go_on(model: Model) -> None:
    check_preemption(model)


def test_a_saved_state_holds_the_pages_of_all_shards(
    model: Model, greedy: list[float], tmp_path: Path
) -> None:
    check_a_saved_state(model, greedy, 1e-3, tmp_path)


def test_a_library_that_replaced_an_open_one_is_the_new_one(
    folder: Path, model: Model, tmp_path: Path
) -> None:
    path = Path(shutil.copy(model[1], tmp_path / "m.so"))
    with engine_of((folder, path)) as engine:
        shutil.copy(library(folder, 1), tmp_path / "new.so").replace(path)
        with engine_of((folder, path), num_threads=1) as other:  # two shards need two threads
            assert len(ask(other)) == len(ask(engine)) == 1


def test_a_part_that_drafts_is_refused_with_what_drafts_for_shards(model: Model) -> None:
    with pytest.raises(UnsupportedError, match="mtp: a library of several shards.* small_draft"):
        engine_of(model, speculative_mode="mtp")


def test_a_shard_needs_a_thread(model: Model) -> None:
    with pytest.raises(InvalidRequestError, match="each of the 2 shards") as found:
        engine_of(model, num_threads=1)
    assert found.value.param == "num_threads"


def test_a_load_that_is_refused_ends_and_asks_no_more(model: Model) -> None:
    asked = []

    def refuse(fraction: float, what: str) -> bool:
        asked.append(fraction)
        return len(asked) > 1  # once

    usual = dict.fromkeys(("mode", "quantization", "engine_config"))
    with pytest.raises(CancelledError):
        CoreEngine(model[0], model_lib=model[1], device=DEVICE, progress=refuse, **usual)
    assert len(asked) == 1


# "\u00e9" begins with token 198, which is in the second shard's part.
FAILS = """
from tvm.tirx.script import builder as T

from mlc_llm.compiler.kernels.common import shards
from mlc_llm.compiler.kernels.common.function import Arg, kernel


def fails(old):
    def body(ids, y):
        first = shards.emit_first(160)
        with T.serial(ids.shape[0]) as row, T.sblock("known"):
            T.reads()
            T.writes()
            own = shards.is_own(ids[row], first, 160)
            with T.If(T.And(own, ids[row] == 198)), T.Then():
                T.evaluate(T.call_packed("no.such.function", ids))
            T.buffer_store(y, T.if_then_else(own, ids[row] - first, 0), [row])

    return kernel([Arg(name, ("n",), "int32") for name in ("ids", "y")], body)


def change(pipeline):
    pipeline.replace_kernel("known_rows", fails)
"""


def test_a_shard_that_fails_ends_the_request_and_no_other(
    folder: Path, model: Model, tmp_path: Path
) -> None:
    passes = tmp_path / "fails.py"
    passes.write_text(FAILS)
    failing = tmp_path / "fails.so"
    overrides = {"opt": EXACTLY, "overrides": "tensor_parallel_shards=2"}
    compile_model(
        read_chat_config(folder), output=failing, device="cpu", passes=passes, **overrides
    )
    with engine_of(model) as engine:
        expected = ask(engine)
    with engine_of((folder, failing)) as engine:
        assert ask(engine) == expected
        for _ in range(2):
            with pytest.raises(InternalError, match="shard 1: .*no.such.function"):
                ask(engine, "caf\u00e9")
            assert ask(engine) == expected


def module_that_finds_functions(library: Path) -> int | None:
    """The address that TVM keeps in a variable of the library, which all its users share. The
    code calls the core's functions through it."""
    opened = ctypes.CDLL(str(library))
    return ctypes.c_void_p.in_dll(opened, "__tvm_ffi__library_ctx").value


def test_who_opens_the_library_too_leaves_the_module_that_runs_it(
    folder: Path, model: Model, tmp_path: Path
) -> None:
    # a file of its own, because Python does not close it again
    own = folder, Path(shutil.copy(model[1], tmp_path))
    with engine_of(own) as engine:
        module = module_that_finds_functions(own[1])
        engine._core.plan()
        with engine_of(own):
            pass
        assert module_that_finds_functions(own[1]) == module
        assert len(ask(engine, n=2)) == 2


def test_the_shards_of_the_setting_are_those_of_the_library(model: Model) -> None:
    with engine_of(model, tensor_parallel_shards=2) as engine:
        assert len(ask(engine, n=2)) == 2
    with pytest.raises(MLCError, match="tensor_parallel_shards is 4, .* compiled with 2"):
        engine_of(model, tensor_parallel_shards=4)


@pytest.mark.parametrize("count", [3, 16])
def test_a_count_that_divides_nothing_is_refused_with_those_that_do(
    folder: Path, count: int, tmp_path: Path
) -> None:
    overrides = f"tensor_parallel_shards={count}"
    with pytest.raises(UnsupportedError, match="can have 2, 4 shards, or one") as found:
        config = read_chat_config(folder)
        compile_model(config, output=tmp_path / "x.so", device="cpu", overrides=overrides)
    assert found.value.param == "tensor_parallel_shards"


def answers(model: Model, **options: Any) -> list[Any]:
    """The tokens and logprobs of greedy answers, alone and in a batch."""
    with engine_of(model, **options) as engine:
        made: Any = engine.chat.completions.create(
            messages=[{"role": "user", "content": PROMPT}],
            n=2,
            max_tokens=8,
            temperature=0,
            logprobs=True,
            top_logprobs=5,
            debug_config={"ignore_eos": True},
        )
        return [token for choice in made.choices for token in choice.logprobs.content]


def check_answers(one: Model, several: Model, **options: Any) -> None:
    """The same tokens, and nearly the same scores of the best five."""
    expected, found = answers(one, **options), answers(several, **options)
    assert [token.token for token in found] == [token.token for token in expected]
    scores = [[[top.logprob for top in t.top_logprobs] for t in made] for made in (found, expected)]
    np.testing.assert_allclose(*scores, atol=1e-3)


@pytest.mark.parametrize("count", [2, 4])
@pytest.mark.parametrize("family", FAMILIES)
def test_families_answer_as_with_one_shard(
    family: str, count: int, tmp_path: Path, request: pytest.FixtureRequest
) -> None:
    if not request.config.getoption("--long"):
        pytest.skip("compiles libraries for each family; run with --long")
    made = fixture_of(family).written(tmp_path)
    check_answers((made, library(made, 1)), (made, library(made, count)))


@pytest.mark.parametrize("family", ["kimi_linear", "granitemoehybrid", "jamba", "rwkv6", "rwkv7"])
def test_states_and_latent_rows_of_shards_go_through_every_way(
    family: str, tmp_path: Path, request: pytest.FixtureRequest
) -> None:
    """Kimi Linear has the delta rule, latent attention and experts."""
    if family != "kimi_linear" and not request.config.getoption("--long"):
        pytest.skip("compiles libraries for each family; run with --long")
    made = fixture_of(family).written(tmp_path)
    model = made, library(made, 2)
    check_answers((made, library(made, 1)), model)
    for way in WAYS.values():
        check_a_way(model, way, nearly)
    alone = check_preemption(model, nearly)
    check_a_saved_state(model, alone[0][0], 1e-3, tmp_path)


SCHEMES = ("q4f32_1", "q4f16_0", "q8f32_1", "q0bf16", "q4bf16_1", "q4f16_2", "e4m3_e4m3_f16",
           "e5m2_e5m2_f16", "fp8_e4m3fn_bf16_block_scale")  # fmt: skip
WIDE = {"hidden_size": 256, "intermediate_size": 512, "head_dim": 64}  # whole blocks of 128


@pytest.mark.parametrize("scheme", SCHEMES)
def test_schemes_answer_as_with_one_shard(
    scheme: str, tmp_path: Path, request: pytest.FixtureRequest
) -> None:
    if not request.config.getoption("--long"):
        pytest.skip("compiles libraries for each scheme; run with --long")
    made = FixtureModel("mistral", **(SIZES | WIDE)).written(tmp_path, scheme)
    one = (made, library(made, 1, kv_cache_dtype="f32"))
    for count in (2, 4) if "fp8" not in scheme else (2,):
        check_answers(one, (made, library(made, count, kv_cache_dtype="f32")))


def test_the_command_of_the_page(mlc_llm: Any, request: pytest.FixtureRequest) -> None:
    """docs/shards.md"""
    if not request.config.getoption("--long"):
        pytest.skip("compiles the default model; run with --long")
    found = mlc_llm("chat", "default", "Say hello", "--tensor-parallel-shards", 3)
    assert found.returncode == 0 and found.stdout.strip(), found.stderr

"""What `mlc-package-config.json` may contain: each wrong key and type is an error that names it."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from mlc_llm.errors import InvalidRequestError, MLCError, NotFoundError
from mlc_llm.package.config import read_config

MODEL = {"model": "HF://org/repo", "model_id": "repo", "estimated_vram_bytes": 1}


def read(folder: Path, config: Any) -> Any:
    path = folder / "mlc-package-config.json"
    path.write_text(config if isinstance(config, str) else json.dumps(config))
    return read_config(path)


def one(**changes: Any) -> dict[str, Any]:
    return {"device": "iphone", "model_list": [{**MODEL, **changes}]}


def overrides(**changes: Any) -> dict[str, Any]:
    return one(overrides=changes)


def test_the_embedded_model_s_name_is_no_folder(tmp_path: Path) -> None:
    config = one(model="default", bundle_weight=True)
    assert read(tmp_path, config).models[0].model == "default"
    (tmp_path / "default").mkdir()
    assert read(tmp_path, config).models[0].model == str(tmp_path / "default")


def test_every_key(tmp_path: Path) -> None:
    (tmp_path / "lib.tar").write_bytes(b"")
    (tmp_path / "models" / "tiny").mkdir(parents=True)
    config = read(
        tmp_path,
        {
            "device": ["iphone", "android", "iphone"],
            "model_list": [
                {
                    **MODEL,
                    "model": "models/tiny",
                    "bundle_weight": True,
                    "model_lib": "tiny-q4",
                    "quantization": "q4f32_1",
                    "overrides": {
                        "context_window_size": 768,
                        "sliding_window_size": -1,
                        "prefill_chunk_size": 128,
                        "attention_sink_size": 0,
                        "max_batch_size": 1,
                        "tensor_parallel_shards": 1,
                        "pipeline_parallel_stages": 1,
                        "disaggregation": False,
                        "opt": "O2",
                    },
                }
            ],
            "model_lib_path_for_prepare_libs": {"tiny-q4": "lib.tar"},
        },
    )
    assert [device.name for device in config.devices] == ["iphone", "android"]
    (model,) = config.models
    assert model.model == str(tmp_path / "models" / "tiny")  # beside the config
    assert dict(model.sizes) == {
        "context_window_size": 768,
        "sliding_window_size": -1,
        "prefill_chunk_size": 128,
        "attention_sink_size": 0,
        "max_batch_size": 1,
        "tensor_parallel_shards": 1,
    }
    assert config.prebuilt == {"tiny-q4": tmp_path / "lib.tar"}


@pytest.mark.parametrize(
    ("config", "param", "words"),
    [
        ("{", "package_config", "not valid JSON"),
        ([], "package_config", "must be an object"),
        ({"model_list": [MODEL]}, "device", "is missing"),
        ({"device": "iphone"}, "model_list", "is missing"),
        (
            {"device": "ipad", "model_list": [MODEL]},
            "device",
            '"ipad" is none of iphone, iphone-cpu',
        ),
        ({"device": 3, "model_list": [MODEL]}, "device", "a list of them; it is 3"),
        ({"device": [], "model_list": [MODEL]}, "device", "or a list"),
        ({"device": "iphone", "model_list": {}}, "model_list", "must be a list"),
        ({"device": "iphone", "model_list": []}, "model_list", "must have a model"),
        ({"device": "iphone", "model_list": ["x"]}, "model_list[0]", "must be an object"),
        ({**one(), "modle_list": []}, "modle_list", "unknown key"),
        (one(bundle_weights=True), "model_list[0].bundle_weights", "mean 'bundle_weight'"),
        (one(model=""), "model_list[0].model", "must be a text"),
        (one(model_id="../x"), "model_list[0].model_id", "letters, digits"),
        (one(model_id="Adapters"), "model_list[0].model_id", "folder of adapters"),
        (one(model_id=7), "model_list[0].model_id", "must be a text"),
        (one(estimated_vram_bytes="3 GB"), "model_list[0].estimated_vram_bytes", "whole number"),
        (one(estimated_vram_bytes=-1), "model_list[0].estimated_vram_bytes", "at least 0"),
        (one(estimated_vram_bytes=True), "model_list[0].estimated_vram_bytes", "whole number"),
        (one(bundle_weight="yes"), "model_list[0].bundle_weight", "true or false"),
        (one(model="folder"), "model_list[0].bundle_weight", "must be true"),
        (one(model="other"), "model_list[0].model", "other: no such folder"),
        (one(model="org/repo"), "model_list[0].model", "write HF://org/repo"),
        (one(model="hf://org/repo"), "model_list[0].model", "write HF://org/repo"),
        (one(estimated_vram_bytes=1.5), "model_list[0].estimated_vram_bytes", "it is 1.5"),
        (one(quantization="q4"), "model_list[0].quantization", "available: q0f16"),
        (overrides(opt="fast"), "model_list[0].overrides.opt", "must be one of O0, O1, O2, O3, or"),
        (overrides(opt="fast=1"), "model_list[0].overrides.opt", "unknown flag fast"),
        (overrides(kv_cache_dtype="f8"), "model_list[0].overrides.kv_cache_dtype", "one of auto"),
        (overrides(max_batch_size=0), "model_list[0].overrides.max_batch_size", "at least 1"),
        ('{"device": "iphone", "device": "android"}', "device", "is in an object twice"),
        ('{"model_list": [{"model": "a", "model": "b"}]}', "model", "is in an object twice"),
        ('{"device": "iphone",}', "package_config", "no comma after a last entry"),
        ({"device": "iOS", "model_list": [MODEL]}, "device", 'do you mean "iphone"?'),
        ({"device": "Android", "model_list": [MODEL]}, "device", 'do you mean "android"?'),
        (one(model_lib="a b"), "model_list[0].model_lib", "letters, digits"),
        (one(quantization=4), "model_list[0].quantization", "must be a text"),
        (one(overrides=[]), "model_list[0].overrides", "must be an object"),
        (overrides(context=1), "model_list[0].overrides.context", "unknown key"),
        (overrides(max_batch_size=1.5), "model_list[0].overrides.max_batch_size", "whole number"),
        (overrides(disaggregation=1), "model_list[0].overrides.disaggregation", "true or false"),
        (overrides(disaggregation=True), "model_list[0].overrides.disaggregation", "there is no"),
        (
            overrides(tensor_parallel_shards=2),
            "model_list[0].overrides.tensor_parallel_shards",
            "one device",
        ),
        (overrides(opt=2), "model_list[0].overrides.opt", "must be a text"),
        (
            {"device": "iphone", "model_list": [MODEL, MODEL]},
            "model_list[1].model_id",
            "is model_list[0]'s already",
        ),
        (
            {**one(), "model_lib_path_for_prepare_libs": {"x": "x.so"}},
            "model_lib_path_for_prepare_libs.x",
            "must be a .tar or .a",
        ),
        (
            {**one(), "model_lib_path_for_prepare_libs": {"x": "x.tar"}},
            "model_lib_path_for_prepare_libs.x",
            "no such file",
        ),
        (
            {**one(), "model_lib_path_for_prepare_libs": {"x": "there.a"}},
            "model_lib_path_for_prepare_libs.x",
            "no model has this model_lib",
        ),
    ],
)
def test_what_is_wrong_is_named(tmp_path: Path, config: Any, param: str, words: str) -> None:
    (tmp_path / "there.a").write_bytes(b"")
    (tmp_path / "folder").mkdir()
    with pytest.raises(MLCError) as caught:
        read(tmp_path, config)
    assert caught.value.param == param
    assert words in caught.value.message
    assert param == "package_config" or param in caught.value.message


def test_what_is_read_as_it_is_meant(tmp_path: Path) -> None:
    """A number of bytes as 4.5e9, a mark before the text, and settings of the compiler."""
    text = json.dumps(overrides(opt="activation_bits=16", kv_cache_dtype="q8"))
    config = read(tmp_path, "\ufeff" + text.replace('_bytes": 1', '_bytes": 4.5e9'))
    (model,) = config.models
    assert model.estimated_vram_bytes == 4_500_000_000
    assert isinstance(model.estimated_vram_bytes, int)
    assert (model.opt, model.kv_cache_dtype) == ("activation_bits=16", "q8")


def test_the_precisions_are_the_compilers() -> None:
    from mlc_llm.compiler.kv_cache import AUTO, PAGE_DTYPES
    from mlc_llm.package.config import _KV_CACHE_DTYPES

    assert set(_KV_CACHE_DTYPES) == {AUTO, *PAGE_DTYPES}


def test_a_file_that_is_not_there(tmp_path: Path) -> None:
    with pytest.raises(NotFoundError, match="--package-config"):
        read_config(tmp_path / "none.json")
    (tmp_path / "bytes.json").write_bytes(b"\xff\xfe")
    with pytest.raises(InvalidRequestError, match="bytes.json"):
        read_config(tmp_path / "bytes.json")

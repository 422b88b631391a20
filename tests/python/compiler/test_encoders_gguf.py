"""Encoders, written as llama.cpp's converter writes them: the same model comes out. Needs no
compiler."""

from __future__ import annotations

from pathlib import Path

import gguf
import numpy as np
import pytest
import tiny_encoders
import tiny_families
from tiny_encoders import write_gguf

from mlc_llm.compiler.convert.gguf import GGUFModel
from mlc_llm.errors import UnsupportedError


def test_the_same_model_comes_out(tmp_path: Path) -> None:
    config = write_gguf(
        tmp_path / "model.gguf", lambda w: w.add_pooling_type(gguf.PoolingType.MEAN)
    )
    source = GGUFModel(tmp_path / "model.gguf")
    read = source.hf_config()
    assert read["embedding_metadata"] == {"pooling_strategy": "mean", "normalize": True}
    assert {k: read[k] for k in ("max_position_embeddings", "type_vocab_size")} == {
        "max_position_embeddings": 64,
        "type_vocab_size": 2,
    }
    plain = tiny_families.Source(tiny_encoders.weights(config))
    expected, found = (tiny_families.converted(s, c) for s, c in ((plain, config), (source, read)))
    assert expected.keys() == found.keys()
    for name, value in expected.items():
        assert np.array_equal(found[name], value), name


def test_a_pooling_that_is_not_known_is_refused(tmp_path: Path) -> None:
    write_gguf(tmp_path / "model.gguf", lambda w: w.add_pooling_type(gguf.PoolingType.RANK))
    with pytest.raises(UnsupportedError, match="pooling_type 4") as error:
        GGUFModel(tmp_path / "model.gguf").hf_config()
    assert error.value.param == "pooling_type"


def test_a_causal_file_is_refused(tmp_path: Path) -> None:
    write_gguf(tmp_path / "model.gguf", causal=True)
    with pytest.raises(UnsupportedError, match="attention.causal"):
        GGUFModel(tmp_path / "model.gguf").hf_config()

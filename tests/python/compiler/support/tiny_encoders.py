"""A tiny random encoder of each family: config.json, Hugging Face's tensors, and a runner."""

from __future__ import annotations

import json
import zlib
from collections.abc import Mapping, Sequence
from functools import cache
from pathlib import Path
from typing import Any

import gguf
import numpy as np
import quick_code
import tiny_families
import tvm
from gguf.quants import quantize
from safetensors.numpy import save_file
from vm_runner import Runner

from mlc_llm.compiler import models
from mlc_llm.compiler.compile import library_spec

Array = np.ndarray[Any, Any]

LETTERS = "abcdefghijklmnopqrstuvwxyz"
SPECIAL = ["[PAD]", "[UNK]", "[CLS]", "[SEP]", "[MASK]"]
VOCABULARY = [*SPECIAL, *LETTERS, *(f"##{letter}" for letter in LETTERS), ".", ",", "café"]

_COMMON: dict[str, Any] = {
    "hidden_size": 64,
    "intermediate_size": 96,
    "num_hidden_layers": 2,
    "num_attention_heads": 4,
    "vocab_size": 128,
    "layer_norm_eps": 1e-12,
    "hidden_act": "gelu",
    "position_embedding_type": "absolute",
    "pad_token_id": 0,
}
FAMILIES: dict[str, dict[str, Any]] = {
    "bert": {"max_position_embeddings": 64, "type_vocab_size": 2, "architectures": ["BertModel"]},
    "xlm-roberta": {
        "max_position_embeddings": 66,
        "type_vocab_size": 1,
        "pad_token_id": 1,
        "architectures": ["XLMRobertaModel"],
    },
}


def config(family: str) -> dict[str, Any]:
    return {**_COMMON, **FAMILIES[family], "model_type": family}


def weights(c: Mapping[str, Any]) -> dict[str, Array]:
    """Hugging Face's tensors, always the same; bfloat16's values, in float32."""
    rng = np.random.RandomState(zlib.crc32(c["model_type"].encode()))
    made = {}
    for name, shape in shapes(c).items():
        is_norm = name.endswith("LayerNorm.weight")
        value = rng.standard_normal(shape).astype(np.float32) * np.float32(0.3) + is_norm
        made[name] = (value.view(np.uint32) & np.uint32(0xFFFF0000)).view(np.float32)
    return made


def shapes(c: Mapping[str, Any]) -> dict[str, tuple[int, ...]]:
    hidden, wide = c["hidden_size"], c["intermediate_size"]
    tables = {
        "word": c["vocab_size"],
        "position": c["max_position_embeddings"],
        "token_type": c["type_vocab_size"],
    }
    found: dict[str, tuple[int, ...]] = {
        f"embeddings.{name}_embeddings.weight": (rows, hidden) for name, rows in tables.items()
    }
    norms = ["embeddings"]
    for i in range(c["num_hidden_layers"]):
        layer = f"encoder.layer.{i}"
        linear = {
            **{f"attention.self.{part}": (hidden, hidden) for part in ("query", "key", "value")},
            "attention.output.dense": (hidden, hidden),
            "intermediate.dense": (wide, hidden),
            "output.dense": (hidden, wide),
        }
        for name, shape in linear.items():
            found |= {f"{layer}.{name}.weight": shape, f"{layer}.{name}.bias": shape[:1]}
        norms += [f"{layer}.attention.output", f"{layer}.output"]
    return found | {
        f"{name}.LayerNorm.{kind}": (hidden,) for name in norms for kind in ("weight", "bias")
    }


def write_folder(folder: Path, pooling: str, *, normalize: bool = True) -> Path:
    """As sentence-transformers writes it."""
    bert = config("bert")
    (folder / "1_Pooling").mkdir(parents=True)
    modules = ["", "1_Pooling", *(["2_Normalize"] if normalize else [])]
    kinds = ("Transformer", "Pooling", "Normalize")
    save_file(weights(bert), folder / "model.safetensors")
    contents: dict[str, Any] = {
        "config.json": bert,
        "tokenizer_config.json": {"do_lower_case": True, "tokenizer_class": "BertTokenizer"},
        "1_Pooling/config.json": {"word_embedding_dimension": 64, pooling: True},
        "modules.json": [
            {"idx": i, "path": path, "type": f"sentence_transformers.models.{kind}"}
            for i, (path, kind) in enumerate(zip(modules, kinds, strict=False))
        ],
    }
    for name, content in contents.items():
        (folder / name).write_text(json.dumps(content))
    padding = [f"[unused{i}]" for i in range(bert["vocab_size"] - len(VOCABULARY))]
    (folder / "vocab.txt").write_text("\n".join([*VOCABULARY, *padding]), encoding="utf-8")
    return folder


def write_gguf(
    path: Path,
    add: Any = lambda writer: None,
    *,
    family: str = "bert",
    causal: bool = False,
    blocks: bool = False,
) -> dict[str, Any]:
    """The tiny encoder as llama.cpp's converter writes it, with BERT's WordPiece vocabulary.
    `blocks`: linear layers and the table of words are Q8_0. Returns its config.json."""
    bert = config(family)
    unused = 0 if family == "bert" else bert["pad_token_id"] + 1  # rows of positions, left out
    writer = gguf.GGUFWriter(path, "bert")
    writer.add_context_length(bert["max_position_embeddings"] - unused)
    writer.add_embedding_length(bert["hidden_size"])
    writer.add_block_count(bert["num_hidden_layers"])
    writer.add_feed_forward_length(bert["intermediate_size"])
    writer.add_head_count(bert["num_attention_heads"])
    writer.add_layer_norm_eps(bert["layer_norm_eps"])
    writer.add_causal_attention(causal)
    _add_vocabulary(writer, bert["vocab_size"])
    add(writer)
    table = gguf.get_tensor_name_map(gguf.MODEL_ARCH.BERT, bert["num_hidden_layers"])
    for key, value in weights(bert).items():
        ours = table.get_name(key, try_suffixes=(".weight", ".bias"))
        assert ours is not None, key
        value = value[unused:] if "position_embeddings" in key else value
        if blocks and is_linear(key):
            kind = gguf.GGMLQuantizationType.Q8_0
            writer.add_tensor(ours, quantize(value, kind), raw_dtype=kind)
        else:
            writer.add_tensor(ours, value)
    writer.write_header_to_file()
    writer.write_kv_data_to_file()
    writer.write_tensors_to_file()
    writer.close()
    return bert


def is_linear(name: str) -> bool:
    """Whether it is the weight of a linear layer, or the table of words."""
    is_layer = name.startswith("encoder.") and "LayerNorm" not in name
    return name.endswith("word_embeddings.weight") or (is_layer and name.endswith(".weight"))


def _add_vocabulary(writer: Any, size: int) -> None:
    def phantom(token: str) -> str:
        if token.startswith("["):
            return token
        return token[2:] if token.startswith("##") else f"▁{token}"

    tokens = [*VOCABULARY, *(f"[unused{i}]" for i in range(size - len(VOCABULARY)))]
    writer.add_tokenizer_model("bert")
    writer.add_token_list([phantom(token) for token in tokens])
    writer.add_token_types([1] * size)
    for name, index in (("unk", 1), ("bos", 2), ("sep", 3), ("pad", 0), ("mask", 4)):
        getattr(writer, f"add_{name}_token_id")(index)


@cache
def module(family: str, scheme: str = "q0f32") -> Any:
    return built(config(family), scheme)


def built(c: Mapping[str, Any], scheme: str = "q0f32") -> Any:
    """The library of that config."""
    chat = {**c, "quantization": scheme, "prefill_chunk_size": 128}
    spec = library_spec(chat, device="cpu")
    return quick_code.build(spec, models.get(c["model_type"]))


class EncoderRunner(Runner):
    """Runs whole texts."""

    def encode(
        self, texts: Sequence[Sequence[int]], types: Sequence[Sequence[int]] = ()
    ) -> list[Array]:
        """The hidden states of all rows of each text, computed in one step. `types`: the type of
        each row; without them all have type 0."""
        work = [(f"text {number}", ids) for number, ids in enumerate(texts)]
        given = {"token_types": [i for row in types for i in row]} if types else {}
        rows = range(sum(len(ids) for ids in texts))
        made = self.step(work, hidden_rows=rows, **given)["hidden_states"]
        for name, _ in work:
            self.drop(name)
        return np.split(made, np.cumsum([len(ids) for ids in texts])[:-1])

    def head(self, vectors: Array) -> Array:
        """What the head makes of the vectors of texts."""
        rows = tvm.runtime.tensor(vectors.astype("float32"))
        return self.call("get_logits", vectors=rows, params=self.params)["logits"].numpy()


def runner(family: str, scheme: str = "q0f32") -> EncoderRunner:
    c = config(family)
    params = tiny_families.converted(tiny_families.Source(weights(c)), c, scheme)
    return EncoderRunner(module(family, scheme), params, num_pages=32)

"""A tiny random SmolVLM as a Hugging Face folder, or as GGUF files: drawn weights for a config of
`tests/fixtures/towers/tower_cases.py`, a tokenizer with the words around pictures, and a template
that has pictures.

    folder = write_hf_folder(tmp_path / "smolvlm")
"""

from __future__ import annotations

import json
import re
import sys
from pathlib import Path
from typing import Any

import gguf
import numpy as np
import tiny_models
from safetensors.numpy import save_file

from mlc_llm.compiler.random_weights import draw

FIXTURES = Path(__file__).parents[2] / "fixtures"
sys.path += [str(FIXTURES / name) for name in ("towers", "families")]

import gguf_file  # noqa: E402
import tower_cases  # noqa: E402
import tower_gguf  # noqa: E402
import tower_qwen  # noqa: E402
import tower_shapes  # noqa: E402
from tower_models import (  # noqa: E402
    FIRST_WORD,
    MARKERS,
    OF_TEXTS,
    WORDS,
    config,
    processor,
    row_word,
)
from tower_parts import kind_of  # noqa: E402

Array = np.ndarray[Any, Any]
SEED = 11
TEMPLATE = (
    "{% for m in messages %}{{ '<|im_start|>' + m['role'] + ':' }}"
    "{% if m['content'] is string %}{{ m['content'] }}{% else %}{% for part in m['content'] %}"
    "{% if part['type'] == 'text' %}{{ part['text'] }}{% else %}{{ '<image>' }}{% endif %}"
    "{% endfor %}{% endif %}{{ '<end_of_utterance>\\n' }}"
    "{% endfor %}{% if add_generation_prompt %}{{ 'assistant:' }}{% endif %}"
)
TEXTS_TEMPLATE = (
    "{% for m in messages %}{{ '<|im_start|>' + m['role'] + ':' + m['content'] }}"
    "{{ '<end_of_utterance>\\n' }}"
    "{% endfor %}{% if add_generation_prompt %}{{ 'assistant:' }}{% endif %}"
)
TOKENS = [*tiny_models.tokens(), *WORDS]
assert TOKENS.index(WORDS[0]) == FIRST_WORD
ROW_TOKENS = {"gemma3": "<image_soft_token>"}  # in GGUF files
GGUF_TEXTS = {"minicpmv": "qwen2"}  # whose config has no name for its text
NOT_OF_TEXT = "vision|visual|connector|projector|mlp1|image_newline|vpm|resampler"


def template(case: str) -> str:
    if case in OF_TEXTS:
        return TEXTS_TEMPLATE
    return TEMPLATE.replace("<image>", MARKERS.get(case, "<image>"))


def weights(c: dict[str, Any]) -> dict[str, Array]:
    return draw(tower_shapes.of(c), SEED, tower_cases.NORM_MEANS.get(kind_of(c), 1))


def tokenizer_json() -> bytes:
    made = json.loads(tiny_models.tokenizer_json())
    plain = {"special": True, "single_word": False, "lstrip": False, "rstrip": False}
    made["added_tokens"] += [
        {"id": TOKENS.index(word), "content": word, "normalized": False, **plain} for word in WORDS
    ]
    return json.dumps(made).encode()


def write_hf_folder(folder: Path, case: str = "smolvlm", **changes: Any) -> Path:
    """`changes`: of the config."""
    folder.mkdir(parents=True, exist_ok=True)
    c = {**config(case), **changes}
    (folder / "config.json").write_text(json.dumps(c))
    (folder / "preprocessor_config.json").write_text(json.dumps(processor(c)))
    (folder / "tokenizer.json").write_bytes(tokenizer_json())
    ends = {"bos_token": "<|im_start|>", "eos_token": "<|im_end|>"}
    extras = json.dumps({"chat_template": template(case), **ends})
    (folder / "tokenizer_config.json").write_text(extras)
    save_file(weights(c), folder / "model.safetensors")
    return folder


def _tokens(case: str) -> list[str]:
    token = ROW_TOKENS.get(case, "<image>") if row_word(case) == "<image>" else "<image>"
    return [token if one == "<image>" else one for one in TOKENS]


def write_gguf_pair(
    folder: Path, case: str = "smolvlm", *, said_name: str = "tiny-F32", architecture: str = "",
    **options: Any,
) -> Path:  # fmt: skip
    """The GGUF file of the text, and the tower's beside it. `architecture`: of the text, if it is
    not the model's. `options` of `tower_gguf.write`."""
    folder.mkdir(parents=True, exist_ok=True)
    c = config(case)
    drawn = weights(c)
    own = c.get("text_config") or c.get("llm_config") or c
    text = {"model_type": "qwen2_vl_text", **own}
    if text["model_type"] in tower_qwen.CASES:
        text["model_type"] = "qwen2_vl_text"
    text["model_type"] = architecture or GGUF_TEXTS.get(case, text["model_type"])
    tied = "tie_word_embeddings"
    text[tied] = c.get(tied, text.get(tied))
    taps = c["vision_config"].get("deepstack_visual_indexes")

    def add_tokenizer(writer: gguf.GGUFWriter) -> None:
        words = _tokens(case)
        writer.add_tokenizer_model("gpt2")
        writer.add_tokenizer_pre("gpt-2")
        writer.add_token_list(words)
        plain = len(tiny_models.tokens()) - 3
        writer.add_token_types([3] * 3 + [1] * plain + [3] * len(WORDS))
        writer.add_token_merges(["t h"])
        writer.add_bos_token_id(1)
        writer.add_eos_token_id(2)
        writer.add_chat_template(template(case))

    def add_taps(writer: gguf.GGUFWriter) -> None:
        if taps:
            writer.add_uint32("qwen3vl.n_deepstack_layers", len(taps))

    of_text = {
        re.sub(r"^(model\.)?(text_model|language_model|llm)\.", r"\1", key): value
        for key, value in drawn.items()
        if not re.search(NOT_OF_TEXT, key)
    }
    path = folder / f"{said_name}.gguf"
    gguf_file.write(path, text, of_text, add_taps, add_tokenizer)
    tower = folder / "mmproj-F16.gguf"
    tower_gguf.write(tower, c, processor(c), drawn, **options)
    return path

"""The model families, as a table from a config's `model_type` to an entry.

    family = get("llama")
    config = config_from_dict(json.load(open("config.json")))
    for weight in family.weight_map(config): ...

To add a family: one file here, one line in `FAMILIES` (and in `ARCHITECTURES`). Other packages may
have more families (`outside.py`).
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from difflib import get_close_matches
from typing import Any

from mlc_llm.compiler import outside
from mlc_llm.compiler.models import (
    apertus,
    arcee,
    baichuan,
    bert,
    bloom,
    cohere,
    cohere2,
    deepseek,
    deepseek_v32,
    ernie4_5,
    exaone4,
    falcon,
    falcon_h1,
    gemma,
    gemma2,
    gemma3,
    gemma4,
    glm4,
    glm4_moe,
    glm4_moe_lite,
    gpt2,
    gpt_bigcode,
    gpt_neox,
    gpt_oss,
    gptj,
    granite,
    granitemoe,
    granitemoehybrid,
    hunyuan,
    internlm,
    internlm2,
    jamba,
    kimi_linear,
    lfm2,
    lfm2_moe,
    llama,
    llama4,
    mamba2,
    minicpm,
    minicpm3,
    minimax_m2,
    ministral3,
    mistral,
    mixtral,
    modernbert,
    mpt,
    nemotron,
    nemotron_h,
    nomic_bert,
    olmo,
    olmo2,
    olmoe,
    opt,
    orion,
    phi,
    phi3,
    phimoe,
    qwen2,
    qwen2_moe,
    qwen3,
    qwen3_5,
    qwen3_5_moe,
    qwen3_moe,
    qwen3_next,
    rwkv5,
    rwkv6,
    rwkv7,
    seed_oss,
    smollm3,
    stablelm,
    starcoder2,
    xlm_roberta,
)
from mlc_llm.compiler.models.classifier import is_classifier
from mlc_llm.compiler.models.family import ModelConfig, ModelFamily
from mlc_llm.compiler.models.text_part import TEXTS
from mlc_llm.compiler.spec import WeightSource
from mlc_llm.errors import CorruptFileError, UnsupportedError

FAMILIES: dict[str, ModelFamily] = {
    "llama": llama.FAMILY,
    "mistral": mistral.FAMILY,
    "ministral3": ministral3.FAMILY,
    "qwen2": qwen2.FAMILY,
    "qwen3": qwen3.FAMILY,
    "gemma": gemma.FAMILY,
    "gemma2": gemma2.FAMILY,
    "gemma3_text": gemma3.FAMILY,
    "gemma4_text": gemma4.FAMILY,
    "gemma-embedding": gemma3.EMBEDDING,
    "phi3": phi3.FAMILY,
    "granite": granite.FAMILY,
    "smollm3": smollm3.FAMILY,
    "lfm2": lfm2.FAMILY,
    "starcoder2": starcoder2.FAMILY,
    "phi": phi.FAMILY,
    "gpt_neox": gpt_neox.FAMILY,
    "cohere": cohere.FAMILY,
    "gpt2": gpt2.FAMILY,
    "olmo": olmo.FAMILY,
    "olmo2": olmo2.FAMILY,
    "olmo3": olmo2.OLMO3,
    "glm": glm4.GLM,
    "glm4": glm4.FAMILY,
    "cohere2": cohere2.FAMILY,
    "exaone4": exaone4.FAMILY,
    "hunyuan_v1_dense": hunyuan.FAMILY,
    "nemotron": nemotron.FAMILY,
    "stablelm": stablelm.FAMILY,
    "baichuan": baichuan.FAMILY,
    "internlm": internlm.FAMILY,
    "internlm2": internlm2.FAMILY,
    "minicpm": minicpm.FAMILY,
    "orion": orion.FAMILY,
    "gptj": gptj.FAMILY,
    "gpt_bigcode": gpt_bigcode.FAMILY,
    "bert": bert.FAMILY,
    "roberta": xlm_roberta.FAMILY,
    "xlm-roberta": xlm_roberta.FAMILY,
    "modernbert": modernbert.FAMILY,
    "nomic_bert": nomic_bert.FAMILY,
    # MLC-LLM's other names of a family, for embedding models
    "bert-bge": bert.FAMILY,
    "qwen3-embedding": replace(qwen3.FAMILY, pooling="last"),
    "mixtral": mixtral.FAMILY,
    "llama4_text": llama4.FAMILY,
    "phimoe": phimoe.FAMILY,
    "olmoe": olmoe.FAMILY,
    "qwen2_moe": qwen2_moe.FAMILY,
    "qwen3_moe": qwen3_moe.FAMILY,
    "gpt_oss": gpt_oss.FAMILY,
    "glm4_moe": glm4_moe.FAMILY,
    "granitemoe": granitemoe.FAMILY,
    "granitemoeshared": granitemoe.FAMILY,
    "granitemoehybrid": granitemoehybrid.FAMILY,
    "mamba2": mamba2.FAMILY,
    "rwkv7": rwkv7.FAMILY,
    "rwkv6": rwkv6.FAMILY,
    "rwkv5": rwkv5.FAMILY,
    "deepseek_v3": deepseek.FAMILY,
    "deepseek_v2": deepseek.V2,
    "minicpm3": minicpm3.FAMILY,
    "qwen3_5_text": qwen3_5.FAMILY,
    "qwen3_5_moe_text": qwen3_5_moe.FAMILY,
    "qwen3_next": qwen3_next.FAMILY,
    "ernie4_5": ernie4_5.FAMILY,
    "ernie4_5_moe": ernie4_5.MOE,
    "seed_oss": seed_oss.FAMILY,
    "arcee": arcee.FAMILY,
    "glm4_moe_lite": glm4_moe_lite.FAMILY,
    "minimax_m2": minimax_m2.FAMILY,
    "lfm2_moe": lfm2_moe.FAMILY,
    "falcon": falcon.FAMILY,
    "bloom": bloom.FAMILY,
    "mpt": mpt.FAMILY,
    "opt": opt.FAMILY,
    "apertus": apertus.FAMILY,
    "deepseek_v32": deepseek_v32.FAMILY,
    "nemotron_h": nemotron_h.FAMILY,
    "jamba": jamba.FAMILY,
    "falcon_h1": falcon_h1.FAMILY,
    "kimi_linear": kimi_linear.FAMILY,
}

# Hugging Face's `architectures[0]`, for configurations without a known `model_type`.
ARCHITECTURES: dict[str, str] = {
    "LlamaForCausalLM": "llama",
    "Llama4ForCausalLM": "llama4_text",
    "MistralForCausalLM": "mistral",
    "Ministral3ForCausalLM": "ministral3",
    "Qwen2ForCausalLM": "qwen2",
    "Qwen3ForCausalLM": "qwen3",
    "GemmaForCausalLM": "gemma",
    "Gemma2ForCausalLM": "gemma2",
    "Gemma3ForCausalLM": "gemma3_text",
    "Gemma4ForCausalLM": "gemma4_text",
    "Gemma3TextModel": "gemma3_text",
    "Phi3ForCausalLM": "phi3",
    "GraniteForCausalLM": "granite",
    "SmolLM3ForCausalLM": "smollm3",
    "Lfm2ForCausalLM": "lfm2",
    "Starcoder2ForCausalLM": "starcoder2",
    "PhiForCausalLM": "phi",
    "GPTNeoXForCausalLM": "gpt_neox",
    "CohereForCausalLM": "cohere",
    "GPT2LMHeadModel": "gpt2",
    "OlmoForCausalLM": "olmo",
    "Olmo2ForCausalLM": "olmo2",
    "Olmo3ForCausalLM": "olmo3",
    "GlmForCausalLM": "glm",
    "Glm4ForCausalLM": "glm4",
    "Cohere2ForCausalLM": "cohere2",
    "Exaone4ForCausalLM": "exaone4",
    "HunYuanDenseV1ForCausalLM": "hunyuan_v1_dense",
    "NemotronForCausalLM": "nemotron",
    "StableLmForCausalLM": "stablelm",
    "BaichuanForCausalLM": "baichuan",
    "BaiChuanForCausalLM": "baichuan",
    "InternLMForCausalLM": "internlm",
    "InternLM2ForCausalLM": "internlm2",
    "MiniCPMForCausalLM": "minicpm",
    "OrionForCausalLM": "orion",
    "GPTJForCausalLM": "gptj",
    "GPTBigCodeForCausalLM": "gpt_bigcode",
    "BertModel": "bert",
    "RobertaModel": "roberta",
    "XLMRobertaModel": "xlm-roberta",
    "ModernBertModel": "modernbert",
    "NomicBertModel": "nomic_bert",
    "ModernBertForMaskedLM": "modernbert",
    "ModernBertForSequenceClassification": "modernbert",
    "BertForSequenceClassification": "bert",
    "RobertaForSequenceClassification": "roberta",
    "XLMRobertaForSequenceClassification": "xlm-roberta",
    "MixtralForCausalLM": "mixtral",
    "PhimoeForCausalLM": "phimoe",
    "PhiMoEForCausalLM": "phimoe",
    "OlmoeForCausalLM": "olmoe",
    "Qwen2MoeForCausalLM": "qwen2_moe",
    "Qwen3MoeForCausalLM": "qwen3_moe",
    "GptOssForCausalLM": "gpt_oss",
    "Glm4MoeForCausalLM": "glm4_moe",
    "GraniteMoeForCausalLM": "granitemoe",
    "GraniteMoeSharedForCausalLM": "granitemoeshared",
    "GraniteMoeHybridForCausalLM": "granitemoehybrid",
    "Mamba2ForCausalLM": "mamba2",
    "RWKV7ForCausalLM": "rwkv7",
    "Rwkv7ForCausalLM": "rwkv7",
    "Rwkv6ForCausalLM": "rwkv6",
    "Rwkv5ForCausalLM": "rwkv5",
    "DeepseekV3ForCausalLM": "deepseek_v3",
    "DeepseekV2ForCausalLM": "deepseek_v2",
    "MiniCPM3ForCausalLM": "minicpm3",
    "Qwen3_5ForCausalLM": "qwen3_5_text",
    "Qwen3_5MoeForCausalLM": "qwen3_5_moe_text",
    "Qwen3NextForCausalLM": "qwen3_next",
    "Ernie4_5ForCausalLM": "ernie4_5",
    "Ernie4_5_MoeForCausalLM": "ernie4_5_moe",
    "SeedOssForCausalLM": "seed_oss",
    "ArceeForCausalLM": "arcee",
    "Glm4MoeLiteForCausalLM": "glm4_moe_lite",
    "MiniMaxM2ForCausalLM": "minimax_m2",
    "Lfm2MoeForCausalLM": "lfm2_moe",
    "FalconForCausalLM": "falcon",
    "BloomForCausalLM": "bloom",
    "MptForCausalLM": "mpt",
    "OPTForCausalLM": "opt",
    "ApertusForCausalLM": "apertus",
    "DeepseekV32ForCausalLM": "deepseek_v32",
    "NemotronHForCausalLM": "nemotron_h",
    "JambaForCausalLM": "jamba",
    "FalconH1ForCausalLM": "falcon_h1",
    "KimiLinearForCausalLM": "kimi_linear",
}

__all__ = [
    "FAMILIES",
    "ModelConfig",
    "ModelFamily",
    "WeightSource",
    "config_from_hf",
    "faults_of_others",
    "get",
    "gguf_families",
    "gguf_families_of_experts",
    "model_type_of",
    "weight_map",
]


def get(model_type: str) -> ModelFamily:
    """The family with this name. The error for an unknown name lists all families."""
    found = FAMILIES.get(model_type) or outside.family(model_type)
    if found is not None:
        return found
    from mlc_llm.compiler.models import mlc_keys  # which also runs as a program

    reason = f": {mlc_keys.REASONS[model_type]}" if model_type in mlc_keys.REASONS else ""
    known = [*FAMILIES, *_others()]
    near = get_close_matches(model_type, [*known, *TEXTS], n=1)
    guess = f'; did you mean "{near[0]}"?' if near and not reason else ""
    raise UnsupportedError(
        f'model type "{model_type}" is not supported{reason}{guess}; '
        f"available: {', '.join(known)}{faults_of_others()}",
        param="model_type",
    )


def _others() -> dict[str, ModelFamily]:
    """Families of other packages. A name that is taken here is not theirs."""
    return {name: one for name, one in outside.families().items() if name not in FAMILIES}


def faults_of_others() -> str:
    """What is wrong with families of other packages, which may be the one that is wanted."""
    return "".join(f"; {fault}" for fault in outside.faults())


def model_type_of(hf_config: Mapping[str, Any]) -> str:
    """The registry's name for a Hugging Face config.json."""
    model_type = hf_config.get("model_type")
    if isinstance(model_type, str):
        get(model_type)
        return model_type
    architectures = hf_config.get("architectures")
    first = architectures[0] if isinstance(architectures, list) and architectures else None
    if isinstance(first, str) and first in ARCHITECTURES:
        return ARCHITECTURES[first]
    if first is None:
        raise CorruptFileError(
            "config: neither model_type nor architectures is given", param="model_type"
        )
    near = get_close_matches(str(first), ARCHITECTURES, n=1)
    guess = f"; did you mean {near[0]}?" if near else ""
    raise UnsupportedError(
        f"config: the class {first} in architectures is not supported{guess}", param="architectures"
    )


def config_from_hf(hf_config: Mapping[str, Any], model_type: str | None = None) -> ModelConfig:
    """The typed configuration of a Hugging Face config.json or of a `model_config`."""
    name = model_type or model_type_of(hf_config)
    family = get(name)
    if is_classifier(hf_config) and not family.has_classifier:
        raise UnsupportedError(
            f'config: the class {hf_config["architectures"][0]} is not supported: "{name}" has no '
            "classifier here",
            param="architectures",
        )
    return family.config_class.from_dict(hf_config)


def weight_map(config: ModelConfig, model_type: str = "llama") -> list[WeightSource]:
    """All tensors of a model, in the order of its library's parameter list."""
    return get(model_type).weight_map(config)


def gguf_families() -> dict[str, str]:
    """Maps the `general.architecture` of GGUF files to the family's name."""
    return _by_architecture(has_experts=False)


def gguf_families_of_experts() -> dict[str, str]:
    """The same for files with experts, of architectures that have files without them too."""
    return _by_architecture(has_experts=True)


def _by_architecture(*, has_experts: bool) -> dict[str, str]:
    found: dict[str, str] = {}
    for name, family in (FAMILIES | _others()).items():
        if family.gguf is not None and family.gguf.experts == has_experts:
            for architecture in (family.gguf.architecture, *family.gguf.others):
                found.setdefault(architecture, name)  # a family's first name counts
    return found

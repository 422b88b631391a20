"""The model families, as a table from a config's `model_type` to an entry.

    family = get("llama")
    config = config_from_dict(json.load(open("config.json")))
    for weight in family.weight_map(config): ...

To add a family: one file here, one line in the table. Other packages may have more families
(`outside.py`).
"""

from __future__ import annotations

from collections.abc import Mapping
from importlib import import_module
from typing import Any

from mlc_llm.compiler import outside
from mlc_llm.compiler.models.classifier import is_classifier
from mlc_llm.compiler.models.family import ModelConfig, ModelFamily
from mlc_llm.compiler.models.text_part import TEXTS
from mlc_llm.compiler.spec import WeightSource
from mlc_llm.errors import CorruptFileError, UnsupportedError
from mlc_llm.errors.nearest import did_you_mean

# From a config's `model_type` to the module here (with `:NAME` if its family is not `FAMILY`), and
# the classes of Hugging Face's `architectures[0]` that mean it where no `model_type` is given.
_TABLE: dict[str, tuple[str, ...]] = {
    "llama": ("llama", "LlamaForCausalLM"),
    "mistral": ("mistral", "MistralForCausalLM"),
    "ministral3": ("ministral3", "Ministral3ForCausalLM"),
    "qwen2": ("qwen2", "Qwen2ForCausalLM"),
    "qwen3": ("qwen3", "Qwen3ForCausalLM"),
    "gemma": ("gemma", "GemmaForCausalLM"),
    "gemma2": ("gemma2", "Gemma2ForCausalLM"),
    "gemma3_text": ("gemma3", "Gemma3ForCausalLM", "Gemma3TextModel"),
    "gemma4_text": ("gemma4", "Gemma4ForCausalLM"),
    "gemma-embedding": ("gemma3:EMBEDDING",),
    "phi3": ("phi3", "Phi3ForCausalLM"),
    "granite": ("granite", "GraniteForCausalLM"),
    "smollm3": ("smollm3", "SmolLM3ForCausalLM"),
    "lfm2": ("lfm2", "Lfm2ForCausalLM"),
    "starcoder2": ("starcoder2", "Starcoder2ForCausalLM"),
    "phi": ("phi", "PhiForCausalLM"),
    "gpt_neox": ("gpt_neox", "GPTNeoXForCausalLM"),
    "cohere": ("cohere", "CohereForCausalLM"),
    "gpt2": ("gpt2", "GPT2LMHeadModel"),
    "olmo": ("olmo", "OlmoForCausalLM"),
    "olmo2": ("olmo2", "Olmo2ForCausalLM"),
    "olmo3": ("olmo2:OLMO3", "Olmo3ForCausalLM"),
    "glm": ("glm4:GLM", "GlmForCausalLM"),
    "glm4": ("glm4", "Glm4ForCausalLM"),
    "cohere2": ("cohere2", "Cohere2ForCausalLM"),
    "exaone4": ("exaone4", "Exaone4ForCausalLM"),
    "hunyuan_v1_dense": ("hunyuan", "HunYuanDenseV1ForCausalLM"),
    "nemotron": ("nemotron", "NemotronForCausalLM"),
    "stablelm": ("stablelm", "StableLmForCausalLM"),
    "baichuan": ("baichuan", "BaichuanForCausalLM", "BaiChuanForCausalLM"),
    "internlm": ("internlm", "InternLMForCausalLM"),
    "internlm2": ("internlm2", "InternLM2ForCausalLM"),
    "minicpm": ("minicpm", "MiniCPMForCausalLM"),
    "orion": ("orion", "OrionForCausalLM"),
    "gptj": ("gptj", "GPTJForCausalLM"),
    "gpt_bigcode": ("gpt_bigcode", "GPTBigCodeForCausalLM"),
    "bert": ("bert", "BertModel", "BertForSequenceClassification"),
    "roberta": ("xlm_roberta", "RobertaModel", "RobertaForSequenceClassification"),
    "xlm-roberta": ("xlm_roberta", "XLMRobertaModel", "XLMRobertaForSequenceClassification"),
    "modernbert": (
        "modernbert",
        "ModernBertModel",
        "ModernBertForMaskedLM",
        "ModernBertForSequenceClassification",
    ),
    "nomic_bert": ("nomic_bert", "NomicBertModel"),
    # MLC-LLM's other names of a family, for embedding models
    "bert-bge": ("bert",),
    "qwen3-embedding": ("qwen3:EMBEDDING",),
    "mixtral": ("mixtral", "MixtralForCausalLM"),
    "llama4_text": ("llama4", "Llama4ForCausalLM"),
    "phimoe": ("phimoe", "PhimoeForCausalLM", "PhiMoEForCausalLM"),
    "olmoe": ("olmoe", "OlmoeForCausalLM"),
    "qwen2_moe": ("qwen2_moe", "Qwen2MoeForCausalLM"),
    "qwen3_moe": ("qwen3_moe", "Qwen3MoeForCausalLM"),
    "gpt_oss": ("gpt_oss", "GptOssForCausalLM"),
    "glm4_moe": ("glm4_moe", "Glm4MoeForCausalLM"),
    "granitemoe": ("granitemoe", "GraniteMoeForCausalLM"),
    "granitemoeshared": ("granitemoe", "GraniteMoeSharedForCausalLM"),
    "granitemoehybrid": ("granitemoehybrid", "GraniteMoeHybridForCausalLM"),
    "mamba2": ("mamba2", "Mamba2ForCausalLM"),
    "rwkv7": ("rwkv7", "RWKV7ForCausalLM", "Rwkv7ForCausalLM"),
    "rwkv6": ("rwkv6", "Rwkv6ForCausalLM"),
    "rwkv5": ("rwkv5", "Rwkv5ForCausalLM"),
    "deepseek_v3": ("deepseek", "DeepseekV3ForCausalLM"),
    "deepseek_v2": ("deepseek:V2", "DeepseekV2ForCausalLM"),
    "minicpm3": ("minicpm3", "MiniCPM3ForCausalLM"),
    "qwen3_5_text": ("qwen3_5", "Qwen3_5ForCausalLM"),
    "qwen3_5_moe_text": ("qwen3_5_moe", "Qwen3_5MoeForCausalLM"),
    "qwen3_next": ("qwen3_next", "Qwen3NextForCausalLM"),
    "ernie4_5": ("ernie4_5", "Ernie4_5ForCausalLM"),
    "ernie4_5_moe": ("ernie4_5:MOE", "Ernie4_5_MoeForCausalLM"),
    "seed_oss": ("seed_oss", "SeedOssForCausalLM"),
    "arcee": ("arcee", "ArceeForCausalLM"),
    "glm4_moe_lite": ("glm4_moe_lite", "Glm4MoeLiteForCausalLM"),
    "minimax_m2": ("minimax_m2", "MiniMaxM2ForCausalLM"),
    "lfm2_moe": ("lfm2_moe", "Lfm2MoeForCausalLM"),
    "falcon": ("falcon", "FalconForCausalLM"),
    "bloom": ("bloom", "BloomForCausalLM"),
    "mpt": ("mpt", "MptForCausalLM"),
    "opt": ("opt", "OPTForCausalLM"),
    "apertus": ("apertus", "ApertusForCausalLM"),
    "deepseek_v32": ("deepseek_v32", "DeepseekV32ForCausalLM"),
    "nemotron_h": ("nemotron_h", "NemotronHForCausalLM"),
    "jamba": ("jamba", "JambaForCausalLM"),
    "falcon_h1": ("falcon_h1", "FalconH1ForCausalLM"),
    "kimi_linear": ("kimi_linear", "KimiLinearForCausalLM"),
}


def _family(place: str) -> ModelFamily:
    module, _, name = place.partition(":")
    found: ModelFamily = getattr(import_module(f"{__name__}.{module}"), name or "FAMILY")
    return found


FAMILIES = {name: _family(place) for name, (place, *_) in _TABLE.items()}
_OF_CLASS = {cls: name for name, (_, *classes) in _TABLE.items() for cls in classes}


def get(model_type: str) -> ModelFamily:
    """The family with this name. The error for an unknown name lists all families."""
    found = FAMILIES.get(model_type) or outside.family(model_type)
    if found is not None:
        return found
    reason = reason_against(model_type)
    known = [*FAMILIES, *_others()]
    text = TEXTS.get(model_type)
    name, among = (text[0], text[:1]) if text else (model_type, [*known, *TEXTS])
    guess = "" if reason else did_you_mean(name, among, "; ")
    raise UnsupportedError(
        f'model type "{model_type}" is not supported{reason}{guess}; '
        f"available: {', '.join(known)}{faults_of_others()}",
        param="model_type",
    )


def reason_against(name: str) -> str:
    """Why the model with this name is refused, behind a colon; "" if nothing special is known."""
    from mlc_llm.compiler.models import mlc_keys  # which also runs as a program

    return f": {mlc_keys.REASONS[name]}" if name in mlc_keys.REASONS else ""


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
    if isinstance(first, str) and first in _OF_CLASS:
        return _OF_CLASS[first]
    if first is None:
        raise CorruptFileError(
            "config: neither model_type nor architectures is given", param="model_type"
        )
    guess = did_you_mean(str(first), _OF_CLASS, "; ")
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


def gguf_families(*, has_experts: bool = False) -> dict[str, str]:
    """Maps the `general.architecture` of GGUF files to the family's name. `has_experts`: of files
    with experts, for architectures that have files without them too."""
    found: dict[str, str] = {}
    for name, family in (FAMILIES | _others()).items():
        if family.gguf is not None and family.gguf.experts == has_experts:
            for architecture in (family.gguf.architecture, *family.gguf.others):
                found.setdefault(architecture, name)  # a family's first name counts
    return found

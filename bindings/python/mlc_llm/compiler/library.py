"""Builds the functions of a model library (docs/model-library.md) and its metadata, for every model
family."""

from __future__ import annotations

import json
from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Any

import tvm

from mlc_llm.compiler import kv_cache
from mlc_llm.compiler.drafts.tokens import with_first_tokens
from mlc_llm.compiler.kernels.common.attention_shape import PAGE_SIZE
from mlc_llm.compiler.layers.pictures import with_pictures
from mlc_llm.compiler.memory import peak_bytes
from mlc_llm.compiler.models.family import ModelConfig, ModelFamily
from mlc_llm.compiler.nn.builder import Builder, Input, Inputs, Memory
from mlc_llm.compiler.nn.decoder import Decoder
from mlc_llm.compiler.nn.gpu import sampling as gpu_sampling
from mlc_llm.compiler.nn.pages import page_inputs, table_of, tables_of
from mlc_llm.compiler.nn.tower import Tower
from mlc_llm.compiler.programs import buffer_bytes, program_of
from mlc_llm.compiler.quantization import Scheme
from mlc_llm.compiler.shards import ONE, check_shared, divided, hindrance
from mlc_llm.compiler.spec import DecoderSpec, DraftSpec, HeadSpec, WeightSource
from mlc_llm.compiler.spec.adapters import adapted_widths
from mlc_llm.compiler.spec.draft import PREFIX
from mlc_llm.compiler.spec.tower import TowerSpec
from mlc_llm.compiler.spec.tower_weights import with_tower
from mlc_llm.compiler.stored_parts import StoredParts, stored_parts, weights_of
from mlc_llm.compiler.targets import GPU, Device
from mlc_llm.errors import InvalidRequestError, UnsupportedError

SCHEMA_VERSION = 3
_TOWER_PATCHES = 1024
_STEP = "batch_prefill"  # computes a step: logits, hidden states, or both
_FUSE = "fuse_states"  # of chosen layers, for a layer that drafts
_HEAD = "get_logits"  # in an encoder: what its head makes of the vectors of texts
# A decode step for a device that can record it. Nobody calls it by name.
_DECODE = "batch_decode_tokens"
_TOWER = "image_embed"  # from the patches of pictures to rows of a prompt
_MEASURED = ("embed", _STEP, _HEAD, _FUSE)
# The functions that the core runs kernel by kernel on a CPU. On a GPU it is the tower.
_PROGRAMS = (*(f"{prefix}{name}" for prefix in ("", PREFIX) for name in _MEASURED), _TOWER)


@dataclass(frozen=True, kw_only=True)
class LibrarySpec:
    """Everything that the content of a library depends on."""

    model_type: str
    config: ModelConfig
    scheme: Scheme
    device: Device | GPU
    prefill_chunk_size: int
    max_batch_size: int
    activation_bits: int = 8
    kv_cache_dtype: str = kv_cache.AUTO
    made_by_mlc_llm: bool = False  # whether the folder is, and not by our converter
    hidden_layers: tuple[int, ...] = ()  # after which a step gives the residual too
    adapters: bool = False  # whether rows may choose LoRA adapters
    tower: TowerSpec | None = None
    draft: DraftSpec | None = None  # in place of the model's own part that drafts
    draft_vocab_size: int = 0  # first tokens that it guesses, if it uses the model's head; 0: all
    shards: int = 1  # that compute each layer together; the library is the program of each

    @property
    def built_tower(self) -> TowerSpec | None:
        """Shards have none."""
        return None if self.shards > 1 else self.tower


def build_module(
    spec: LibrarySpec,
    family: ModelFamily,
    change: Callable[[tvm.IRModule], tvm.IRModule] | None = None,
) -> tvm.IRModule:
    """`change` may change functions and kernels before the lists of kernel calls are made."""
    _check_shards(spec)
    family = family.with_draft(spec.draft)
    weights, scheme, parts = _weights(spec, family)
    decoder, splits = divided(family, spec.config, scheme, spec.shards)
    nn = Builder(
        scheme,
        spec.device,
        weights,
        activation_bits=spec.activation_bits,
        kv_cache_dtype=spec.kv_cache_dtype,
        adapted=adapted_widths(family.weight_map(spec.config)) if spec.adapters else None,
        splits=splits,
    )
    _check_types(nn)
    check_shared(nn.params, parts)
    if spec.built_tower is not None:
        decoder = with_pictures(decoder, spec.built_tower.rows)
    _check_adapters(spec, decoder)
    if decoder.draft is not None:
        spec = replace(spec, hidden_layers=decoder.draft.chosen_layers or spec.hidden_layers)
        decoder = with_first_tokens(decoder, spec.draft_vocab_size)
    _check_hidden_layers(spec, decoder)
    model, head = Decoder(nn, decoder, spec.hidden_layers), decoder.pooled_head
    _build_embed(nn, model, spec)
    _build_step(nn, model, spec)
    if head is not None:
        _build_head(nn, model, spec)
    _build_copy(nn)
    if spec.built_tower is not None:
        _build_tower(nn, model, spec.built_tower)
    draft = {}
    if decoder.draft is not None:
        draft = {"draft": _build_draft(nn.apart(decoder.draft), decoder, spec)}
    in_programs = _build_for_device(nn, model, spec)
    if change is not None:
        nn.change(change)
    if in_programs:
        _build_programs(nn, in_programs)
    described = metadata(spec, nn, parts, is_encoder=model.is_encoder, head=head) | draft
    described |= _folder_layout(spec, family)
    if spec.built_tower is not None:
        described["tower"] = _described_tower(nn, spec.built_tower, model.embedding_size)
    nn.text_function("_metadata", json.dumps(described))
    return nn.finish()


def _weights(
    spec: LibrarySpec, family: ModelFamily
) -> tuple[list[WeightSource], Scheme, StoredParts]:
    """The weight map, the scheme, and what parameters are made of if the folder does not have
    them as they are."""
    weights = with_tower(family.weight_map(spec.config), spec.built_tower)
    if spec.shards > 1:
        weights = [weight for weight in weights if not weight.draft]
    if not spec.made_by_mlc_llm or family.mlc is None:
        return weights, spec.scheme, {}
    scheme = spec.scheme.with_plain(family.mlc.plain)
    parts = stored_parts(family, spec.config, scheme)
    return weights_of(weights, family.mlc), scheme, parts


def _check_types(nn: Builder) -> None:
    """Refuses stored types that the device does not have: it would fail when the model loads."""
    if not isinstance(nn.device, GPU) or nn.device.bfloat16:
        return
    for param in nn.params:
        if param.dtype == "bfloat16":
            raise UnsupportedError(
                f"quantization {nn.scheme.name} stores {param.name} as bfloat16, which "
                f"{nn.device.name} does not have; choose another one, such as q4f16_1 or q8f32_1",
                param="quantization",
            )


def _check_shards(spec: LibrarySpec) -> None:
    what = hindrance(spec.device, adapters=spec.adapters)
    if spec.shards > 1 and what:
        raise UnsupportedError(
            f"tensor_parallel_shards {spec.shards}: {what} and shards do not work together; {ONE}",
            param="tensor_parallel_shards",
        )


def _check_adapters(spec: LibrarySpec, decoder: DecoderSpec) -> None:
    if spec.adapters and decoder.is_encoder:
        raise UnsupportedError(
            "an encoder takes no adapters; merge the adapter (--lora-adapter)", param="lora_ranks"
        )


def _check_hidden_layers(spec: LibrarySpec, decoder: DecoderSpec) -> None:
    """They are in order, and the model has them. An encoder gives the last one alone."""
    layers, there = spec.hidden_layers, len(decoder.layers) if decoder.norm is not None else 0
    if list(layers) != sorted(set(layers)) or not all(0 <= layer < there for layer in layers):
        raise InvalidRequestError(
            f"hidden_layers {list(layers)}: they ascend, and this model gives those below {there}",
            param="hidden_layers",
        )


def _build_for_device(nn: Builder, model: Decoder, spec: LibrarySpec) -> tuple[str, ...]:
    """Builds what only this device needs. Returns the functions that run kernel by kernel."""
    if not isinstance(spec.device, GPU):
        return _PROGRAMS
    if model.is_encoder:
        return ()
    gpu_sampling.build(nn, spec.config.vocab_size)
    programs = (_TOWER,) if spec.built_tower is not None else ()
    if not spec.device.graphs or nn.states:  # the core records no steps with states
        return programs
    _build_decode(nn, model, spec)
    return (*programs, _DECODE)


def metadata(
    spec: LibrarySpec,
    nn: Builder,
    parts: StoredParts,
    *,
    is_encoder: bool = False,
    head: HeadSpec | None = None,
) -> dict[str, Any]:
    config, has_sampler = spec.config, isinstance(spec.device, GPU) and not is_encoder
    return {
        "schema_version": SCHEMA_VERSION,
        "model_type": spec.model_type,
        "quantization": spec.scheme.name,
        "context_window_size": config.context_window_size,
        "attention_sink_size": config.attention_sink_size,
        "prefill_chunk_size": spec.prefill_chunk_size,
        "max_batch_size": spec.max_batch_size,
        **({"tensor_parallel_shards": spec.shards} if spec.shards > 1 else {}),
        "vocab_size": config.vocab_size,
        "hidden_size": config.hidden_size,
        **({"encoder": True} if is_encoder else {}),
        **({"token_types": nn.token_types} if nn.token_types else {}),
        **({"head": {"size": head.width, "scores": head.scores}} if head else {}),
        **({"hidden_layers": list(spec.hidden_layers)} if spec.hidden_layers else {}),
        "functions": nn.functions,
        "activation_dtype": nn.row_dtype,
        "activation_bits": spec.activation_bits,
        "kv_cache": _described_pages(nn),
        **({"states": [state.describe() for state in nn.states]} if nn.states else {}),
        **({"adapters": nn.adapters.describe()} if nn.adapters else {}),
        "params": _described_params(nn, parts),
        "target": spec.device.describe(),
        "cpu_features": spec.device.cpu_features(),
        "weight_layout": "mlc",
        **({"sampling": gpu_sampling.describe()} if has_sampler else {}),
        "memory_usage": _memory_usage(nn),
    }


def _described_tower(nn: Builder, tower: TowerSpec, width: int) -> dict[str, Any]:
    function = next(f for v, f in nn.block.get().functions.items() if v.name_hint == _TOWER)
    sizes = _tower_bounds(tower)
    bytes_of = buffer_bytes(program_of(function), inputs=isinstance(nn.device, GPU))
    return {
        "function": _TOWER,
        "patch_dim": tower.patch_dim,
        "merge": tower.merge,
        "width": width,
        "class_row": tower.class_row,
        "window": tower.window,
        "columns": tower.columns if tower.table == "exact" else 0,
        "rotary": bool(tower.rows.axes),
        "learned_rows": tower.learned_rows,
        "queries": tower.queries,
        "max_patches": sizes["n"],
        "max_views": sizes["v"] - 1,
        "memory": sum(width * sizes.get(size, 1) for size, width in bytes_of.items()),
    }


def _described_pages(nn: Builder) -> dict[str, Any]:
    return {
        "page_size": PAGE_SIZE,
        "dtype": kv_cache.NAMES[nn.page_dtype],
        "layers": [pages.describe() for pages in nn.pages],
    }


def _described_params(nn: Builder, parts: StoredParts) -> list[dict[str, Any]]:
    by_rows = nn.read_by_rows()
    return [
        {
            **param.describe(),
            **({"from": parts[param.name]} if param.name in parts else {}),
            **({"by_rows": True} if param.name in by_rows else {}),
        }
        for param in nn.own_params
    ]


def _folder_layout(spec: LibrarySpec, family: ModelFamily) -> dict[str, str]:
    """Whose folders the library reads, where MLC-LLM's converter and ours store weights of this
    family otherwise. Such folders can have the same names and shapes."""
    if family.mlc is None or spec.scheme.config_fields():  # MLC-LLM has no folders of such fields
        return {}
    try:
        same = not stored_parts(family, spec.config, spec.scheme.with_plain(family.mlc.plain))
    except UnsupportedError:  # a folder by MLC-LLM could not be read in this scheme
        same = False
    return {} if same else {"folder_layout": "mlc" if spec.made_by_mlc_llm else "joined"}


def _memory_usage(nn: Builder) -> dict[str, dict[str, int]]:
    """The memory of a step, as bytes by run-time size, and the memory that a recorded step
    keeps."""
    functions = {gvar.name_hint: f for gvar, f in nn.block.get().functions.items()}
    names = (name for name in nn.functions if name.removeprefix(PREFIX) in _MEASURED)
    found = {name: peak_bytes(functions[name]) for name in names}
    if _DECODE in functions:
        found[_DECODE] = buffer_bytes(program_of(functions[_DECODE]))
    return found


def _build_programs(nn: Builder, names: tuple[str, ...]) -> None:
    """Builds `_programs` and the constants that it names: `_constant_0`, ..."""
    functions = {gvar.name_hint: f for gvar, f in nn.block.get().functions.items()}
    constants: list[tvm.runtime.Tensor] = []
    there = [name for name in names if name in functions]
    without = nn.adapters.without if nn.adapters else {}
    programs = {
        name: program_of(functions[name], constants, nn.results_of[name], without) for name in there
    }
    for index, value in enumerate(constants):
        nn.constant_function(f"_constant_{index}", value)
    nn.text_function("_programs", json.dumps({"constants": len(constants), **programs}))


def _build_embed(nn: Builder, model: Decoder, spec: LibrarySpec) -> None:
    inputs = {"tokens": Input(("n",), "int32")}
    with nn.function("embed", inputs, bounds={"n": spec.prefill_chunk_size}) as f:
        f.results = {"embeddings": model.embed(f["tokens"])}


def _build_step(nn: Builder, model: Decoder, spec: LibrarySpec) -> None:
    inputs = {
        "embeddings": Input(("n", model.embedding_size)),
        **nn.step_inputs(also=set(), without=set()),
    }
    bounds = dict.fromkeys(("n", "m", "h"), spec.prefill_chunk_size)
    with nn.function(_STEP, inputs, bounds=bounds) as f:
        memory = Memory(f.items("kv_pages"), f.items("states"))
        f.results = model.results(f["embeddings"], f.batch, memory)


def _build_tower(nn: Builder, model: Decoder, tower: TowerSpec) -> None:
    made = Tower(nn, tower)
    with nn.function(_TOWER, made.inputs(), bounds=_tower_bounds(tower)) as f:
        f.results = {"rows": model.with_inputs(made(f), f["first_patches"])}


def _tower_bounds(tower: TowerSpec) -> dict[str, int]:
    """The most patches of a call: at least a whole view, so that a call is no longer than needed.
    The other sizes follow: `v` counts a view more, and a row is at least one block."""
    view = tower.view_patches
    patches = max(_TOWER_PATCHES // view, 1) * view
    if tower.queries:
        views = patches // view
        return {"n": patches, "m": views * tower.queries, "v": views + 1, "w": views + 1}
    ends = patches // tower.block + 1
    rows = patches // tower.block + tower.learned_rows
    return {"n": patches, "m": rows, "v": ends, "w": ends}


def _build_draft(nn: Builder, decoder: DecoderSpec, spec: LibrarySpec) -> dict[str, Any]:
    """Builds the functions of the part that drafts. Returns what its metadata has instead of the
    model's: its parameters stand behind the model's."""
    assert decoder.draft is not None
    own = decoder.draft.build(nn, decoder, spec.prefill_chunk_size)
    if nn.pages and not decoder.draft.reads_pages:
        _build_copy(nn, PREFIX)
    return {
        "kind": decoder.draft.kind,
        **own,
        "functions": {name.removeprefix(PREFIX): f for name, f in nn.functions.items()},
        "kv_cache": _described_pages(nn),
        "params": _described_params(nn, {}),
        "memory_usage": {
            name.removeprefix(PREFIX): size for name, size in _memory_usage(nn).items()
        },
    }


def _build_decode(nn: Builder, model: Decoder, spec: LibrarySpec) -> None:
    """Builds `embed` and the logits of a step as one function."""
    inputs = nn.step_inputs(also={"tokens"}, without={"token_trees", "hidden_states", "adapters"})
    bounds = {"n": spec.max_batch_size, "m": spec.max_batch_size}
    with nn.function(_DECODE, inputs, bounds=bounds) as f:
        memory = Memory(f.items("kv_pages"), f.items("states"))
        f.results = model.results(model.embed(f["tokens"]), f.batch, memory)


def _build_head(nn: Builder, model: Decoder, spec: LibrarySpec) -> None:
    inputs = {"vectors": Input(("m", spec.config.hidden_size))}
    with nn.function(_HEAD, inputs, bounds={"m": spec.prefill_chunk_size}) as f:
        f.results = {"logits": model.logits(f["vectors"])}


def _build_copy(nn: Builder, prefix: str = "") -> None:
    """Returns the pages, so that TVM keeps the copies. Callers ignore the results."""
    inputs: Inputs = {
        **{
            f"{table}{name}": Input((f"{table}k",), "int32")
            for table in tables_of(nn.pages)
            for name in ("source", "destination")
        },
        "kv_pages": page_inputs(nn.pages),
    }
    with nn.function(f"{prefix}copy_kv_pages", inputs, bounds={}, params=False) as f:
        for i, (pages, tensor) in enumerate(zip(nn.pages, f.items("kv_pages"), strict=True)):
            table = table_of(pages, nn.pages)
            copy = f[f"{table}source"], f[f"{table}destination"]
            f.results[f"pages_{i}"] = pages.copy(nn, *copy, tensor)

"""Configurations: the fields that decoders share, and typed look-ups whose errors name the field.

    class MyConfig(DecoderConfig):
        my_scale: float = number(default=1.0)

Each key of a config.json that may change what the model computes is read, or must have a value that
means "off". Otherwise an error names it.
"""

from __future__ import annotations

import dataclasses
import re
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, ClassVar

from mlc_llm.compiler.drafts import MTPSpec
from mlc_llm.compiler.layers import AttentionSpec, Window
from mlc_llm.compiler.layers.attention import VECTOR
from mlc_llm.compiler.models.config_reader import ConfigReader, corrupt, unsupported
from mlc_llm.compiler.models.declared import read_declared
from mlc_llm.compiler.spec import DecoderSpec, LayerPart, LayerSpec, NormSpec, RopeScaling, RopeSpec
from mlc_llm.compiler.spec.rope import refuse_unknown
from mlc_llm.errors import CorruptFileError, InvalidRequestError, MLCError, UnsupportedError

FULL, SLIDING = "full_attention", "sliding_attention"  # Hugging Face's `layer_types`
_NO_WINDOW = -1


_SILU = {"silu": "silu", "swish": "silu"}


@dataclass(frozen=True, kw_only=True)
class DecoderConfig:
    """Sizes and options of a decoder, with Hugging Face's names where these exist.

    Windows: `sliding_window_size` is for models in which every layer has this window, and the pages
    before the window are freed. `sliding_window` is for models in which `layer_types` says which
    layers have it.
    """

    hidden_size: int
    intermediate_size: int
    num_hidden_layers: int
    num_attention_heads: int
    num_key_value_heads: int
    head_dim: int
    vocab_size: int
    rms_norm_eps: float
    rope_theta: float
    rope_scaling: RopeScaling
    partial_rotary_factor: float
    tie_word_embeddings: bool
    context_window_size: int
    sliding_window_size: int = _NO_WINDOW
    attention_sink_size: int = 0
    sliding_window: int = _NO_WINDOW
    layer_types: tuple[str, ...] = ()
    num_mtp_layers: int = 0  # that guess further tokens; the first one is used

    # Set by a family, the same for all its models.
    hidden_act = "silu"
    activations = _SILU  # values of `hidden_act`, and our names for them
    tied_by_default = False
    default_eps = 1e-6
    aliases: ClassVar[
        Mapping[str, tuple[str, ...]]
    ] = {}  # other names of our fields in its configs
    default_theta = 10000.0
    default_partial = 1.0  # the rotated part of a head
    default_window = _NO_WINDOW  # if `sliding_window` is absent
    window_by_default = True  # if `use_sliding_window` is absent
    kinds_matter = False  # whether `layer_types` means more than a window
    only: ClassVar[Mapping[str, bool | str]] = {}  # fields with one supported value
    unused: ClassVar[tuple[str, ...]] = ()  # fields that change nothing
    mtp_field = ""  # the name of `num_mtp_layers` in its configs; "": it has none
    mtp_unsaid = False  # whether its files may have an MTP layer that no field tells of

    @classmethod
    def from_dict(cls, config: Mapping[str, Any]) -> DecoderConfig:
        """Reads a Hugging Face config.json or the `model_config` of an mlc-chat-config.json."""
        names = cls._other_names(config)
        read = ConfigReader({**config, **{name: config[other] for name, other in names.items()}})
        read.seen.update(name for names in cls.aliases.values() for name in names)
        try:
            made = cls(**cls.fields(read))
            made.check()
        except MLCError as error:
            raise _by_the_files_name(error, names) from None
        read.refuse_unread()
        return made

    @classmethod
    def _other_names(cls, config: Mapping[str, Any]) -> dict[str, str]:
        """Of our names: those that this config has in their place."""
        found = {}
        for name, others in cls.aliases.items():
            given = [other for other in others if config.get(other) is not None]
            if given and config.get(name) is None:
                found[name] = given[0]
        return found

    @classmethod
    def fields(cls, read: ConfigReader) -> dict[str, Any]:
        """The arguments of `cls`. A family adds those that it doesn't declare (`declared.py`)."""
        for name, value in cls.only.items():
            read.always(name, value)
        read.seen.update(cls.unused)
        read.choice("hidden_activation", "hidden_act", of=cls.activations, default=cls.hidden_act)
        heads, hidden = read.integer("num_attention_heads"), read.integer("hidden_size")
        layers = read.integer("num_hidden_layers", maximum=1024)
        found = {
            "hidden_size": hidden,
            "intermediate_size": read.integer("intermediate_size"),
            "num_hidden_layers": layers,
            "num_attention_heads": heads,
            "num_key_value_heads": read.integer("num_key_value_heads", default=heads),
            "head_dim": read.integer("head_dim", default=max(hidden // heads, 1)),
            "vocab_size": read.integer("vocab_size"),
            "rms_norm_eps": read.number("rms_norm_eps", default=cls.default_eps),
            "tie_word_embeddings": read.flag("tie_word_embeddings", default=cls.tied_by_default),
            **_rope_fields(read, cls.default_theta, cls.default_partial),
            **cls.window_fields(read, layers),
            **cls.mtp_fields(read),
        }
        return read_declared(cls, read, found)

    @classmethod
    def mtp_fields(cls, read: ConfigReader) -> dict[str, Any]:
        if not cls.mtp_field:
            return {}
        return {"num_mtp_layers": read.integer(cls.mtp_field, default=0, minimum=0, maximum=64)}

    @classmethod
    def layer_kinds(cls, read: ConfigReader, layers: int) -> Sequence[str]:
        """The kind of each layer if there is no `layer_types`."""
        return [SLIDING] * layers

    @classmethod
    def window_fields(cls, read: ConfigReader, layers: int) -> dict[str, Any]:
        """-1 means none; so do 0, null and `use_sliding_window: false`."""
        whole = read.integer("sliding_window_size", default=_NO_WINDOW, minimum=-1)
        some = read.config.get("sliding_window", cls.default_window)
        read.seen.update(("sliding_window", "sliding_window_pattern", "_sliding_window_pattern"))
        found = some not in (None, 0, _NO_WINDOW)
        some = read.integer("sliding_window", default=cls.default_window) if found else _NO_WINDOW
        if not read.flag("use_sliding_window", default=cls.window_by_default):
            some = _NO_WINDOW
        kinds = read.words("layer_types", layers, (FULL, SLIDING))
        if kinds or some == _NO_WINDOW:  # transformers writes it beside the kinds that it makes
            read.seen.add("max_window_layers")
        kinds = tuple(kinds or cls.layer_kinds(read, layers))
        if some == _NO_WINDOW or SLIDING not in kinds:
            everywhere, some = whole, _NO_WINDOW
        elif FULL not in kinds:
            everywhere, some = (whole if whole > 0 else some), _NO_WINDOW
        else:
            everywhere = whole
        return {
            "attention_sink_size": read.integer("attention_sink_size", default=0, minimum=0),
            "sliding_window_size": everywhere or _NO_WINDOW,
            "sliding_window": some,
            "layer_types": kinds if some > 0 or cls.kinds_matter else (),
        }

    @classmethod
    def with_window(cls, read: ConfigReader, usual: int) -> ConfigReader:
        """With transformers' window, if the config has no field for one."""
        says = any(name in read.config for name in ("sliding_window", "sliding_window_size"))
        return read if says else read.having({"sliding_window": usual})

    def check(self) -> None:
        if self.num_attention_heads % self.num_key_value_heads:
            raise CorruptFileError(
                "config: num_attention_heads must be a multiple of num_key_value_heads",
                param="num_key_value_heads",
            )
        if self.head_dim % 2:
            raise corrupt("head_dim", "must be even")
        turning = self.rope.dim
        if turning == 0 or turning % 2:
            what = f"lets {turning} of {self.head_dim} elements of a head turn, which turn in pairs"
            raise corrupt("partial_rotary_factor", what)

    def to_dict(self) -> dict[str, Any]:
        """The `model_config` of an mlc-chat-config.json; `from_dict` reads it back."""
        fields = {own.name: getattr(self, own.name) for own in dataclasses.fields(self)}
        fields["rope_scaling"] = self.rope_scaling.to_dict()
        fields["position_embedding_base"] = fields.pop("rope_theta")
        fields["layer_types"] = list(self.layer_types)
        if count := fields.pop("num_mtp_layers"):
            fields[self.mtp_field] = count
        if fields["sliding_window"] == self.default_window:
            del fields["sliding_window"]
        defaults = {"layer_types": [], "partial_rotary_factor": self.default_partial}
        for name, default in defaults.items():
            if fields[name] == default:
                del fields[name]
        windows = {"use_sliding_window": True} if self.layer_types else {}
        return {**fields, **windows, "hidden_act": self.hidden_act}

    # Helpers with which families describe their layers

    @property
    def rms(self) -> NormSpec:
        return NormSpec(eps=self.rms_norm_eps)

    @property
    def rope(self) -> RopeSpec:
        rotated = int(self.head_dim * self.partial_rotary_factor)
        return RopeSpec(dim=rotated, theta=self.rope_theta, scaling=self.rope_scaling)

    def is_sliding(self, layer: int) -> bool:
        return bool(self.layer_types) and self.layer_types[layer] == SLIDING

    def window(self, layer: int) -> Window | None:
        own = self.sliding_window if self.is_sliding(layer) else _NO_WINDOW
        windows = [window for window in (own, self.sliding_window_size) if window > 0]
        return Window(min(windows), pinned=self.attention_sink_size) if windows else None

    def attention(self, layer: int, *, bias: bool = False, **changes: Any) -> AttentionSpec:
        """Llama's attention with `changes`. `bias`: of its linear layers, all or none."""
        fields: dict[str, Any] = {
            "heads": self.num_attention_heads,
            "kv_heads": self.num_key_value_heads,
            "dim": self.head_dim,
            "scale": self.head_dim**-0.5,
            "rope": self.rope,
            "window": self.window(layer),
            "qkv_bias": bias,
            "output_bias": bias,
        }
        made = AttentionSpec(**{**fields, **changes})
        normed = made.head_norms is not None or made.values.norm is not None
        if normed and made.dim % VECTOR:
            raise unsupported(
                "head_dim",
                f"{made.dim} is not a multiple of {VECTOR}, which the norm of queries, keys or "
                "values needs",
            )
        return made

    def layers(
        self,
        parts: Callable[[int], tuple[LayerPart, ...]],
        norm: NormSpec | None = None,
        **more: Any,
    ) -> list[LayerSpec]:
        """Every layer, of its `parts`. `norm`: RMS norms by default. `more`: as in LayerSpec."""
        norm = norm or self.rms
        return [LayerSpec(parts(i), norm=norm, **more) for i in range(self.num_hidden_layers)]

    def decoder(
        self, layers: Iterable[LayerSpec], mtp: LayerSpec | None = None, **changes: Any
    ) -> DecoderSpec:
        """`mtp`: the MTP layer, for models that have one."""
        fields: dict[str, Any] = {
            "vocab_size": self.vocab_size,
            "hidden_size": self.hidden_size,
            "layers": tuple(layers),
            "norm": self.rms,
            "tied_head": self.tie_word_embeddings,
            "draft": MTPSpec(layer=mtp, norm=self.rms)
            if mtp is not None and self.num_mtp_layers
            else None,
        }
        if self.tie_word_embeddings and changes.get("head_bias"):
            raise unsupported(
                "tie_word_embeddings", "is not supported in models whose head has a bias"
            )
        return DecoderSpec(**{**fields, **changes})


def check_learned_positions(context: int, positions: int) -> None:
    """Refuses a context that is longer than the table of learned embeddings of positions."""
    if context > positions:
        raise InvalidRequestError(
            f"context_window_size is {context}, and the model has embeddings of {positions} "
            "positions",
            param="context_window_size",
        )


def with_one_rope(config: Mapping[str, Any]) -> dict[str, Any]:
    """transformers 5 has `rope_parameters` for each kind of layer in some families. Keeps those of
    layers without a window."""
    rope = config.get("rope_parameters")
    by_kind = isinstance(rope, Mapping) and isinstance(rope.get(FULL), Mapping)
    return {**config, "rope_parameters": rope[FULL]} if by_kind else dict(config)


def _by_the_files_name(error: MLCError, names: Mapping[str, str]) -> MLCError:
    """The error names the field as the config does."""
    ours = error.param
    if ours not in names:
        return error
    text = re.sub(rf"\b{ours}\b", names[ours], error.message)
    return type(error)(text, param=names[ours])


def _of_parameters(error: MLCError) -> MLCError:
    """The error of a field of `rope_parameters`, which has the fields of `rope_scaling`."""
    old, new = "rope_scaling", "rope_parameters"
    param = error.param.replace(old, new) if error.param else None
    return type(error)(error.message.replace(old, new), param=param)


def local_theta(config: Mapping[str, Any], default: float | None = None) -> float | None:
    """The base of layers with a window in `rope_parameters` by kind of layer. A scaled rotation of
    theirs is refused."""
    rope = config.get("rope_parameters")
    given = rope.get(SLIDING) if isinstance(rope, Mapping) else None
    if not isinstance(given, Mapping):
        return default
    if given.get("rope_type", "default") != "default":
        raise UnsupportedError(
            f"config: rope_parameters: a scaled rotation of {SLIDING} is not supported in this "
            "family",
            param="rope_parameters",
        )
    if given.get("rope_theta") is None:
        return default
    return ConfigReader(given).number("rope_theta")


def _rope_scaling(
    given: Mapping[str, Any] | None, parameters: Mapping[str, Any], trained: int, context: int
) -> RopeScaling:
    """That of `rope_scaling`, or else of `rope_parameters`. Errors name the one that is wrong."""
    try:
        refuse_unknown(parameters)
        if not given:
            return RopeScaling.from_dict(parameters, context=trained, window=context)
    except MLCError as error:
        raise _of_parameters(error) from None
    return RopeScaling.from_dict(given, context=trained, window=context)


def _rope_fields(
    read: ConfigReader, default_theta: float, default_partial: float
) -> dict[str, Any]:
    """The fields of the rotation. transformers 5 has all of them in `rope_parameters`."""
    context = read.integer("context_window_size", "max_position_embeddings", default=2048)
    trained = read.integer("max_position_embeddings", default=context)
    rope = read.mapping("rope_parameters") or {}
    if any(isinstance(value, Mapping) for value in rope.values()):
        raise unsupported("rope_parameters", "by kind of layer are not supported in this family")
    given = read.mapping("rope_scaling")
    scaling = given or rope
    read.seen.update(("rope_theta", "position_embedding_base", "partial_rotary_factor"))
    # transformers prefers those of the rotation to those of the model
    own = {name: value for name, value in {**scaling, **rope}.items() if value is not None}
    both = ConfigReader({**read.config, **own})
    found = _rope_scaling(given, rope, trained, context)
    partial = both.number("partial_rotary_factor", default=default_partial)
    if partial > 1:
        raise corrupt("partial_rotary_factor", "must be at most 1")
    return {
        "context_window_size": context,
        "rope_theta": both.number("rope_theta", "position_embedding_base", default=default_theta),
        "rope_scaling": found,
        "partial_rotary_factor": 1.0 if found.kind == "proportional" else partial,
    }

"""Rotary position embedding: its variants and their frequencies.

`RopeScaling.from_dict` reads Hugging Face's `rope_scaling` (since transformers 5:
`rope_parameters`). `RopeSpec.frequencies` returns the constants of the kernels. The formulas follow
transformers' `modeling_rope_utils.py`.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import asdict, dataclass, field, replace
from typing import Any

from mlc_llm.errors import CorruptFileError, UnsupportedError

KINDS = ("default", "linear", "llama3", "yarn", "longrope", "dynamic", "proportional")
# Fields that some kind reads, or that change nothing for text.
_FIELDS = frozenset(
    "alpha attention_factor beta_fast beta_slow factor finetuned high_freq_factor "
    "llama_4_scaling_beta long_factor long_mscale low_freq_factor max_position_embeddings "
    "mrope_interleaved mrope_section mscale mscale_all_dim original_max_position_embeddings "
    "partial_rotary_factor rope_theta rope_type short_factor short_mscale truncate type".split()
)
_OFF_AT_ONE = frozenset(("attn_factor", "extrapolation_factor"))  # of other engines
_ALIASES = {"su": "longrope", "mrope": "default"}  # mrope: the same angles for all parts of a text


@dataclass(frozen=True, kw_only=True)
class RopeScaling:
    """How the frequencies change for contexts longer than the model was trained on."""

    kind: str = "default"
    factor: float = 1.0
    low_freq_factor: float = 1.0
    high_freq_factor: float = 4.0
    original_context: int = 0
    beta_fast: float = 32.0
    beta_slow: float = 1.0
    attention_factor: float = 0.0  # yarn and longrope; 0: computed from the factor
    mscale: float = 0.0  # yarn: magnitude = that of `mscale` / that of `mscale_all_dim`;
    mscale_all_dim: float = 0.0  # 0: from the factor only
    # dynamic: theta becomes theta * alpha ** (dim / (dim - 2)). 0: no alpha is given, and theta
    # would change in texts longer than the original context.
    alpha: float = 1.0
    # proportional: the share of a head's pairs that turn; the others stand still
    proportion: float = 1.0
    truncate: bool = True  # yarn: the ends of its ramp are rounded to whole pairs
    # longrope: the divisors of the frequencies, for short texts (within the original context) and
    # for long texts. transformers changes to the long ones when a text gets long; then all cached
    # keys would have to be rotated again. llama.cpp and we use the long ones when the configured
    # context is long.
    short_factor: tuple[float, ...] = ()
    long_factor: tuple[float, ...] = ()
    is_long: bool = False
    short_mscale: float = 0.0  # longrope: the magnitudes for short and for long texts; 0: computed
    long_mscale: float = 0.0

    @classmethod
    def from_dict(
        cls, fields: Mapping[str, Any] | None, *, context: int, window: int = 0
    ) -> RopeScaling:
        """`context` replaces a missing `original_max_position_embeddings`. `window` is the context
        with which the model will run."""
        fields = fields or {}
        kind = str(fields.get("rope_type") or fields.get("type") or "default")
        kind = _ALIASES.get(kind, kind)
        _check_kind(kind)
        refuse_unknown(fields)
        if kind == "default":
            return cls()
        original = max(int(_positive(fields, "original_max_position_embeddings", context)), 1)
        if kind == "dynamic" and not fields.get("alpha"):
            _check_length(window, original)
        return cls(
            kind=kind,
            factor=_factor(kind, fields, context / original),
            low_freq_factor=_positive(fields, "low_freq_factor", 1.0),
            high_freq_factor=_positive(fields, "high_freq_factor", 4.0),
            original_context=original,
            beta_fast=_positive(fields, "beta_fast", 32.0),
            beta_slow=_positive(fields, "beta_slow", 1.0),
            attention_factor=_attention_factor(kind, fields),
            **_mscales(kind, fields),
            alpha=_alpha(kind, fields),
            proportion=_proportion(kind, fields),
            truncate=fields.get("truncate") is not False,
            short_factor=_factors(kind, fields, "short_factor"),
            long_factor=_factors(kind, fields, "long_factor"),
            is_long=kind == "longrope" and window > original,
        )

    def to_dict(self) -> dict[str, Any] | None:
        """The `rope_scaling` field that `from_dict` reads back."""
        if self.kind == "default":
            return None
        fields = asdict(self)
        fields["rope_type"] = fields.pop("kind")
        fields["original_max_position_embeddings"] = fields.pop("original_context")
        proportion = fields.pop("proportion")
        if self.kind == "proportional":
            fields["partial_rotary_factor"] = proportion
        del fields["is_long"]
        if fields.pop("truncate") is False:
            return {**{name: value for name, value in fields.items() if value}, "truncate": False}
        return {name: value for name, value in fields.items() if value}

    @property
    def magnitude(self) -> float:
        """The factor on rotated queries and keys."""
        if self.kind == "yarn":
            if self.mscale and self.mscale_all_dim:
                given = self._yarn_magnitude(self.mscale) / self._yarn_magnitude(
                    self.mscale_all_dim
                )
                return self.attention_factor or given
            return self.attention_factor or self._yarn_magnitude(1.0)
        if self.kind != "longrope":
            return 1.0
        given = self.long_mscale if self.is_long else self.short_mscale
        if self.attention_factor or given:
            return self.attention_factor or given
        whole = math.log(max(self.original_context, 2))
        return math.sqrt(1 + math.log(max(self.factor, 1.0)) / whole)

    @property
    def score_factor(self) -> float:
        """The factor on the scores of latent attention, whose queries and keys are rotated only in
        part: the square of the magnitude that `mscale_all_dim` gives."""
        return self._yarn_magnitude(self.mscale_all_dim) ** 2 if self.mscale_all_dim else 1.0

    def _yarn_magnitude(self, scale: float) -> float:
        return 0.1 * scale * math.log(max(self.factor, 1.0)) + 1.0


@dataclass(frozen=True, kw_only=True)
class RopeSpec:
    """The rotation of one layer's queries and keys. It rotates the first `dim` elements of a head,
    in pairs (i, i + dim / 2)."""

    dim: int
    theta: float
    scaling: RopeScaling = field(default_factory=RopeScaling)
    # By which of a row's three positions (time, height, width) each pair turns; empty: all by the
    # position in the sequence.
    axes: tuple[int, ...] = ()

    @property
    def frequencies(self) -> list[float]:
        """The angle per position of each pair."""
        return inverse_frequencies(self.dim, self.theta, self.scaling)

    def on(self, axes: tuple[int, ...]) -> RopeSpec:
        """The same with these axes, if there are any."""
        if not axes:
            return self
        if len(axes) != self.dim // 2:
            raise CorruptFileError(
                f"config: mrope_section counts {len(axes)} pairs, and a head has {self.dim // 2} "
                "that turn",
                param="mrope_section",
            )
        return replace(self, axes=axes)


def inverse_frequencies(dim: int, theta: float, scaling: RopeScaling) -> list[float]:
    """The angle per position of each of the `dim / 2` rotated pairs."""
    if scaling.kind == "dynamic":
        theta *= (scaling.alpha or 1.0) ** (dim / (dim - 2))
    plain = [theta ** (-2.0 * i / dim) for i in range(dim // 2)]
    if scaling.kind == "linear":
        return [f / scaling.factor for f in plain]
    if scaling.kind == "proportional":
        turning = int(scaling.proportion * dim // 2)
        return [f / scaling.factor if i < turning else 0.0 for i, f in enumerate(plain)]
    if scaling.kind == "llama3":
        return [_llama3(f, scaling) for f in plain]
    if scaling.kind == "yarn":
        return _yarn(plain, dim, theta, scaling)
    if scaling.kind == "longrope":
        return _longrope(plain, scaling)
    return plain


def _llama3(frequency: float, s: RopeScaling) -> float:
    """Stretches long waves, keeps short ones, and blends those between."""
    turns = s.original_context * frequency / (2 * math.pi)  # full turns in the original context
    if turns < s.low_freq_factor:
        return frequency / s.factor
    if turns > s.high_freq_factor:
        return frequency
    smooth = (turns - s.low_freq_factor) / (s.high_freq_factor - s.low_freq_factor)
    return (1 - smooth) * frequency / s.factor + smooth * frequency


def _yarn(plain: list[float], dim: int, theta: float, s: RopeScaling) -> list[float]:
    """Interpolates slow pairs, keeps fast pairs, and uses a linear ramp between."""

    def pair_with(turns: float) -> float:
        return dim * math.log(s.original_context / (turns * 2 * math.pi)) / (2 * math.log(theta))

    low, high = pair_with(s.beta_fast), pair_with(s.beta_slow)
    if s.truncate:
        low, high = math.floor(low), math.ceil(high)
    low, high = max(low, 0), min(high, dim - 1)
    width = max(high - low, 0.001)
    ramp = [min(max((i - low) / width, 0.0), 1.0) for i in range(len(plain))]
    return [f / s.factor * r + f * (1 - r) for f, r in zip(plain, ramp, strict=True)]


def _longrope(plain: list[float], s: RopeScaling) -> list[float]:
    factors = s.long_factor if s.is_long else s.short_factor
    if len(factors) != len(plain):
        name = "rope_scaling.long_factor" if s.is_long else "rope_scaling.short_factor"
        raise CorruptFileError(
            f"config: {name} must hold {len(plain)} numbers, not {len(factors)}", param=name
        )
    return [f / factor for f, factor in zip(plain, factors, strict=True)]


def _alpha(kind: str, fields: Mapping[str, Any]) -> float:
    if kind != "dynamic":
        return 1.0
    return _positive(fields, "alpha") if fields.get("alpha") else 0.0


def _check_length(window: int, original: int) -> None:
    """Texts within the original context have the usual rotation."""
    if not 0 < window <= original:
        raise UnsupportedError(
            "rope_scaling: dynamic NTK without alpha changes the rotation of cached keys when a "
            f"text has more than {original} tokens; set context_window_size to at most {original}",
            param="rope_scaling",
        )


def _check_kind(kind: str) -> None:
    if kind not in KINDS:
        raise UnsupportedError(
            f'rope_scaling: unknown type "{kind}"; available: {", ".join(KINDS)}',
            param="rope_scaling",
        )


def refuse_unknown(fields: Mapping[str, Any]) -> None:
    """Refuses a field that no kind of rotation has."""
    for name, value in fields.items():
        is_off = value in (None, False) or (name in _OFF_AT_ONE and value == 1)
        if name not in _FIELDS and not is_off:
            raise UnsupportedError(
                f"config: rope_scaling.{name} is not supported (its value here is "
                f"{str(value)[:60]}), and leaving it out could change every answer",
                param=f"rope_scaling.{name}",
            )


def _factor(kind: str, fields: Mapping[str, Any], stretch: float) -> float:
    """`stretch`: context / original context, the default of longrope."""
    defaults = {"longrope": stretch, "dynamic": 1.0, "proportional": 1.0}
    return _positive(fields, "factor", defaults.get(kind))


def _factors(kind: str, fields: Mapping[str, Any], name: str) -> tuple[float, ...]:
    if kind != "longrope":
        return ()
    values = fields.get(name)
    if not isinstance(values, (list, tuple)) or not 0 < len(values) <= 4096:
        raise CorruptFileError(
            f"config: rope_scaling.{name} must be a list of numbers", param=f"rope_scaling.{name}"
        )
    return tuple(_positive({name: value}, name) for value in values)


def _attention_factor(kind: str, fields: Mapping[str, Any]) -> float:
    if kind not in ("yarn", "longrope"):
        return 0.0
    given = fields.get("attention_factor")
    return 0.0 if given is None else _positive(fields, "attention_factor")


def _proportion(kind: str, fields: Mapping[str, Any]) -> float:
    if kind != "proportional":
        return 1.0
    share = _positive(fields, "partial_rotary_factor", 1.0)
    if share > 1:
        name = "rope_scaling.partial_rotary_factor"
        raise CorruptFileError(f"config: {name} must be at most 1", param=name)
    return share


def _mscales(kind: str, fields: Mapping[str, Any]) -> dict[str, float]:
    known = {"yarn": ("mscale", "mscale_all_dim"), "longrope": ("short_mscale", "long_mscale")}
    names = [n for n in known.get(kind, ()) if fields.get(n)]
    return {name: _positive(fields, name) for name in names}


def _positive(fields: Mapping[str, Any], name: str, default: float | None = None) -> float:
    value = fields.get(name)
    if value is None:
        value = default
    if isinstance(value, bool) or not isinstance(value, (int, float)) or not 0 < value < 1e12:
        raise CorruptFileError(
            f"config: rope_scaling.{name} must be a positive number", param=f"rope_scaling.{name}"
        )
    return float(value)


def alibi_slopes(heads: int) -> list[float]:
    """ALiBi's, by its paper's code: those of a power of 2, then every second one of the next."""

    def of_power(count: int) -> list[float]:
        start = 2.0 ** (-(2.0 ** -(math.log2(count) - 3)))
        return [start * start**i for i in range(count)]

    whole: int = 2 ** int(math.log2(heads))
    return of_power(whole) + of_power(2 * whole)[0::2][: heads - whole]

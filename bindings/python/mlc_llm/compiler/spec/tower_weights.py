"""The tensors of a tower: our names, their shapes, and where Hugging Face's files store them.

weights = tower_weights(spec)
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass

from mlc_llm.compiler.quantization import WeightUse
from mlc_llm.compiler.spec.tower import (
    SIGLIP,
    Averaged,
    Dense,
    Joined,
    Learned,
    Normed,
    ProjectorPart,
    Resampled,
    Standardized,
    TowerSpec,
)
from mlc_llm.compiler.spec.transforms import (
    Exchanged,
    Reshaped,
    Rows,
    Shape,
    Summed,
    Times,
    Transform,
)
from mlc_llm.compiler.spec.weights import Part, WeightSource

_OURS, _PROJECTOR = "vision_tower.", "multi_modal_projector."


def name_of(role: str, layer: int | None = None) -> str:
    """Our full name of a role's module."""
    joined = {"qkv": "self_attn.qkv_proj", "gate_up": "mlp.gate_up_proj"}
    own = joined.get(role, SIGLIP.get(role, role))
    place = "" if layer is None else SIGLIP["layer"].format(layer)
    return f"{_OURS}{place}{own}"


def projector_name(part: Normed | Standardized | Dense) -> str:
    return f"{_PROJECTOR}{part.name}"


LEARNED = f"{_PROJECTOR}learned_rows"
QUERIES = f"{_PROJECTOR}resampler.queries"
_LINEAR: tuple[tuple[str, Callable[[int], Shape], WeightUse | None], ...] = (
    ("weight", lambda width: (width, width), "tower"),
    ("bias", lambda width: (width,), None),
)


def resampler_name(role: str) -> str:
    """Our full name of a module of a resampler."""
    return f"{_PROJECTOR}resampler.{role}"


def tower_weights(spec: TowerSpec) -> list[WeightSource]:
    """All its tensors, and where Hugging Face's files store them."""
    found = [*_of_tower(spec), *_of_projector(spec, spec.projector)]
    for tap in spec.taps:
        found += _of_projector(spec, tap.projector)
    return found


def with_tower(weights: Sequence[WeightSource], spec: TowerSpec | None) -> list[WeightSource]:
    """The weights of a model and of its tower, in the order of the library's parameters: those of
    the part that drafts are the last ones."""
    if spec is None:
        return list(weights)
    first = [weight for weight in weights if not weight.draft]
    return [*first, *tower_weights(spec), *weights[len(first) :]]


def _of_tower(spec: TowerSpec) -> Iterator[WeightSource]:
    at, width, side = _Names(spec), spec.width, spec.patch_size
    stored = (width, spec.channels, side, side)
    conv: tuple[Transform, ...] = (Reshaped(stored, rows=width),)
    if spec.patch_is_linear:
        conv = ()
    if spec.frames > 1:
        conv = (Summed(axis=2, count=spec.frames), *conv)
    yield at.weight("patch", (width, spec.patch_dim), use="tower", transforms=conv)
    if spec.patch_bias:
        yield at.weight("patch", (width,), kind="bias")
    if spec.class_row:
        yield at.stored("class", f"{name_of('class')}", (width,))
    if spec.positions and spec.flat_table:
        yield at.weight("positions", (spec.positions, width))
    elif spec.positions:
        yield at.stored("positions", f"{name_of('positions')}.weight", (spec.positions, width))
    if spec.pre_norm:
        yield from at.norm("before")
    for layer in range(spec.layers):
        yield from at.norm("attention_norm", layer)
        bias = spec.bias and spec.qkv_bias
        for role in "qkv" if spec.clamped else ("qkv",):
            yield from at.linear(role, (len(role) * width, width), layer, bias=bias)
        norm_width = width if spec.query_norm else spec.head_dim
        for role in ("q_norm", "k_norm") if spec.query_norm or spec.head_norms else ():
            yield at.weight(role, (norm_width,), layer)
        yield from at.linear("output", (width, width), layer)
        if spec.norms_behind:
            yield from at.norm("attention_behind", layer)
        if spec.layer_scales:
            yield at.weight("attention_scale", (width,), layer, kind="")
        yield from at.norm("mlp_norm", layer)
        joined = ("gate", "up") if spec.clamped else ("gate_up",)
        for role in joined if spec.gated else ("up",):
            yield from at.linear(role, ((2 if role == "gate_up" else 1) * spec.ff, width), layer)
        yield from at.linear("down", (width, spec.ff), layer)
        if spec.norms_behind:
            yield from at.norm("mlp_behind", layer)
        if spec.layer_scales:
            yield at.weight("mlp_scale", (width,), layer, kind="")
    if spec.last_norm:
        yield from at.norm("norm")


def _of_projector(spec: TowerSpec, projector: Sequence[ProjectorPart]) -> Iterator[WeightSource]:
    for part, width in spec.widths(projector):
        if isinstance(part, Joined | Averaged):
            continue
        if isinstance(part, Resampled):
            yield from _of_resampler(spec, part, width)
            continue
        if isinstance(part, Learned):
            rows = [Part(name, (1, width), (Reshaped(shape, 1),)) for name, shape in part.stored]
            yield WeightSource(LEARNED, tuple(rows), None)
            continue
        ours, theirs = projector_name(part), f"{spec.projector_prefix}{part.name}"
        if isinstance(part, Standardized):
            for end, factor in (("bias", 1 / part.factor), ("scale", part.factor)):
                source = Part(f"{spec.prefix}{part.name}_{end}", (width,), (Times(factor),))
                yield WeightSource(f"{ours}_{end}", (source,), None)
            continue
        if isinstance(part, Normed) and not part.norm.weight:
            continue
        if isinstance(part, Normed):
            weight = Part(f"{theirs}.weight", (width,), part.transforms)
            yield WeightSource(f"{ours}.weight", (weight,), None)
            if part.norm.bias:
                yield WeightSource(f"{ours}.bias", (Part(f"{theirs}.bias", (width,)),), None)
            continue
        stored = part.stored and f"{spec.projector_prefix}{part.stored}" or f"{theirs}.weight"
        matrix = Part(stored, (part.width, width), part.transforms)
        yield WeightSource(f"{ours}.weight", (matrix,), "tower")
        if part.bias:
            yield WeightSource(f"{ours}.bias", (Part(f"{theirs}.bias", (part.width,)),), None)


def _of_resampler(spec: TowerSpec, part: Resampled, width: int) -> Iterator[WeightSource]:
    at = spec.projector_prefix
    queries = Part(f"{at}{part.query}", (part.count, width))
    yield WeightSource(QUERIES, (queries,), None)
    for end in ("weight", "bias"):
        source = Part(f"{at}{part.query_norm}.{end}", (width,))
        yield WeightSource(f"{resampler_name('query_norm')}.{end}", (source,), None)
    for index, role in enumerate("qkv"):
        rows = Rows(index * width, (index + 1) * width, 3 * width)
        for end, shape, use in _LINEAR:
            source = Part(f"{at}{part.joined}{end}", shape(width), (rows,))
            yield WeightSource(f"{resampler_name(role)}.{end}", (source,), use)
    for end, shape, use in _LINEAR:
        source = Part(f"{at}{part.output}.{end}", shape(width))
        yield WeightSource(f"{resampler_name('output')}.{end}", (source,), use)


@dataclass(frozen=True)
class _Names:
    """Makes tensors of roles."""

    spec: TowerSpec

    def weight(
        self,
        role: str,
        shape: Shape,
        layer: int | None = None,
        kind: str = "weight",
        use: WeightUse | None = None,
        transforms: tuple[Transform, ...] = (),
    ) -> WeightSource:
        end = f".{kind}" if kind else ""
        names = self.spec.names
        place = "" if layer is None else names["layer"].format(layer)
        files = names[role].split()
        each = (shape[0] // len(files), *shape[1:])
        parts = [
            Part(f"{self.spec.prefix}{place}{name}{end}", each, transforms + self._turned(role, i))
            for i, name in enumerate(files)
        ]
        return WeightSource(f"{name_of(role, layer)}{end}", tuple(parts), use)

    def _turned(self, role: str, index: int) -> tuple[Transform, ...]:
        """Of the queries and the keys."""
        rope = self.spec.rope
        is_turned = role in ("q", "k", "q_norm", "k_norm") or (role == "qkv" and index < 2)
        return (Exchanged(self.spec.head_dim),) if rope and rope.apart and is_turned else ()

    def _bounds(self, role: str, layer: int) -> WeightSource:
        """Of the inputs, then of the results: the least, and the most."""
        names = self.spec.names
        at = (
            f"{self.spec.prefix}{names['layer'].format(layer)}{names[role].removesuffix('.linear')}"
        )
        ends = ("input_min", "input_max", "output_min", "output_max")
        parts = tuple(Part(f"{at}.{end}", (1,), (Reshaped(()),)) for end in ends)
        return WeightSource(f"{name_of(role, layer)}.bounds", parts, None)

    def stored(self, role: str, ours: str, shape: Shape) -> WeightSource:
        """A parameter without a module: in files its name has no end, and may have more axes."""
        rows = shape[0] if len(shape) > 1 else 0
        deep = 2 if self.spec.table == "axes" else 1
        stored = (*[1] * (2 - len(shape)), deep, rows // deep or 1, shape[-1])[-3:]
        more = () if self.spec.flat_table else (Reshaped(stored, rows),)
        part = Part(f"{self.spec.prefix}{self.spec.names[role]}", shape, more)
        return WeightSource(ours, (part,), None)

    def linear(
        self, role: str, shape: Shape, layer: int, *, bias: bool | None = None
    ) -> Iterator[WeightSource]:
        yield self.weight(role, shape, layer, use="tower")
        if self.spec.clamped:
            yield self._bounds(role, layer)
        if self.spec.bias if bias is None else bias:
            yield self.weight(role, shape[:1], layer, "bias")

    def norm(self, role: str, layer: int | None = None) -> Iterator[WeightSource]:
        yield self.weight(role, (self.spec.width,), layer)
        if self.spec.norm.bias:
            yield self.weight(role, (self.spec.width,), layer, "bias")

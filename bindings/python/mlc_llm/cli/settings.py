"""Settings in the form of the command line: "name=value;name=value"."""

from __future__ import annotations

import argparse
import json
import math
import re
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field, replace
from typing import Any

from mlc_llm.errors import InvalidRequestError
from mlc_llm.errors.nearest import did_you_mean
from mlc_llm.sdk.sampling_gen import SAMPLING_NUMBERS


def _number(text: str) -> float:
    value = float(text)
    if not math.isfinite(value):
        raise ValueError
    return value


def _truth(text: str) -> bool:
    return {"true": True, "1": True, "false": False, "0": False}[text.lower()]


def _stop_strings(text: str) -> list[str]:
    return [item for item in text.split(",") if item]


_GENERATION: dict[str, Callable[[str], Any]] = {
    **{
        name: int if isinstance(neutral, int) else _number
        for name, neutral in SAMPLING_NUMBERS.items()
    },
    "max_tokens": int,
    "seed": int,
    "stop": _stop_strings,
}

_WHEN_FULL = ("say", "drop")


def _when_full(text: str) -> str:
    if text not in _WHEN_FULL:
        raise ValueError
    return text


# The settings of /set: for generation, and for the case that the context is full.
CHAT_SETTINGS: dict[str, Callable[[str], Any]] = {**_GENERATION, "when_full": _when_full}

_BY_TYPE: dict[str, Callable[[str], Any]] = {
    "int": int,
    "float": _number,
    "bool": _truth,
    "list[str]": lambda text: [text],  # only one model; its library may follow a comma
}


def _engine_settings() -> dict[str, Callable[[str], Any]]:
    """The fields of an engine config; the core checks words. Few commands need them."""
    from mlc_llm.types_gen import EngineConfig

    types = {name: str(type_) for name, type_ in EngineConfig.__annotations__.items()}
    return {name: _BY_TYPE.get(t.removesuffix(" | None"), str) for name, t in types.items()}


@dataclass(frozen=True)
class ChatSettings:
    """The settings of a chat. The model's own values apply to the settings that are not set."""

    generation: Mapping[str, Any] = field(default_factory=dict)  # arguments of a request
    when_full: str = "say"  # or "drop": forget the oldest turns when the context is full

    def changed(self, text: str) -> ChatSettings:
        """Applies "temperature=0.5;stop=a,b". "temperature=" removes a setting."""
        found = self
        for name, value in _parse(text, CHAT_SETTINGS, may_unset=True):
            if name == "when_full":
                found = replace(found, when_full=value or ChatSettings.when_full)
                continue
            changed = {**found.generation, name: value}  # a name that exists keeps its place
            kept = {key: one for key, one in changed.items() if one is not None}
            found = replace(found, generation=kept)
        return found


def parse_chat_settings(text: str) -> ChatSettings:
    """`--set`: "temperature=0.5;stop=a,b"."""
    return ChatSettings().changed(text)


def format_settings(settings: ChatSettings) -> str:
    """Settings as `parse_chat_settings` reads them."""

    def text(value: Any) -> str:
        return ",".join(value) if isinstance(value, list) else str(value)

    items = [f"{name}={text(value)}" for name, value in settings.generation.items()]
    if settings.when_full != ChatSettings.when_full:
        items.append(f"when_full={settings.when_full}")
    return ";".join(items)


def settings_table(
    settings: ChatSettings, config: Mapping[str, Any], limits: Mapping[str, Any]
) -> str:
    """All settings with their values, and where these are from. `config`: the model's;
    `limits`: the chat's own values."""
    rows = []
    for name in CHAT_SETTINGS:
        if name == "when_full":
            value, origin = settings.when_full, ""
        elif name in settings.generation:
            value, origin = settings.generation[name], "set here"
        elif name in config:
            value, origin = config[name], "the model's"
        else:
            value, origin = limits.get(name, SAMPLING_NUMBERS.get(name, "none")), ""
        text = ",".join(value) if isinstance(value, list) else str(value)
        rows.append(f"  {name:<18} {text:<8} {origin}".rstrip())
    return "\n".join(["Settings:", *rows, ""])


def parse_overrides(text: str, args: argparse.Namespace | None = None) -> dict[str, Any]:
    """MLC-LLM's `--overrides` as an engine config, with the options of `add_model_options`."""
    names = ("kv_cache_dtype", "tensor_parallel_shards", "mmproj")
    given = {name: getattr(args, name, None) for name in names} if args is not None else {}
    config = dict(_parse(text, _engine_settings())) if text else {}
    return config | {k: v for k, v in given.items() if v is not None}


_UNITS = {"": 1, "kb": 10**3, "mb": 10**6, "gb": 10**9, "kib": 1 << 10, "mib": 1 << 20,
          "gib": 1 << 30}  # fmt: skip


def size_in_bytes(text: str) -> int:
    """A size such as `6GB`, `512MiB` or `1000000`, for argparse."""
    found = re.fullmatch(r"(\d+(?:\.\d+)?)\s*([a-z]*)", text.strip().lower())
    if found is None or found[2] not in _UNITS:
        raise argparse.ArgumentTypeError(f"'{text}' is no size; write 6GB, 512MiB or bytes")
    size = int(float(found[1]) * _UNITS[found[2]])
    if not 0 < size < 1 << 63:
        raise argparse.ArgumentTypeError(f"'{text}' is no size that a machine can have")
    return size


def size_or_zero(text: str) -> int:
    """A size that may be `0`, which is none."""
    return 0 if text.strip() == "0" else size_in_bytes(text)


def json_list(text: str) -> list[str]:
    """A JSON list of strings, for argparse."""
    try:
        value = json.loads(text)
    except ValueError:
        value = None
    if not isinstance(value, list) or not all(isinstance(item, str) for item in value):
        raise argparse.ArgumentTypeError(f"'{text}' is no JSON list of strings")
    return value


def add_library_options(parser: Any) -> None:
    """Adds the options that change the model library."""
    parser.add_argument(
        "--kv-cache-dtype",
        metavar="DTYPE",
        help="precision of cached keys and values: f32, f16, bf16 or q8 "
        "(default: the config's, or one that fits the scheme)",
    )
    add_shards_option(parser)


def add_shards_option(parser: Any) -> None:
    """Adds `--tensor-parallel-shards`, and what MLC-LLM has beside it."""
    parser.add_argument(
        "--tensor-parallel-shards",
        type=int,
        metavar="N",
        help="divide each layer among N shards, which compute at the same time: threads of a CPU, "
        "or N GPUs (default: the config's, or 1)",
    )
    parser.add_argument(
        "--pipeline-parallel-stages", type=int, action=Stages, metavar="N", help="1, as in MLC-LLM"
    )


class Stages(argparse.Action):
    """Refuses more than one stage. Raises MLCError."""

    def __call__(self, parser: Any, args: argparse.Namespace, value: Any, *_: object) -> None:
        from mlc_llm.compiler.stages import check_stages

        check_stages(value, place=str(self.option_strings[0]))


def add_model_options(parser: Any) -> None:
    """Adds the options that change the folder and the library of a model."""
    add_library_options(parser)
    add_projector_option(parser)


def add_projector_option(parser: Any) -> None:
    """Adds `--mmproj`."""
    parser.add_argument(
        "--mmproj",
        metavar="FILE",
        help="the GGUF file with the tower of a .gguf model (default: the one beside it; none: "
        "read the text alone)",
    )


def _parse(
    text: str, known: dict[str, Callable[[str], Any]], *, may_unset: bool = False
) -> Iterator[tuple[str, Any]]:
    """The names and values. The value is None if nothing follows the `=`."""
    for item in filter(None, (part.strip() for part in text.split(";"))):
        name, equals, value = (part.strip() for part in item.partition("="))
        if not equals or name not in known:
            meant = did_you_mean(name, known, " ") if name not in known else ""
            raise InvalidRequestError(
                f"'{item}' is no setting;{meant} write name=value, separated by ';', with a name "
                f"of: {', '.join(known)}",
                param=name,
            )
        if may_unset and not value:
            yield name, None
            continue
        try:
            yield name, known[name](value)
        except (KeyError, ValueError):
            raise InvalidRequestError(
                f"'{name}' must be {_kind(known[name])}, not '{value}'", param=name
            ) from None


def _kind(parse: Callable[[str], Any]) -> str:
    if parse is _when_full:
        return " or ".join(f"'{word}'" for word in _WHEN_FULL)
    kinds: dict[Any, str] = {int: "an integer", _truth: "true or false"}
    return kinds.get(parse, "a number")


def path_and_scale(text: str, param: str = "lora") -> tuple[str, float]:
    """PATH or PATH:SCALE, as options of adapters take it."""
    path, colon, tail = text.rpartition(":")
    try:
        scale = float(tail) if colon and path else None
    except ValueError:
        scale = None
    if scale is None:
        return text, 1.0
    if not abs(scale) < 1e6:
        raise InvalidRequestError(f"{text}: the scale must be a finite number", param=param)
    return path, scale

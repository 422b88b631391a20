"""`mlc_llm show`: prints a model's config, chat template, memory use and sampling defaults.

If the model's conversion or library is missing, it is made first, as for a chat.
"""

from __future__ import annotations

import argparse
import json
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

from mlc_llm.cli.output import add_output_options, steps_for
from mlc_llm.cli.settings import add_model_options, parse_overrides
from mlc_llm.prepare.model_folder import chat_template, read_json_object
from mlc_llm.sdk.sampling_gen import SAMPLING_NUMBERS

# Fields of generation_config.json, and what stands for them in mlc-chat-config.json.
SAMPLING = tuple(SAMPLING_NUMBERS)
_TOKENS = ("eos_token_id", "bos_token_id", "pad_token_id")
_TEMPLATE_LINES = 6


def register(subparsers: Any) -> None:
    """Adds the command to the `mlc_llm` parser."""
    parser = subparsers.add_parser(
        "show", help="show a model's config, template and memory plan", description=__doc__
    )
    parser.add_argument("model", help="HF://org/repo, a model folder, a .gguf file, or 'default'")
    parser.add_argument("--device", default="auto", help="auto, cpu, ... (default: %(default)s)")
    parser.add_argument("--model-lib", help="a compiled model library (default: found or compiled)")
    parser.add_argument("--quantization", help="for a model that is not prepared yet")
    add_model_options(parser)
    parser.add_argument("--template", action="store_true", help="print the whole chat template")
    parser.add_argument("--json", action="store_true", help="print JSON")
    add_output_options(parser)
    parser.set_defaults(run=run)


def run(args: argparse.Namespace) -> None:
    """Runs the command; raises MLCError."""
    from mlc_llm.prepare.model_source import resolve_model
    from mlc_llm.sdk.core_engine import choose_device
    from mlc_llm.sdk.draft_model import ModelChoice
    from mlc_llm.sdk.planning import plan_modes

    steps = steps_for(args)
    device = choose_device(args.device, steps)
    config = parse_overrides("", args)
    model = resolve_model(
        args.model,
        quantization=args.quantization,
        device=device,
        model_lib=args.model_lib,
        **ModelChoice(args.model, args.model_lib).library_settings(config),
        progress=steps,
    )
    plans = plan_modes(
        ("local", "interactive", "server"), model.folder, model_lib=model.model_lib, device=device,
        quantization=None, engine_config={**config, "mmproj": None}, log=steps,
    )  # fmt: skip
    shown = {
        "name": model.name,
        "folder": str(model.folder),
        "model_lib": str(model.model_lib),
        "config": _config(model.config),
        "input_modalities": [str(word) for word in plans[0].input_modalities],
        "template": chat_template(model.folder, model.config),
        "generation_config": generation_fields(model.folder, model.config),
        "plans": [plan.model_dump() for plan in plans],
    }
    print(json.dumps(shown, indent=2)) if args.json else _print(shown, plans, args.template)


def _config(config: Mapping[str, Any]) -> dict[str, Any]:
    """The fields that interest a reader."""
    inner = config.get("model_config")
    names = ["model_type", "quantization", "context_window_size", "sliding_window_size"]
    names += ["vocab_size", "activation_bits"]
    sizes = ("hidden_size", "num_hidden_layers", "num_attention_heads", "num_key_value_heads")
    found = {name: config[name] for name in names if name in config}
    nested = inner if isinstance(inner, Mapping) else {}
    return {**found, **{name: nested[name] for name in sizes if name in nested}}


def generation_fields(folder: Path, config: Mapping[str, Any]) -> dict[str, dict[str, Any]]:
    """Which sampling defaults apply, and which fields of generation_config.json do not."""
    original = read_json_object(folder / "generation_config.json")
    applied = {name: config[name] for name in (*SAMPLING, *_TOKENS) if name in config}
    ignored = {name: value for name, value in original.items() if name not in applied}
    return {"applies": applied, "without_effect": ignored}


def _print(shown: Mapping[str, Any], plans: Any, whole_template: bool) -> None:
    print(shown["name"])
    for name in ("folder", "model_lib"):
        print(f"  {name}: {shown[name]}")
    for name, value in shown["config"].items():
        print(f"  {name}: {value}")
    print(f"  takes: {', '.join(shown['input_modalities'])}")
    fields = shown["generation_config"]
    print("\nDefaults of a request (generation_config.json):")
    for name, value in fields["applies"].items():
        print(f"  {name}: {value}")
    if fields["without_effect"]:
        print(f"  without effect here: {', '.join(fields['without_effect'])}")
    print("\nChat template:")
    for line in _lines(shown["template"], whole_template):
        print(f"  {line}")
    for plan in plans:
        print()
        for line in plan.summary:
            print(line)
        print("It fits." if plan.fits else f"It does not fit: {plan.reason}")


def _lines(template: str, whole: bool) -> Iterator[str]:
    lines = template.splitlines() or ["none: messages follow each other as they are"]
    yield from lines if whole else (line[:100] for line in lines[:_TEMPLATE_LINES])
    if not whole and (len(lines) > _TEMPLATE_LINES or any(len(line) > 100 for line in lines)):
        yield "... (--template prints all of it)"

"""`mlc_llm convert_weight`: quantizes a model's weights into an `-MLC` folder."""

from __future__ import annotations

import argparse
import json
import tempfile
from pathlib import Path
from typing import Any

from mlc_llm.cli.output import add_output_options, steps_for
from mlc_llm.cli.settings import add_projector_option, add_shards_option, path_and_scale
from mlc_llm.errors import InvalidRequestError
from mlc_llm.prepare.progress import Steps

SOURCE_FORMATS = ("auto", "huggingface-torch", "huggingface-safetensor", "gguf", "awq")


def register(subparsers: Any) -> None:
    """Adds the command to the `mlc_llm` parser."""
    parser = subparsers.add_parser(
        "convert_weight",
        help="convert and quantize weights",
        description=__doc__,
    )
    add_model_arguments(parser)
    parser.add_argument(
        "--source",
        default="auto",
        help="folder or file of the weights (default: beside the config)",
    )
    parser.add_argument(
        "--source-format",
        default="auto",
        choices=SOURCE_FORMATS,
        help="format of the weights (default: %(default)s)",
    )
    parser.add_argument(
        "--search-scales",
        action="store_true",
        help="find the scale of each group that loses the least, in the same format (3 and 4 bits; "
        "takes about ten times as long)",
    )
    parser.add_argument(
        "--calibrate",
        type=Path,
        metavar="FILE",
        help="--search-scales with a text: the model reads its first 2,048 tokens in float32, and "
        "errors count more where a layer's inputs are larger",
    )
    parser.add_argument("--device", default="auto", help="weights are always converted on the CPU")
    parser.add_argument(
        "--lora-adapter",
        nargs="+",
        action="extend",
        default=[],
        metavar="DIR[:SCALE]",
        help="merge LoRA adapters (PEFT's or mlx-lm's folders, GGUF files) into the weights before "
        "they are quantized",
    )
    add_shards_option(parser)
    parser.set_defaults(run=run)


def add_model_arguments(parser: argparse.ArgumentParser) -> None:
    """Adds the arguments that `convert_weight` and `gen_config` share."""
    parser.add_argument(
        "config",
        help="config.json of the model, its folder, a .gguf file, HF://org/repo, or 'default' (the "
        "embedded model)",
    )
    parser.add_argument(
        "--quantization",
        help="such as q4f32_1, q4f16_1 or q0f32; auto: a GGUF file's own types, without loss "
        "(default: auto for a GGUF file, else q4f32_1)",
    )
    parser.add_argument(
        "--model-type", default="auto", help="model family (default: what the config says)"
    )
    parser.add_argument(
        "--draft",
        type=Path,
        metavar="DIR",
        help="a folder of Medusa heads, of an Eagle layer or of Gemma 4's assistant for the model, "
        "which draft with --speculative-mode medusa, eagle or mtp",
    )
    add_projector_option(parser)
    parser.add_argument(
        "--tower-quantization",
        metavar="NAME",
        help="weights of the tower of a model that takes pictures: q0f16 (floats: those of "
        "the scheme of the text, else float16), or q8f32_1 (8 bits), which is faster on CPUs with "
        "AVX2 and less exact (default: q0f16)",
    )
    parser.add_argument("--output", "-o", type=Path, required=True, help="the -MLC folder")
    add_output_options(parser)


def run(args: argparse.Namespace) -> None:
    """Runs the command; raises MLCError."""
    steps = steps_for(args)
    if args.device.partition(":")[0] not in ("auto", "cpu"):
        steps.note(f"note: converting on the CPU, not on {args.device}")
    path = path_of(args, steps)
    quantization = quantization_of(args, path)
    from mlc_llm.compiler.convert import notes, write_weights
    from mlc_llm.prepare.jit_cache import types_said

    source = open_model(
        path, source=args.source, source_format=args.source_format, projector=args.mmproj
    )
    for note in notes(source, quantization):
        steps.note(note)
    adapters = adapters_of(args, steps)
    importance = measured(args, source, quantization, steps) if args.calibrate else None
    with steps.step(f"Converting {path.name} to {types_said(quantization)}") as update:
        stats = write_weights(
            source,
            args.output,
            quantization=quantization,
            model_type=model_type_of(args),
            search_scales=args.search_scales,
            importance=importance,
            adapters=adapters,
            draft=args.draft,
            tower_quantization=args.tower_quantization,
            shards=1 if args.tensor_parallel_shards is None else args.tensor_parallel_shards,
            report=update,
        )
    if adapters:
        say_what_is_left(args, source, adapters, quantization, steps)
    if not args.quiet:
        print(f"Parameter size after quantization: {stats.param_bytes / 1024**3:.3f} GB")
        print(f"Total parameters: {stats.elements:,}")
        print(f"Bits per parameter: {stats.bits_per_param:.3f}")
        print(f"Saved to directory: {args.output}")


def measured(args: argparse.Namespace, source: Any, quantization: str, steps: Steps) -> Any:
    """What the model's layers get when it reads the text of --calibrate."""
    from mlc_llm.compiler import quantization as schemes
    from mlc_llm.compiler.calibrate import CHARACTERS, importance_of

    keeps = quantization in ("auto", "auto_wide")
    if keeps and source.blocks() is not None:
        raise InvalidRequestError(
            "--calibrate needs a --quantization of 3 or 4 bits, such as q4f16_1", param="calibrate"
        )
    if not keeps:
        schemes.with_searched_scales(schemes.get(quantization))
    try:
        with args.calibrate.open(encoding="utf-8") as file:
            text = file.read(CHARACTERS)
    except (OSError, UnicodeDecodeError) as error:
        message = f"--calibrate {args.calibrate}: {error}"
        raise InvalidRequestError(message, param="calibrate") from None
    with steps.step(f"Reading {args.calibrate.name} in float32") as update:
        ids = _tokens(source, model_type_of(args), text)
        return importance_of(source, ids, model_type=model_type_of(args), report=update)


def adapters_of(args: argparse.Namespace, steps: Steps) -> list[tuple[Any, float]]:
    """The adapters of --lora-adapter, each with the factor behind its path."""
    from mlc_llm.compiler.convert.adapters import open_adapter

    found = []
    for text in args.lora_adapter:
        path, factor = path_and_scale(text, "lora-adapter")
        adapter = open_adapter(Path(path))
        for note in adapter.notes:
            steps.note(note)
        found.append((adapter, factor))
    return found


def say_what_is_left(
    args: argparse.Namespace,
    source: Any,
    adapters: list[tuple[Any, float]],
    quantization: str,
    steps: Steps,
) -> None:
    """Says how much of the adapters' effect the quantized weights keep, if the model can be read
    in float32 here."""
    from mlc_llm.compiler import quantization as schemes
    from mlc_llm.compiler.convert.adapters.effect import TEXT, effect, fits_memory

    model_type = model_type_of(args)
    if schemes.get(quantization).exact:
        return
    if not fits_memory(source, model_type):
        steps.note("What is left of the adapter was not measured: too little memory is free.")
        return
    with steps.step("Measuring what is left of the adapter"):
        ids = _tokens(source, model_type, TEXT)
        found = effect(source, adapters, ids, scheme=quantization, model_type=model_type)
    steps.note(
        f"The adapter changes the answers by {found.of_adapter:.4f} nats a token; "
        f"{quantization} changes them by {found.lost:.4f}."
    )
    if found.is_little:
        steps.note(
            "Little of the adapter is left: rounding changes more than it does. Choose more bits, "
            "such as --quantization q8f32_1 or q0f16."
        )


def _tokens(source: Any, model_type: str | None, text: str) -> list[int]:
    """The text's token ids, by the model's own tokenizer."""
    from mlc_llm.compiler.convert import write_config
    from mlc_llm.prepare.model_source import FAKE_DEVICE
    from mlc_llm.sdk.core_engine import CoreEngine

    with tempfile.TemporaryDirectory() as folder:
        model = Path(folder) / "model"
        write_config(source, model, quantization="q0f32", model_type=model_type)
        options: dict[str, Any] = {"model_lib": None, "mode": None, "quantization": None}
        engine = CoreEngine(model, device=FAKE_DEVICE, engine_config=None, **options)
        try:
            request = {"text": text, "add_special_tokens": True}
            answer = engine.call("tokenize", request)
        finally:
            engine.close()
    return [int(token) for token in json.loads(answer)["tokens"]]


def path_of(args: argparse.Namespace, steps: Steps) -> Path:
    """The folder or file of CONFIG. A repository is downloaded."""
    from mlc_llm.prepare.hub_download import PREFIX
    from mlc_llm.prepare.local_model import DEFAULT_MODEL
    from mlc_llm.prepare.model_source import resolve_source

    if args.config.startswith(PREFIX) or args.config == DEFAULT_MODEL:
        return resolve_source(args.config, progress=steps)
    return Path(args.config)


def quantization_of(args: argparse.Namespace, path: Path) -> str:
    """The quantization that the user named, or the one that loses the least."""
    from mlc_llm.prepare.model_source import kept_quantization

    if args.quantization is not None:
        return str(args.quantization)
    if (prepared := _prepared_folder(path)) is not None:
        return kept_quantization(prepared)
    source = str(getattr(args, "source", "auto"))
    return "auto" if path.suffix == ".gguf" or source.endswith(".gguf") else "q4f32_1"


def model_type_of(args: argparse.Namespace) -> str | None:
    """The family named on the command line, or None."""
    return None if args.model_type == "auto" else args.model_type


def open_model(
    config: Path,
    *,
    source: str = "auto",
    source_format: str = "auto",
    projector: str | None = None,
) -> Any:
    """Opens the model of CONFIG, --source and --mmproj."""
    from mlc_llm.compiler.convert import open_source
    from mlc_llm.compiler.convert.mlc_folder import is_readable
    from mlc_llm.compiler.convert.tower import require_tower, text_alone
    from mlc_llm.prepare.local_model import NO_PROJECTOR, projector_of

    prepared = _prepared_folder(config) if source == "auto" else None
    if prepared is not None and not is_readable(prepared):
        raise InvalidRequestError(
            f"{prepared}: this is an -MLC folder, whose weights are converted already; give the "
            "original model",
            param="config",
        )
    config_file = config / "config.json" if config.is_dir() else config
    weights = config if config.suffix == ".gguf" else config_file.parent
    if weights.suffix != ".gguf" and source != "auto":
        weights = Path(source)
    if weights.suffix != ".gguf":
        projector_of(weights, projector)
        own = None if prepared is not None else config_file
        model = open_source(weights, source_format=source_format, config=own)
        return text_alone(model) if projector == NO_PROJECTOR else model
    chosen = projector_of(weights, projector)
    model = open_source(weights, source_format=source_format, projector=chosen)
    if chosen is not None and projector is not None:
        require_tower(model)
    return model


def _prepared_folder(config: Path) -> Path | None:
    """The -MLC folder that CONFIG means. One with the original config.json beside it is none."""
    from mlc_llm.prepare.local_model import CHAT_CONFIG

    if config.name == CHAT_CONFIG:
        return config.parent
    is_other = (config / "config.json").is_file() or not (config / CHAT_CONFIG).is_file()
    return None if is_other else config

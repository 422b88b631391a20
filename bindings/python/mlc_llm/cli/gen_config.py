"""`mlc_llm gen_config`: writes mlc-chat-config.json and the tokenizer files of an `-MLC` folder."""

from __future__ import annotations

import argparse
from typing import Any

from mlc_llm.cli.convert_weight import (
    add_model_arguments,
    model_type_of,
    open_model,
    path_of,
    quantization_of,
)
from mlc_llm.cli.output import steps_for

_SIZES = {
    "context_window_size": "tokens that a conversation may have (default: the model's)",
    "sliding_window_size": "tokens that attention looks back (default: the model's)",
    "prefill_chunk_size": "tokens of a prompt that are computed at once (default: 2048)",
    "attention_sink_size": "first tokens that stay visible behind a sliding window",
    "tensor_parallel_shards": "CPU threads or GPUs that share each layer (default: 1)",
    "pipeline_parallel_stages": "1, as in MLC-LLM",
}


def register(subparsers: Any) -> None:
    """Adds the command to the `mlc_llm` parser."""
    parser = subparsers.add_parser(
        "gen_config",
        help="write the config of a model folder",
        description=__doc__,
    )
    add_model_arguments(parser)
    parser.add_argument(
        "--conv-template",
        help="name written into conv_template; the model's own Jinja template is what counts",
    )
    for name, text in _SIZES.items():
        parser.add_argument(f"--{name.replace('_', '-')}", type=int, help=text)
    parser.add_argument(
        "--max-batch-size", type=int, default=128, help="sequences at once (default: %(default)s)"
    )
    parser.add_argument(
        "--draft-vocab-size",
        type=int,
        metavar="N",
        help="an MTP or Eagle layer with the model's head guesses only the first N tokens, which "
        "costs less (default: all)",
    )
    parser.set_defaults(run=run)


def run(args: argparse.Namespace) -> None:
    """Runs the command; raises MLCError."""
    from mlc_llm.compiler.convert import ConfigOverrides, write_config

    path = path_of(args, steps_for(args))
    quantization = quantization_of(args, path)
    count = args.draft_vocab_size
    overrides = ConfigOverrides(
        extra=_extra(args.config, quantization) | ({"draft_vocab_size": count} if count else {}),
        conv_template=args.conv_template,
        max_batch_size=args.max_batch_size,
        **{name: getattr(args, name) for name in _SIZES},
    )
    write_config(
        open_model(path, projector=args.mmproj),
        args.output,
        quantization=quantization,
        model_type=model_type_of(args),
        overrides=overrides,
        draft=args.draft,
        tower_quantization=args.tower_quantization,
    )
    if not args.quiet:
        print(f"Saved to directory: {args.output}")


def _extra(model: str, quantization: str) -> dict[str, float]:
    """Fields that the embedded model's file does not have."""
    from mlc_llm.prepare.embedded_model import config_of
    from mlc_llm.prepare.local_model import DEFAULT_MODEL

    return config_of(keeps_types=quantization == "auto") if model == DEFAULT_MODEL else {}

"""The options of `mlc_llm serve`."""

from __future__ import annotations

import argparse
import os

from mlc_llm.cli.serve_files import file_mode
from mlc_llm.cli.settings import add_model_options, json_list, size_in_bytes, size_or_zero
from mlc_llm.sdk.engine_words_gen import (
    MODES,
    PREFILL_MODES,
    PREFIX_CACHE_MODES,
    SPECULATIVE_MODES,
)


def add_serve_options(parser: argparse.ArgumentParser) -> None:
    """Adds all of them."""
    _add_engine_options(parser)
    _add_model_options(parser)
    _add_server_options(parser)


def _add_engine_options(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("--device", default="auto", help="auto, cpu, ... (default: %(default)s)")
    parser.add_argument("--model-lib", help="a compiled model library (default: found or compiled)")
    parser.add_argument("--quantization", help="for a model that is not prepared yet")
    parser.add_argument(
        "--mode", choices=MODES, default="local",
        help="what the engine is for (default: %(default)s)",
    )  # fmt: skip
    parser.add_argument(
        "--additional-models", nargs="+", default=[], metavar="MODEL[,LIB]",
        help="more models to serve, or the draft model of speculative decoding",
    )  # fmt: skip
    parser.add_argument(
        "--embedding-model", metavar="MODEL[,LIB]",
        help="answers /v1/embeddings that name no model (default: the first model)",
    )  # fmt: skip
    parser.add_argument(
        "--served-model-name", nargs="+", default=[], metavar="NAME",
        help="names that the first model answers to; the first name is in its answers",
    )  # fmt: skip
    parser.add_argument(
        "--any-model-name", action="store_true",
        help="the model answers to any name, while it is the only one",
    )  # fmt: skip
    parser.add_argument(
        "--speculative-mode", choices=SPECULATIVE_MODES,
        help="how tokens are drafted ahead (default: on CPUs by the model's own part for it, if it "
        "has one and --mode is not server)",
    )  # fmt: skip
    parser.add_argument("--prefix-cache-mode", choices=PREFIX_CACHE_MODES)
    parser.add_argument(
        "--prefix-cache-dir", metavar="DIR",
        help="a folder that keeps the prefix cache for the next start; it tells what prompts were",
    )  # fmt: skip
    parser.add_argument(
        "--prefix-cache-dir-size", type=size_in_bytes, metavar="SIZE",
        help="the most that its files may take (default: 8GiB)",
    )  # fmt: skip
    parser.add_argument(
        "--prefix-cache-ram", type=size_or_zero, metavar="SIZE",
        help="of a GPU: the host's memory for what its prefix cache drops (default: by the plan)",
    )  # fmt: skip
    parser.add_argument("--prefill-mode", choices=PREFILL_MODES)
    parser.add_argument("--overrides", default="", help='engine settings, "max_num_sequence=8;..."')
    add_model_options(parser)
    parser.add_argument(
        "--lora", nargs="+", action="extend", default=[], metavar="NAME=PATH",
        help="LoRA adapters of the first model, which requests choose by name",
    )  # fmt: skip
    parser.add_argument(
        "--lora-ranks", type=int, metavar="N",
        help="room for adapters, all ranks together (default: 64 with --lora, else 0)",
    )  # fmt: skip
    parser.add_argument("--enable-tracing", action="store_true", help="record an event trace")


def _add_model_options(parser: argparse.ArgumentParser) -> None:
    """Models that a request loads by its name."""
    parser.add_argument(
        "--models-dir", nargs="+", default=[], metavar="DIR",
        help="folders of models, which requests load by their names",
    )  # fmt: skip
    parser.add_argument(
        "--kept-models", action="store_true", help="the same for the models of `mlc_llm list`"
    )
    parser.add_argument("--settings", metavar="FILE", help="models with their settings (TOML)")
    parser.add_argument(
        "--memory-limit", type=size_in_bytes, metavar="SIZE",
        help="of all models together on a device, such as 6GB (default: what is free)",
    )  # fmt: skip
    parser.add_argument("--max-loaded", type=int, metavar="N", help="models in memory at a time")
    parser.add_argument(
        "--idle-timeout", type=float, metavar="SECONDS",
        help="until a model without requests leaves the memory (default: it stays)",
    )  # fmt: skip
    parser.add_argument(
        "--when-idle", choices=("leave", "sleep"), default="leave",
        help="leave: unload it; sleep: give back what can be computed or read again",
    )  # fmt: skip


def _add_server_options(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("--host", default="127.0.0.1", help="(default: %(default)s)")
    parser.add_argument("--port", type=int, default=8000, help="0 takes a free one")
    parser.add_argument("--api-prefix", default="", metavar="PATH", help="of all routes: /llm")
    parser.add_argument(
        "--log-format", choices=("text", "json"), default="text", help="(default: %(default)s)"
    )
    parser.add_argument("--uds", metavar="PATH", help="a UNIX socket, instead of host and port")
    parser.add_argument(
        "--uds-mode", type=file_mode, metavar="MODE", help="for chmod (default: 600)"
    )
    parser.add_argument("--ssl-certfile", metavar="FILE", help="for HTTPS: the certificate")
    parser.add_argument("--ssl-keyfile", metavar="FILE", help="its key, if it is not in that file")
    parser.add_argument(
        "--api-key", default=os.environ.get("MLC_LLM_API_KEY"),
        help="wanted of clients (default: $MLC_LLM_API_KEY, else none)",
    )  # fmt: skip
    parser.add_argument(
        "--api-key-file", metavar="FILE", help="more keys, one a line, but none that begin with #"
    )
    parser.add_argument("--allow-credentials", action="store_true")
    parser.add_argument(
        "--allow-hosts", type=json_list, default=[], metavar="JSON",
        help='more names by which clients call the server, as a JSON list; ["*"]: any',
    )  # fmt: skip
    parser.add_argument(
        "--allow-origins", type=json_list, default=[], metavar="JSON",
        help='other sites whose pages may use the server, as a JSON list; ["*"]: any (CORS)',
    )  # fmt: skip
    for name in ("methods", "headers"):
        parser.add_argument(
            f"--allow-{name}", type=json_list, default=["*"], metavar="JSON",
            help='what those pages may use (default: ["*"])',
        )  # fmt: skip
    parser.add_argument(
        "--allow-picture-hosts", type=json_list, default=[], metavar="JSON",
        help='hosts from which pictures of requests are fetched; ["*"]: any public one',
    )  # fmt: skip
    parser.add_argument(
        "--prefill-from", metavar="URL",
        help="another `mlc_llm serve` with --enable-admin, which computes the prompts",
    )  # fmt: skip
    parser.add_argument("--prefill-key", metavar="KEY", help="an --api-key of that server")
    parser.add_argument(
        "--prefill-least-tokens", type=int, default=64, metavar="N",
        help="prompts of which fewer are missing are computed here (default: %(default)s)",
    )  # fmt: skip
    parser.add_argument("--enable-debug", action="store_true", help="/debug routes, debug_config")
    parser.add_argument(
        "--enable-admin", action="store_true", help="/admin routes: load, unload, prefill"
    )
    parser.add_argument("--max-body-bytes", type=int, default=16 << 20)
    parser.add_argument(
        "--max-total-body-bytes", type=int,
        help="of the bodies that are held at the same time (default: 32 MiB, or one body)",
    )  # fmt: skip
    parser.add_argument(
        "--max-connections", type=int,
        help="(default: 1024, or half of the file handles that are free)",
    )  # fmt: skip
    parser.add_argument(
        "--head-timeout", type=float, default=10.0, metavar="SECONDS",
        help="for a client to send the headers of a request (default: %(default)s)",
    )  # fmt: skip
    parser.add_argument(
        "--body-timeout", type=float, default=60.0, metavar="SECONDS",
        help="for a client to send the body of a request (default: %(default)s)",
    )  # fmt: skip
    parser.add_argument(
        "--responses-db", metavar="FILE",
        help="a SQLite file in which responses are kept (default: in memory)",
    )  # fmt: skip
    parser.add_argument(
        "--responses-bytes", type=int, default=64 << 20, metavar="N",
        help="of all responses that are kept; the oldest leave (default: %(default)s)",
    )  # fmt: skip
    parser.add_argument("--request-timeout", type=float, metavar="SECONDS")
    parser.add_argument(
        "--keep-alive", type=float, default=10.0, metavar="SECONDS",
        help="between comments on a stream that is silent (default: %(default)s)",
    )  # fmt: skip
    parser.add_argument(
        "--stalled-timeout", type=float, default=60.0, metavar="SECONDS",
        help="until a stream ends that its client does not read (default: %(default)s)",
    )  # fmt: skip
    parser.add_argument(
        "--shutdown-timeout", type=float, default=30.0, metavar="SECONDS",
        help="until requests are cancelled after SIGTERM or Ctrl-C (default: %(default)s)",
    )  # fmt: skip

"""`mlc_llm serve`: an OpenAI-compatible server."""

from __future__ import annotations

import argparse
import math
import os
from dataclasses import dataclass, replace
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any

from mlc_llm.cli.environment import take_environment
from mlc_llm.cli.output import add_output_options, steps_for
from mlc_llm.cli.serve_files import api_keys_of, check_files, file_mode
from mlc_llm.cli.settings import add_model_options, json_list, parse_overrides, size_in_bytes
from mlc_llm.errors import InvalidRequestError

if TYPE_CHECKING:
    from mlc_llm.sdk.mcp_servers import MCPServer
    from mlc_llm.serve.catalogue import Catalogue, ModelSpec
    from mlc_llm.serve.loading import Load
    from mlc_llm.serve.registry import ModelRegistry
    from mlc_llm.serve.room import ModelLimits


def register(subparsers: Any) -> None:
    """Adds the command to the `mlc_llm` parser."""
    parser = subparsers.add_parser("serve", help="serve models over HTTP", description=__doc__)
    parser.add_argument(
        "model",
        nargs="?",
        help="HF://org/repo, a model folder, or a .gguf file (default: the embedded model)",
    )
    _add_engine_options(parser)
    _add_model_options(parser)
    _add_server_options(parser)
    add_output_options(parser)
    take_environment(parser, "MLC_LLM_SERVE")
    parser.set_defaults(run=run)


def _add_engine_options(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("--device", default="auto", help="auto, cpu, ... (default: %(default)s)")
    parser.add_argument("--model-lib", help="a compiled model library (default: found or compiled)")
    parser.add_argument("--quantization", help="for a model that is not prepared yet")
    parser.add_argument(
        "--mode", choices=("local", "interactive", "server"), default="local",
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
        "--speculative-mode",
        choices=("disable", "small_draft", "prompt_lookup", "mtp", "eagle", "medusa"),
        help="how tokens are drafted ahead (default: disable)",
    )  # fmt: skip
    parser.add_argument("--prefix-cache-mode", choices=("radix", "disable"))
    parser.add_argument(
        "--prefix-cache-dir", metavar="DIR",
        help="a folder that keeps the prefix cache for the next start; it tells what prompts were",
    )  # fmt: skip
    parser.add_argument(
        "--prefix-cache-dir-size", type=size_in_bytes, metavar="SIZE",
        help="the most that its files may take (default: 8GiB)",
    )  # fmt: skip
    parser.add_argument("--prefill-mode", choices=("hybrid", "chunked"))
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
        "--api-key-file", metavar="FILE", help="more keys, one a line; # begins a comment"
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
    parser.add_argument("--enable-debug", action="store_true", help="/debug routes, debug_config")
    parser.add_argument("--enable-admin", action="store_true", help="/admin routes: load, unload")
    parser.add_argument("--max-body-bytes", type=int, default=16 << 20)
    parser.add_argument(
        "--max-total-body-bytes", type=int, default=32 << 20,
        help="of the bodies that are held at the same time (default: %(default)s)",
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
        "--responses-db", type=Path, metavar="FILE",
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


def run(args: argparse.Namespace) -> None:
    """Listens, loads the models, and serves until it must stop."""
    from mlc_llm.serve.api_prefix import plain_prefix
    from mlc_llm.serve.app import create_app
    from mlc_llm.serve.connections import limit_connections
    from mlc_llm.serve.lifecycle import Drain, Server, listen_config
    from mlc_llm.serve.loading import Loading, LoadingSteps
    from mlc_llm.serve.memory import return_large_buffers
    from mlc_llm.serve.options import ServeOptions
    from mlc_llm.serve.registry import ModelRegistry
    from mlc_llm.serve.remote_pictures import RemotePictures
    from mlc_llm.serve.request_log import log_config

    # Connections have priority over kernels; a model's threads read this (runtime/parallel.h).
    os.environ.setdefault("MLC_COMPUTE_NICE", "5")
    if not 0 <= args.port <= 65535:
        raise InvalidRequestError(f"--port {args.port}: must be 0 .. 65535", param="port")
    check_files(args)
    max_connections, backlog = limit_connections(args.max_connections)
    known = known_models(args)
    options = ServeOptions(
        host=args.host,
        allow_hosts=tuple(args.allow_hosts),
        max_connections=max_connections,
        max_total_body_bytes=args.max_total_body_bytes,
        head_timeout=args.head_timeout,
        body_timeout=args.body_timeout,
        api_keys=api_keys_of(args),
        api_prefix=plain_prefix(args.api_prefix),
        allow_credentials=args.allow_credentials,
        allow_origins=tuple(args.allow_origins),
        allow_methods=tuple(args.allow_methods),
        allow_headers=tuple(args.allow_headers),
        pictures=RemotePictures(args.allow_picture_hosts),
        enable_debug=args.enable_debug,
        enable_admin=args.enable_admin,
        max_body_bytes=args.max_body_bytes,
        responses_db=args.responses_db,
        responses_bytes=args.responses_bytes,
        request_timeout=args.request_timeout,
        keep_alive=args.keep_alive,
        stalled_timeout=args.stalled_timeout,
        mcp_servers=known.mcp_servers,
    )
    return_large_buffers()
    drain = Drain()
    steps = LoadingSteps(steps_for(args))
    models = ModelRegistry(
        steps, any_name=args.any_model_name, catalogue=known.catalogue, limits=_limits(args)
    )
    models.loading = Loading(_jobs(args, models, known), steps)
    config = listen_config(
        create_app(models, options, drain),
        options,
        port=args.port,
        uds=args.uds,
        ssl_certfile=args.ssl_certfile,
        ssl_keyfile=args.ssl_keyfile,
        backlog=backlog,
        log_level="warning" if args.quiet else "info",
        log_config=log_config(args.log_format),
    )
    server = Server(
        config, drain, models, drain_seconds=args.shutdown_timeout, uds_mode=args.uds_mode
    )
    try:
        server.run()
        server.finish_loading()
    finally:
        models.close()
    if server.failure is not None:
        raise server.failure


def _limits(args: argparse.Namespace) -> ModelLimits:
    from mlc_llm.serve.room import ModelLimits

    if args.max_loaded is not None and args.max_loaded < 1:
        raise InvalidRequestError("--max-loaded must be at least 1", param="max_loaded")
    if args.idle_timeout is not None and not 0 <= args.idle_timeout < math.inf:
        raise InvalidRequestError("--idle-timeout must be at least 0", param="idle_timeout")
    return ModelLimits(memory_bytes=args.memory_limit, max_loaded=args.max_loaded)


@dataclass(frozen=True)
class KnownModels:
    """The models that requests load, those of them that are loaded at the start, and the MCP
    servers whose tools requests may name."""

    catalogue: Catalogue | None = None
    at_start: tuple[ModelSpec, ...] = ()
    mcp_servers: tuple[MCPServer, ...] = ()


def known_models(args: argparse.Namespace) -> KnownModels:
    """The models of the settings file, of folders, and those kept here; the file's MCP servers."""
    from mlc_llm.cli.mcp import read_mcp_servers
    from mlc_llm.serve import catalogue
    from mlc_llm.serve.models_file import ModelSettings, read_models
    from mlc_llm.serve.settings_file import read_settings

    if not (args.models_dir or args.kept_models or args.settings):
        return KnownModels()
    template = _spec(args, None)
    settings = ModelSettings(template, (), ())
    mcp_servers: tuple[MCPServer, ...] = ()
    if args.settings:
        table = read_settings(args.settings)
        settings = read_models(table, template)
        mcp_servers = tuple(read_mcp_servers(table))
        table.end()
    sources = []
    for folder in map(Path, args.models_dir):
        if not folder.is_dir():
            raise InvalidRequestError(f"--models-dir: '{folder}' is no folder", param="models_dir")
        sources.append(catalogue.models_in(folder.absolute(), settings.defaults))
    if args.kept_models:
        sources.append(catalogue.kept_here(settings.defaults))
    if not (settings.models or sources):
        return KnownModels(mcp_servers=mcp_servers)
    at_start = tuple(spec for spec in settings.models if spec.names[0] in settings.at_start)
    return KnownModels(catalogue.Catalogue(settings.models, sources), at_start, mcp_servers)


def _jobs(
    args: argparse.Namespace, models: ModelRegistry, known: KnownModels
) -> list[tuple[str, Load]]:
    """The models to load: each with the name from its argument, and a function that loads it."""
    specs = model_specs(args)
    if known.catalogue is not None and args.model is None:
        specs = specs[1:]  # no default model beside those that requests choose
    jobs: list[tuple[str, Load]] = [
        (str(spec.model or "default"), partial(models.load, spec))
        for spec in (*specs, *known.at_start)
    ]
    if args.embedding_model is not None:
        spec = _spec(args, args.embedding_model)
        jobs.append((str(spec.model), partial(models.load_for_embeddings, spec)))
    return jobs


def model_specs(args: argparse.Namespace) -> list[Any]:
    """The models to load. With `small_draft` the additional models are the draft models."""
    config = _for_all_models(args) | parse_overrides(args.overrides, args)
    for name in ("speculative_mode", "prefix_cache_mode", "prefill_mode"):
        if getattr(args, name) is not None:
            config[name] = getattr(args, name)
    config |= {"enable_tracing": True} if args.enable_tracing else {}
    additional = list(args.additional_models)
    if args.speculative_mode == "small_draft":
        config["additional_models"] = additional
        additional = []
    if args.lora_ranks is not None or args.lora:
        config["lora_ranks"] = 64 if args.lora_ranks is None else args.lora_ranks
    names = tuple(dict.fromkeys(args.served_model_name))
    first = replace(_spec(args, None), model=args.model, model_lib=args.model_lib, names=names)
    first = replace(first, adapters=_adapters(args.lora), engine_config=config)
    of_all = {name: value for name, value in config.items() if name != "mmproj"}
    others = [replace(_spec(args, model), engine_config=of_all) for model in additional]
    return [first, *others]


def _adapters(given: list[str]) -> dict[str, str]:
    """`--lora NAME=PATH`."""
    from mlc_llm.serve.model_names import name_and_path

    found = {}
    for text in given:
        if (pair := name_and_path(text)) is None:
            raise InvalidRequestError(f"--lora {text}: must be NAME=PATH", param="lora")
        found[pair[0]] = pair[1]
    return found


def _for_all_models(args: argparse.Namespace) -> dict[str, Any]:
    """The settings of the engines of all models, those that requests load too."""
    if args.prefix_cache_dir is None:
        return {}
    config: dict[str, Any] = {
        "prefix_cache_dir": str(Path(args.prefix_cache_dir).expanduser().absolute())
    }
    if args.prefix_cache_dir_size is not None:
        config["prefix_cache_dir_bytes"] = args.prefix_cache_dir_size
    return config


def _spec(args: argparse.Namespace, model: str | None) -> Any:
    """Combines `MODEL[,LIB]` with the options for all models."""
    from mlc_llm.serve.catalogue import ModelSpec

    path, _, lib = (model or "").partition(",")
    return ModelSpec(
        model=path or None,
        model_lib=lib or None,
        device=args.device,
        mode=args.mode,
        quantization=args.quantization,
        engine_config=_for_all_models(args),
        idle_timeout=args.idle_timeout,
        when_idle=args.when_idle,
    )

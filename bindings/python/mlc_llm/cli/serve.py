"""`mlc_llm serve`: an OpenAI-compatible server."""

from __future__ import annotations

import argparse
import os
from dataclasses import dataclass, replace
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any

from mlc_llm.cli.environment import take_environment
from mlc_llm.cli.output import add_output_options, steps_for
from mlc_llm.cli.serve_checks import check_options
from mlc_llm.cli.serve_files import api_keys_of
from mlc_llm.cli.serve_options import add_serve_options
from mlc_llm.cli.settings import parse_overrides
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
    add_serve_options(parser)
    add_output_options(parser)
    take_environment(parser, "MLC_LLM_SERVE")
    parser.set_defaults(run=run)


def run(args: argparse.Namespace) -> None:
    """Listens, loads the models, and serves until it must stop."""
    # Before the imports, which take a second.
    check_options(args)
    api_keys = api_keys_of(args)
    from mlc_llm.serve.api_prefix import plain_prefix
    from mlc_llm.serve.app import create_app
    from mlc_llm.serve.connections import limit_connections
    from mlc_llm.serve.lifecycle import Drain, Server, listen_config
    from mlc_llm.serve.loading import Loading, LoadingSteps
    from mlc_llm.serve.memory import return_large_buffers
    from mlc_llm.serve.options import ServeOptions
    from mlc_llm.serve.prefill import RemotePrefill
    from mlc_llm.serve.registry import ModelRegistry
    from mlc_llm.serve.remote_pictures import RemotePictures
    from mlc_llm.serve.request_log import log_config

    # Connections have priority over kernels; a model's threads read this (runtime/parallel.h).
    os.environ.setdefault("MLC_COMPUTE_NICE", "5")
    max_connections, backlog = limit_connections(args.max_connections)
    known = known_models(args)
    options = ServeOptions(
        host=args.host,
        allow_hosts=tuple(args.allow_hosts),
        max_connections=max_connections,
        max_total_body_bytes=args.max_total_body_bytes,
        head_timeout=args.head_timeout,
        body_timeout=args.body_timeout,
        api_keys=api_keys,
        api_prefix=plain_prefix(args.api_prefix),
        allow_credentials=args.allow_credentials,
        allow_origins=tuple(args.allow_origins),
        allow_methods=tuple(args.allow_methods),
        allow_headers=tuple(args.allow_headers),
        pictures=RemotePictures(args.allow_picture_hosts),
        prefill=RemotePrefill(args.prefill_from, args.prefill_key, args.prefill_least_tokens),
        enable_debug=args.enable_debug,
        enable_admin=args.enable_admin,
        max_body_bytes=args.max_body_bytes,
        responses_db=Path(args.responses_db) if args.responses_db else None,
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
        config,
        drain,
        models,
        drain_seconds=args.shutdown_timeout,
        uds_mode=args.uds_mode,
        api_prefix=options.api_prefix,
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
    if args.model is None and args.mmproj not in (None, "none"):
        raise InvalidRequestError(
            "--mmproj names the tower of the model on the command line, and there is none; a model "
            "that requests load has the tower beside it, or the one that mmproj in its engine "
            "table of --settings names",
            param="mmproj",
        )
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
    if args.enable_tracing:
        config["enable_tracing"] = True
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
    of_all |= _for_all_models(args)
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
    config: dict[str, Any] = {"mmproj": "none"} if args.mmproj == "none" else {}
    if args.speculative_mode == "disable":  # the other modes are for the first model
        config["speculative_mode"] = "disable"
    if args.prefix_cache_ram is not None:
        config["prefix_cache_ram_bytes"] = args.prefix_cache_ram
    if args.prefix_cache_dir is None:
        return config
    config["prefix_cache_dir"] = str(Path(os.path.expanduser(args.prefix_cache_dir)).absolute())
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

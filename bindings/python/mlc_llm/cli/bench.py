"""`mlc_llm bench serve`: measures an OpenAI-compatible server under load. The other kind is in
`bench_kernels.py`."""

from __future__ import annotations

import argparse
import asyncio
import json
import os
import sys
from pathlib import Path
from typing import Any


def register(subparsers: Any) -> None:
    """Adds the command to the `mlc_llm` parser."""
    from mlc_llm.cli import bench_kernels

    parser = subparsers.add_parser("bench", help="measure a server under load, or kernels")
    kinds = parser.add_subparsers(dest="kind", metavar="KIND", required=True)
    serve = kinds.add_parser(
        "serve",
        help="any OpenAI-compatible server",
        description="Measures an OpenAI-compatible server.",
    )
    serve.add_argument("--base-url", default="http://127.0.0.1:8000/v1", help="(%(default)s)")
    serve.add_argument("--api-key", default=os.environ.get("MLC_LLM_API_KEY"))
    serve.add_argument("--model", help="the model's name (default: the server's own)")
    load = serve.add_mutually_exclusive_group()
    load.add_argument("--concurrency", type=int, help="requests at a time (default: 1)")
    load.add_argument("--request-rate", type=float, help="requests a second, begun at random")
    serve.add_argument("--num-requests", type=int, default=64, help="(%(default)s)")
    serve.add_argument("--warmup", type=int, default=2, help="requests before (%(default)s)")
    serve.add_argument("--dataset", type=Path, help="a ShareGPT JSON file (default: drawn lengths)")
    serve.add_argument("--input-len", type=int, default=128, help="median, in words (%(default)s)")
    serve.add_argument("--output-len", type=int, default=64, help="median, in tokens (%(default)s)")
    serve.add_argument("--spread", type=float, default=0.5, help="of the lengths; 0: all equal")
    serve.add_argument("--temperature", type=float, default=0.0, help="(%(default)s)")
    serve.add_argument(
        "--ignore-eos", action="store_true", help="answers of full length (mlc_llm --enable-debug)"
    )
    serve.add_argument("--seed", type=int, default=0, help="of the load (%(default)s)")
    serve.add_argument("--json", type=Path, help="write the report there")
    serve.add_argument("--plot", type=Path, help="write distributions there, as .png or .svg")
    serve.set_defaults(run=run)
    bench_kernels.register(kinds)


def run(args: argparse.Namespace) -> None:
    """Runs the benchmark; raises MLCError when every request failed."""
    import httpx

    from mlc_llm.bench import client, report
    from mlc_llm.errors import InvalidRequestError, MLCError

    warmup, samples = _samples(args)
    target = client.Target(
        base_url=args.base_url.rstrip("/") + "/",
        api_key=args.api_key,
        model=args.model,
        temperature=args.temperature,
        ignore_eos=args.ignore_eos,
    )
    try:
        records = asyncio.run(_measure(args, target, warmup, samples))
    except (httpx.InvalidURL, UnicodeEncodeError) as error:
        raise InvalidRequestError(f"--base-url or --api-key cannot be sent: {error}") from None
    summary = report.summarize(records)
    print(report.table(summary))
    if args.json is not None:
        args.json.write_text(json.dumps(summary, indent=2) + "\n", encoding="utf-8")
    if args.plot is not None:
        report.plot(records, args.plot)
    if summary["failed"] == summary["requests"]:
        raise MLCError("every request failed")


def _samples(args: argparse.Namespace) -> tuple[list[Any], list[Any]]:
    from mlc_llm.bench import dataset

    positive = ("num_requests", "input_len", "output_len", "concurrency", "request_rate")
    dataset.require_positive(**{name: getattr(args, name) for name in positive})
    not_negative = ("warmup", "spread", "temperature")
    dataset.require_not_negative(**{name: getattr(args, name) for name in not_negative})
    number = args.num_requests + args.warmup
    if args.dataset is not None:
        samples = dataset.read_sharegpt(
            args.dataset, number, output_len=args.output_len, seed=args.seed
        )
    else:
        samples = dataset.synthetic(
            number,
            input_len=args.input_len,
            output_len=args.output_len,
            spread=args.spread,
            seed=args.seed,
        )
    return samples[args.num_requests :], samples[: args.num_requests]


async def _measure(
    args: argparse.Namespace, target: Any, warmup: list[Any], samples: list[Any]
) -> list[Any]:
    from mlc_llm.bench import client

    done = 0

    def progress() -> None:
        nonlocal done
        done += 1
        if sys.stderr.isatty():
            print(f"\r{done}/{len(samples)}", end="", file=sys.stderr, flush=True)

    await client.run(target, warmup, concurrency=1)
    records = await client.run(
        target,
        samples,
        concurrency=args.concurrency,
        request_rate=args.request_rate,
        seed=args.seed,
        progress=progress,
    )
    if sys.stderr.isatty():
        print(file=sys.stderr)
    return records

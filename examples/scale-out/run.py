"""Starts everything: python examples/scale-out/run.py --replicas 2 [-- options of mlc_llm serve]"""

from __future__ import annotations

import argparse
import os
import shlex
import signal
import sys
import threading
from pathlib import Path

HERE = Path(__file__).resolve().parent
# The workers import this folder's modules, and Ray keeps its own counsel.
os.environ["PYTHONPATH"] = os.pathsep.join([str(HERE), os.environ.get("PYTHONPATH", "")])
os.environ.setdefault("RAY_USAGE_STATS_ENABLED", "0")

import ray  # noqa: E402
from ray import serve  # noqa: E402


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--replicas", type=int, default=2)
    parser.add_argument(
        "--prefill-replicas", type=int, default=0, help="that compute the prompts of the others"
    )
    parser.add_argument("--host", default="127.0.0.1")
    parser.add_argument("--port", type=int, default=8000)
    parser.add_argument(
        "--mlc-llm", default="mlc_llm", help="how to call mlc_llm, if it is elsewhere (%(default)s)"
    )
    parser.add_argument("--address", help="of a Ray cluster (default: this machine alone)")
    own, rest = sys.argv[1:], []
    if "--" in own:
        own, rest = own[: own.index("--")], own[own.index("--") + 1 :]
    args = parser.parse_args(own)
    local = {} if args.address else {"object_store_memory": 128 << 20, "include_dashboard": False}
    ray.init(address=args.address, namespace="mlc_llm", log_to_driver=False, **local)
    serve.start(http_options={"host": args.host, "port": args.port})

    from app import build

    url = f"http://{args.host}:{args.port}"
    command = [*shlex.split(args.mlc_llm), "serve", *rest]
    serve.run(build(args.replicas, args.prefill_replicas, url, command))
    print(f"{args.replicas + args.prefill_replicas} replicas running on {url}", flush=True)
    ended = threading.Event()
    for sig in (signal.SIGINT, signal.SIGTERM):
        signal.signal(sig, lambda *_: ended.set())
    ended.wait()
    serve.shutdown()
    ray.shutdown()


if __name__ == "__main__":
    main()

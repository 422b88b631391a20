"""What the options of `mlc_llm serve` may be, from the command line or from variables."""

from __future__ import annotations

import argparse
import math
import os

from mlc_llm.cli.serve_files import check_files
from mlc_llm.errors import InvalidRequestError

_TOTAL_BODY_BYTES = 32 << 20
_MAY_BE_EMPTY = {"overrides", "api_prefix"}
_AT_LEAST = {
    "max_body_bytes": 1, "max_connections": 1, "max_loaded": 1,
    "responses_bytes": 0, "idle_timeout": 0, "shutdown_timeout": 0,
}  # fmt: skip


def check_options(args: argparse.Namespace) -> None:
    """Names the first option that cannot be, before anything is loaded. Raises MLCError."""
    for name, value in vars(args).items():
        values = value if isinstance(value, list) else [value]
        if name not in _MAY_BE_EMPTY and any(isinstance(v, str) and not v.strip() for v in values):
            variables = (f"MLC_LLM_SERVE_{name.upper()}", f"MLC_LLM_{name.upper()}")
            places = [v for v in variables if not os.environ.get(v, "given").strip()]
            place = " and ".join(places) or _flag(name)
            raise InvalidRequestError(f"{place}: must not be empty", param=name)
    _check_range(args, "port", 0 <= args.port <= 65535, "0 .. 65535")
    for name, least in _AT_LEAST.items():
        value = getattr(args, name)
        _check_range(args, name, value is None or least <= value < math.inf, f"at least {least}")
    for name, value in vars(args).items():
        if isinstance(value, float) and name not in _AT_LEAST:  # seconds
            _check_range(args, name, 0 < value < math.inf, "above 0 and finite")
    most = args.max_body_bytes
    if args.max_total_body_bytes is None:
        args.max_total_body_bytes = max(most, _TOTAL_BODY_BYTES)
    fits = most <= args.max_total_body_bytes
    _check_range(args, "max_total_body_bytes", fits, f"at least --max-body-bytes, which is {most}")
    check_files(args)
    if args.prefill_from is not None and args.prefix_cache_mode == "disable":
        raise InvalidRequestError(
            "--prefill-from: its states come into the prefix cache, which --prefix-cache-mode "
            "disable turns off",
            param="prefill_from",
        )


def _check_range(args: argparse.Namespace, name: str, good: bool, words: str) -> None:
    if not good:
        text = f"{_flag(name)} {getattr(args, name)}: must be {words}"
        raise InvalidRequestError(text, param=name)


def _flag(name: str) -> str:
    return "MODEL" if name == "model" else f"--{name.replace('_', '-')}"

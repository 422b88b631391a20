"""`mlc_llm bench kernels`: the time of each kernel of a step, beside what this machine allows."""

from __future__ import annotations

import argparse
import json
import tempfile
from pathlib import Path
from typing import Any

from mlc_llm.cli.output import add_output_options, steps_for
from mlc_llm.errors import InvalidRequestError

_CASES = {"decode 1": (1, 1), "decode 4": (4, 1), "prompt 128": (1, 128), "prompt 512": (1, 512)}


def register(kinds: Any) -> None:
    """Adds the kind to `mlc_llm bench`."""
    parser = kinds.add_parser(
        "kernels", help="the kernels of a model on this CPU", description=__doc__
    )
    parser.add_argument("model", help="as for `mlc_llm compile`")
    parser.add_argument("--model-lib", type=Path, help="its library (default: compiled here)")
    parser.add_argument("--quantization", help="scheme (default: what the config says)")
    parser.add_argument("--opt", default="O2", help="as for `mlc_llm compile` (%(default)s)")
    parser.add_argument("--passes", type=Path, metavar="FILE.py", help="the same")
    parser.add_argument(
        "--cases", default=",".join(_CASES), metavar="CASE,...", help="(default: %(default)s)"
    )
    parser.add_argument(
        "--history",
        type=int,
        help="tokens before those of a decode (512, or what the context holds)",
    )
    parser.add_argument("--seconds", type=float, default=2.0, help="of each case (%(default)s)")
    parser.add_argument("--json", type=Path, metavar="FILE", help="write the figures there")
    parser.add_argument("--plot", type=Path, metavar="FILE", help="write a roofline there, as SVG")
    add_output_options(parser)
    parser.set_defaults(run=run)


def run(args: argparse.Namespace) -> None:
    """Compiles the model, runs its kernels and prints a table for each case."""
    from mlc_llm.bench import kernel_report
    from mlc_llm.cli.compile import folder_of

    cases = _cases(args)
    folder = folder_of(args.model, args.quantization, "cpu", steps_for(args))
    with tempfile.TemporaryDirectory(prefix="mlc_llm-kernels-") as scratch:
        report = _measured(args, folder, Path(scratch) / "model.so", cases)
    print(kernel_report.table(report))
    if args.json is not None:
        args.json.write_text(json.dumps(report, indent=2) + "\n", encoding="utf-8")
    if args.plot is not None:
        kernel_report.plot(report, args.plot)


def _cases(args: argparse.Namespace) -> dict[str, tuple[int, int]]:
    names = [name.strip() for name in args.cases.split(",")]
    for name in names:
        if name not in _CASES:
            known = ", ".join(_CASES)
            raise InvalidRequestError(
                f"--cases: no case '{name}'; there are {known}", param="cases"
            )
    if not args.seconds > 0:  # nor NaN
        raise InvalidRequestError("--seconds must be more than 0", param="seconds")
    return {name: _CASES[name] for name in names}


def _measured(
    args: argparse.Namespace, folder: Path, library: Path, cases: dict[str, tuple[int, int]]
) -> dict[str, Any]:
    from dataclasses import asdict

    from mlc_llm.compiler import machine_limits
    from mlc_llm.compiler.compile import compile_model, library_spec, read_chat_config
    from mlc_llm.compiler.step_shape import Step
    from mlc_llm.compiler.step_times import StepProgram, weight_shapes
    from mlc_llm.compiler.targets import num_threads

    config, steps = read_chat_config(folder), steps_for(args)
    options = {"quantization": args.quantization, "device": "cpu", "opt": args.opt}
    spec = library_spec(config, **options)
    history = _history(args.history, spec.config.context_window_size)
    if args.model_lib is not None:
        library = args.model_lib
    else:
        with steps.step(f"Compiling {args.model}"):
            compile_model(config, output=library, passes=args.passes, **options)
    program = StepProgram(library, *weight_shapes(spec))
    limits = machine_limits.measured()
    found = {}
    for name, (batch, rows) in cases.items():
        with steps.step(f"Running {name}"):
            step = Step(batch, rows, history if rows == 1 else 0)
            try:
                found[name] = [asdict(one) for one in program.times(step, args.seconds)]
            except MemoryError:
                raise InvalidRequestError(
                    f"--history {history}: there is too little memory for so many tokens",
                    param="history",
                ) from None
    after = machine_limits.measured()  # other programs may slow the machine at one of the times
    return {
        "model": args.model,
        "threads": num_threads(),
        "history": history,
        "limits": {name: max(limit, after[name]) for name, limit in limits.items()},
        "cases": found,
    }


def _history(asked: int | None, context: int) -> int:
    most = context - 1  # a decode has a token too
    if asked is None:
        return min(512, most)
    if not 0 <= asked <= most:
        raise InvalidRequestError(
            f"--history must be from 0 to {most}, which the model's context holds", param="history"
        )
    return asked

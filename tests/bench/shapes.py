"""Random models of real shapes at Q4_0 beside llama.cpp: speed, memory and load time.

usage: ./dev bench shapes [--shapes 1B,MoE] [--threads 1,2] [--rounds 5] [--processor-time]
                          [--decode] [--no-speed] [--no-files]

Both programs get the same file: Llama 3.2 1B's shape (0.7 GB), or a mixture of 8 experts, 2 of them
for a token (4 GB; both programs together then need 12 GB of memory). The files stay in
build/shapes. `--processor-time` counts the processor's time instead of the clock's, for one thread
on a busy machine. `--decode` times decode of one sequence alone, in short turns: other users of a
shared machine change the memory's speed within a second, so many rounds say more than long ones.
`tiny` and `tiny-MoE` show that the benchmark itself works.
"""

from __future__ import annotations

import argparse
import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parent))

import file as one_file
from cpu_parts import measure, peer, shapes

from mlc_llm.model_source import resolve_model

CASES = (
    measure.Case("decode", 1, measure.SHORT), measure.Case("decode", 4, measure.SHORT),
    measure.Case("prefill", 512, 0),
)  # fmt: skip
DECODE = (measure.Case("decode", 1, measure.SHORT, steps=6),)


def main() -> None:
    args = _arguments()
    if peer.install() is None:
        raise SystemExit("llama.cpp cannot be built here")
    for name in args.shapes:
        path = shapes.write(peer.ROOT / "build" / "shapes" / f"{name}.gguf", shapes.SHAPES[name])
        print(f"\n{name}: {path.stat().st_size / 1e9:.2f} GB", flush=True)
        ours = measure.ours_with(resolve_model(path), "ours")
        contenders = [ours, measure.peer_of(path, "llama.cpp")]
        if not args.no_speed:
            cases = DECODE if args.decode else CASES
            read = shapes.bytes_per_token(shapes.SHAPES[name])
            one_file.speed(contenders, cases, args, read)
        if not args.no_files:
            one_file.print_files(measure.files(contenders))


def _arguments() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--shapes", type=_names, default=["1B", "MoE"])
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--threads", type=lambda t: [int(n) for n in t.split(",")], default=[1, 2])
    parser.add_argument("--processor-time", action="store_true")
    parser.add_argument("--decode", action="store_true", help="of one sequence, nothing else")
    parser.add_argument("--no-speed", action="store_true")
    parser.add_argument("--no-files", action="store_true", help="without memory and load time")
    return parser.parse_args()


def _names(text: str) -> list[str]:
    names = text.split(",")
    for name in names:
        if name not in shapes.SHAPES:
            raise argparse.ArgumentTypeError(f"{name}: there are {', '.join(shapes.SHAPES)}")
    return names


if __name__ == "__main__":
    main()

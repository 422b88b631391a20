"""Random models of real shapes in GGUF's types beside llama.cpp: speed, memory and load time.

usage: ./dev bench shapes [--shapes 1B,MoE] [--types Q4_0,Q6_K] [--threads 1,2] [--rounds 5]
                          [--processor-time] [--decode] [--no-speed] [--no-files] [--no-peer]

Both programs get the same file: Llama 3.2 1B's shape (0.7 GB at Q4_0), or a mixture of 8 experts, 2
of them for a token (4 GB; both programs together then need 12 GB of memory), or SmolLM2's. The
files stay in build/shapes. `--processor-time` counts the processor's time instead of the clock's,
for one thread on a busy machine. `--decode` times decode of one sequence alone, in short turns:
other users of a shared machine change the memory's speed within a second, so many rounds say more
than long ones.
`tiny` and `tiny-MoE` show that the benchmark itself works.
"""

from __future__ import annotations

import argparse
import itertools
import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parent))

import file as one_file
from cpu_parts import measure, peer, shapes

from mlc_llm.prepare.model_source import resolve_model

CASES = (
    measure.Case("decode", 1, measure.SHORT), measure.Case("decode", 4, measure.SHORT),
    measure.Case("prefill", 512, 0),
)  # fmt: skip
DECODE = (measure.Case("decode", 1, measure.SHORT, steps=6),)


def main() -> None:
    args = _arguments()
    if not args.no_peer and peer.install() is None:
        raise SystemExit("llama.cpp cannot be built here; --no-peer runs without it")
    for name, kind in itertools.product(args.shapes, args.types):
        _run(args, name, kind)


def _run(args: argparse.Namespace, name: str, kind: str) -> None:
    shape = shapes.SHAPES[name]
    path = shapes.write(peer.ROOT / "build" / "shapes" / f"{name}-{kind}.gguf", shape, kind)
    ours = measure.ours_with(resolve_model(path), "ours")
    stored, size = ours.weight_bytes, path.stat().st_size
    print(f"\n{name} {kind}: {size / 1e9:.3f} GB, stored as {stored / size:.3f} of it", flush=True)
    contenders = [ours] if args.no_peer else [ours, measure.peer_of(path, "llama.cpp")]
    if not args.no_speed:
        read = shapes.bytes_per_token(shape, kind)
        one_file.speed(contenders, DECODE if args.decode else CASES, args, read)
    if not args.no_files:
        one_file.print_files(measure.files(contenders))


def _arguments() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--shapes", type=_names, default=["1B", "MoE"])
    parser.add_argument("--types", type=_kinds, default=["Q4_0"])
    parser.add_argument("--no-peer", action="store_true", help="without llama.cpp")
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--threads", type=lambda t: [int(n) for n in t.split(",")], default=[1, 2])
    parser.add_argument("--processor-time", action="store_true")
    parser.add_argument("--decode", action="store_true", help="of one sequence, nothing else")
    parser.add_argument("--no-speed", action="store_true")
    parser.add_argument("--no-files", action="store_true", help="without memory and load time")
    return parser.parse_args()


def _names(text: str) -> list[str]:
    return _known(text, list(shapes.SHAPES))


def _kinds(text: str) -> list[str]:
    return _known(text, list(shapes.KINDS))


def _known(text: str, known: list[str]) -> list[str]:
    names = text.split(",")
    for name in names:
        if name not in known:
            raise argparse.ArgumentTypeError(f"{name}: there are {', '.join(known)}")
    return names


if __name__ == "__main__":
    main()

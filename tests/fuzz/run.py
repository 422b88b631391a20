"""Runs the fuzzers one after the other; `./dev fuzz` builds them first.

usage: ./dev fuzz [target ...] [--seconds 60] [--timeout 60] [--minimize]

Targets are the files fuzz_*.cc (libFuzzer) and fuzz_*.py (atheris) beside this one. Inputs that
lead somewhere new are kept in build/fuzz/corpus/<target>; one that breaks something is written to
build/fuzz/findings, and shrunk with --minimize. A finding is fixed and goes, minimized, into
tests/fuzz/corpus/<target>, which every test run replays.
"""

from __future__ import annotations

import argparse
import importlib.metadata
import json
import os
import subprocess
import sys
import time
from pathlib import Path

HERE = Path(__file__).resolve().parent
ROOT = HERE.parents[1]
BUILD = ROOT / "build" / "fuzz"
ATHERIS = "atheris==3.0.0"
# Time limits are of the clock on the wall, by which an input that takes two seconds takes minutes
# on a machine that does other things too: --timeout there. It is for what hangs.
LIMITS = ["-rss_limit_mb=3000", "-print_final_stats=1"]
MAX_LENGTH = {"stop_matcher": 2048, "gguf": 16384}


def targets() -> dict[str, Path]:
    files = [*HERE.glob("fuzz_*.cc"), *HERE.glob("fuzz_*.py")]
    return {path.stem.removeprefix("fuzz_"): path for path in sorted(files)}


def write_seeds(name: str, folder: Path) -> None:
    """What other fixtures of the repository give to begin from, beside the committed corpus."""
    folder.mkdir(parents=True, exist_ok=True)
    if name != "chat_template":
        return
    conversations = json.loads((ROOT / "tests/fixtures/jinja/conversations.json").read_text())
    context = json.dumps({"messages": next(iter(conversations.values()))
                          if isinstance(conversations, dict) else conversations[0]})  # fmt: skip
    for path in (ROOT / "tests/fixtures/templates").glob("*.jinja"):
        (folder / path.stem).write_bytes(path.read_bytes() + b"\0" + context.encode())


def command_of(name: str, source: Path) -> list[str]:
    if source.suffix == ".cc":
        return [str(BUILD / "core/fuzz" / source.stem)]
    try:
        importlib.metadata.version("atheris")
    except importlib.metadata.PackageNotFoundError:
        subprocess.run([sys.executable, "-m", "pip", "install", "--quiet", ATHERIS], check=True)
    return [sys.executable, str(source)]


def environment() -> dict[str, str]:
    options = "detect_leaks=1:allocator_may_return_null=1:max_allocation_size_mb=2000"
    return {**os.environ, "ASAN_OPTIONS": options, "UBSAN_OPTIONS": "print_stacktrace=1"}


def fuzz(name: str, source: Path, seconds: int, timeout: int) -> list[Path]:
    """The findings."""
    grown, seeds = BUILD / "corpus" / name, BUILD / "seeds" / name
    findings = BUILD / "findings"
    for folder in (grown, findings):
        folder.mkdir(parents=True, exist_ok=True)
    write_seeds(name, seeds)
    before = set(findings.glob(f"{name}-*"))
    dictionary = HERE / "dictionaries" / f"{name}.dict"
    options = [f"-max_total_time={seconds}", f"-artifact_prefix={findings}/{name}-",
               f"-max_len={MAX_LENGTH.get(name, 8192)}", f"-timeout={timeout}",
               f"-report_slow_units={timeout // 2}", *LIMITS]  # fmt: skip
    if dictionary.exists():
        options.append(f"-dict={dictionary}")
    folders = [str(grown), str(HERE / "corpus" / name), str(seeds)]
    begin = time.monotonic()
    status = subprocess.run(
        [*command_of(name, source), *options, *folders], env=environment()
    ).returncode
    found = sorted(set(findings.glob(f"{name}-*")) - before)
    print(f"[fuzz] {name}: {time.monotonic() - begin:.0f} s, {len(list(grown.iterdir()))} inputs, "
          f"exit {status}, findings: {[str(f) for f in found] or 'none'}", flush=True)  # fmt: skip
    if status != 0 and not found:
        raise SystemExit(f"[fuzz] {name}: ended with {status}")
    return found


def minimize(name: str, source: Path, finding: Path) -> None:
    smaller = finding.with_suffix(".min")
    subprocess.run(
        [*command_of(name, source), "-minimize_crash=1", "-max_total_time=60",
         f"-exact_artifact_path={smaller}", str(finding)], env=environment(),
    )  # fmt: skip


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("targets", nargs="*", help=", ".join(targets()))
    parser.add_argument("--seconds", type=int, default=60, help="of each target")
    parser.add_argument("--timeout", type=int, default=60, help="of one input, in seconds")
    parser.add_argument("--minimize", action="store_true")
    args = parser.parse_args()
    unknown = set(args.targets) - set(targets())
    if unknown:
        parser.error(f"unknown target {', '.join(unknown)}; there are {', '.join(targets())}")
    found = []
    for name in args.targets or targets():
        findings = fuzz(name, targets()[name], args.seconds, args.timeout)
        found += findings
        for finding in findings if args.minimize else []:
            minimize(name, targets()[name], finding)
    raise SystemExit(1 if found else 0)


if __name__ == "__main__":
    main()

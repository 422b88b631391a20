"""python -m devtools.wheel [machine ...]: what `./dev wheel` runs in the virtual environment."""

from __future__ import annotations

import sys

from devtools.wheel import build


def main(arguments: list[str]) -> int:
    unknown = [machine for machine in arguments if machine not in build.MACHINES]
    if unknown:
        print(f"[dev] {unknown[0]}: not a machine of this build ({', '.join(build.MACHINES)})")
        return 2
    for machine in arguments or ("x86_64",):
        path = build.wheel(machine)
        print(f"{path.relative_to(build.ROOT)}: {path.stat().st_size / 1e6:.2f} MB")
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))

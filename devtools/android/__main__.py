"""python -m devtools.android [abi ...]: what `./dev build android` runs in the virtual environment.

The result is build/runtimes/android (libraries by ABI, header, AAR, Maven folder).
"""

from __future__ import annotations

import sys

from devtools.android import build, publish


def main(arguments: list[str]) -> int:
    abis = tuple(arguments) or ("arm64-v8a",)
    unknown = [abi for abi in abis if abi not in build.ABIS]
    if unknown:
        print(f"[dev] {unknown[0]}: not an ABI of this build ({', '.join(build.ABIS)})")
        return 2
    for abi in abis:
        for path in build.build(abi):
            print(f"{path.relative_to(build.ROOT)}: {path.stat().st_size / 1e6:.2f} MB")
    for path in publish.publish(abis):
        print(f"{path.relative_to(build.ROOT)}: {path.stat().st_size / 1e6:.2f} MB")
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))

"""python -m devtools.android [--libraries] [abi ...]: what `./dev build android` runs.

The result is build/runtimes/android (libraries by ABI, header, AAR, Maven folder), with these ABIs
alone. `--libraries` stops before that: build/android/<abi>/lib.
"""

from __future__ import annotations

import sys

from devtools.android import build, publish


def main(arguments: list[str]) -> int:
    abis = tuple(one for one in arguments if one != "--libraries") or ("arm64-v8a",)
    unknown = [abi for abi in abis if abi not in build.ABIS]
    if unknown:
        print(f"[dev] {unknown[0]}: not an ABI of this build ({', '.join(build.ABIS)})")
        return 2
    for abi in abis:
        for path in build.build(abi):
            print(f"{path.relative_to(build.ROOT)}: {path.stat().st_size / 1e6:.2f} MB")
    for path in publish.publish(abis) if "--libraries" not in arguments else ():
        print(f"{path.relative_to(build.ROOT)}: {path.stat().st_size / 1e6:.2f} MB")
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))

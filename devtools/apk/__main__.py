"""python -m devtools.apk [--package DIST]: what `./dev app android` runs.

DIST is a folder that `mlc_llm package` made for Android: its config and its models' libraries are
put into the APK. Without it the APK has the config in apps/android/app/src/main/assets.
"""

from __future__ import annotations

import argparse
from pathlib import Path

from devtools.apk import build


def main() -> None:
    parser = argparse.ArgumentParser(prog="./dev app android")
    parser.add_argument("--package", type=Path, help="a folder that `mlc_llm package` made")
    for made in build.make(parser.parse_args().package):
        print(f"{made.relative_to(build.ROOT)}: {made.stat().st_size / 1e6:.2f} MB")


if __name__ == "__main__":
    main()

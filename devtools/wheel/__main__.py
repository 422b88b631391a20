"""python -m devtools.wheel [machine ...]: what `./dev wheel` runs in the virtual environment. On
Linux `macos` and `windows` link the core for those systems, which is no wheel."""

from __future__ import annotations

import platform
import sys
from pathlib import Path

from devtools.wheel import build, macos, windows, windows_extension


def made(machine: str) -> list[Path]:
    """The files for one machine."""
    if machine == "macos":
        return [macos.wheel()] if platform.system() == "Darwin" else macos.linked()
    if machine == "windows":
        linked = [*windows.linked(), *windows.tests(), windows.client()]
        return [*linked, windows_extension.extension()]
    return [build.wheel(machine)]


def main(arguments: list[str]) -> int:
    known = (*build.MACHINES, "macos", "windows")
    unknown = [machine for machine in arguments if machine not in known]
    if unknown:
        print(f"[dev] {unknown[0]}: not a machine of this build ({', '.join(known)})")
        return 2
    own = "macos" if platform.system() == "Darwin" else "x86_64"
    for path in (path for machine in arguments or (own,) for path in made(machine)):
        print(f"{path.relative_to(build.ROOT)}: {path.stat().st_size / 1e6:.2f} MB")
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))

"""Swift's toolchain and the package `bindings/swift`, built once for all tests."""

from __future__ import annotations

import os
import shutil
import subprocess
from pathlib import Path

ROOT = Path(__file__).resolve().parents[3]
PACKAGE = ROOT / "bindings" / "swift"
LIBRARY = Path(os.environ.get("MLC_LLM_LIBRARY", ROOT / "build/dev/core/libmlc_llm.so"))
BUILD = Path(os.environ.get("MLC_LLM_BUILD", ROOT / "build" / "bindings" / "swift"))
# Where the toolchain's archive for Linux is usually unpacked, when it is not on PATH.
USUAL_PLACE = Path("/opt/swift/usr/bin/swift")
# The same in every call: other flags would compile everything again.
FLAGS = ("--disable-sandbox", "-Xswiftc", "-warnings-as-errors")


def find_swift() -> str | None:
    """`swift` on PATH, else in its usual place; of version 6 or later."""
    found = shutil.which("swift") or shutil.which(str(USUAL_PLACE))
    if found is None:
        return None
    version = subprocess.run([found, "--version"], capture_output=True, text=True)
    return found if "Swift version " in version.stdout else None


def environment() -> dict[str, str]:
    """Of the build and of what was built: the core's library is found in both."""
    folders = [str(LIBRARY.parent), os.environ.get("LD_LIBRARY_PATH", "")]
    return {
        **os.environ,
        "MLC_LLM_LIBRARY_DIR": str(LIBRARY.parent),
        "LD_LIBRARY_PATH": os.pathsep.join(filter(None, folders)),
    }


def command(swift: str, verb: str, *options: str, config: str = "debug") -> list[str]:
    """`swift build` or `swift test` of the package."""
    scratch = ("--package-path", str(PACKAGE), "--scratch-path", str(BUILD))
    return [swift, verb, *scratch, "-c", config, *FLAGS, *options]

"""Debian's musl for another processor, unpacked in build/: its loader stands in for Android's when
a library that was made for Android runs under qemu.

root = musl_root("arm64")     # for `qemu-aarch64 -L`
"""

from __future__ import annotations

import shutil
import subprocess
from pathlib import Path

from devtools.android.build import FOLDER


class UnavailableError(Exception):
    """The package cannot be had here."""


def musl_root(architecture: str) -> Path:
    """The folder with lib/ld-musl-*.so.1. The package is fetched once, with apt's lists in a folder
    of their own: this system does not get another architecture."""
    root = FOLDER / "musl" / architecture
    if any(root.glob("lib/ld-musl-*")):
        return root
    if shutil.which("apt-get") is None:
        raise UnavailableError("needs Debian's package musl (apt-get is not here)")
    work = FOLDER / "musl" / "apt"
    for name in ("state/lists/partial", "cache/archives/partial"):
        (work / name).mkdir(parents=True, exist_ok=True)
    options = [f"APT::Architecture={architecture}", f"APT::Architectures={architecture}"]
    options += [f"Dir::State={work / 'state'}", f"Dir::Cache={work / 'cache'}"]
    apt = ["apt-get", "-qq", *(word for option in options for word in ("-o", option))]
    for command in (["update"], ["download", "musl"]):
        done = subprocess.run([*apt, *command], cwd=work, capture_output=True, text=True)
        if done.returncode != 0:
            raise UnavailableError(f"apt-get {command[0]}: {done.stderr.strip()[-300:]}")
    (package,) = work.glob("musl_*.deb")
    subprocess.run(["dpkg", "-x", package, root], check=True)
    shutil.rmtree(work)
    return root

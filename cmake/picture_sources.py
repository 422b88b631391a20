"""Fetches the sources of the libraries that decode pictures (cmake/Pictures.cmake): once, for all
builds of this checkout.

    python cmake/picture_sources.py FOLDER      makes FOLDER/{libjpeg-turbo,libwebp,stb}

libjpeg-turbo and libwebp are Debian's source packages, with Debian's security fixes: apt fetches
them, and checks Debian's signature and the hashes. stb_image.h is in the source distribution of the
PyPI package `libstb`; pip checks its hash (cmake/stb.txt).
"""

from __future__ import annotations

import fcntl
import shutil
import subprocess
import sys
import tarfile
from collections.abc import Sequence
from pathlib import Path

HERE = Path(__file__).parent
PACKAGES = ("libjpeg-turbo", "libwebp")
TOOLS = {"apt-get": "apt", "dpkg-source": "dpkg-dev"}
WITHOUT = (
    "Where they cannot be fetched, unpack the sources of libjpeg-turbo 2.1 and libwebp 1.2 and "
    "stb_image.h 2.30 into folders of these names (libjpeg-turbo, libwebp, stb) of "
    "build/picture_sources, or of a folder that -DMLC_PICTURE_SOURCES=... names."
)


def run(words: Sequence[str | Path], folder: Path) -> None:
    done = subprocess.run([str(word) for word in words], cwd=folder, capture_output=True, text=True)
    if done.returncode != 0:
        raise SystemExit(f"{words[0]} failed: {(done.stdout + done.stderr)[-800:]}\n{WITHOUT}")


# Of each list of packages that this system knows: whose it is, and where it is.
TARGETS = "$(ORIGIN)|$(REPO_URI)|$(RELEASE)|$(COMPONENT)"
KEYS = Path("/usr/share/keyrings/debian-archive-keyring.gpg")


def source_lists() -> str:
    """Lists of sources beside this system's lists of packages, which often has none of its own."""
    command = ["apt-get", "indextargets", "--format", TARGETS, "Created-By: Packages"]
    listed = subprocess.run(command, check=True, capture_output=True, text=True).stdout
    # Before the list of security fixes: what both have, the other may have dropped.
    found = sorted({tuple(line.split("|")) for line in listed.splitlines()}, reverse=True)
    debian = [target for target in found if target[0] == "Debian"]
    signed = f"[signed-by={KEYS}] " if debian and KEYS.exists() else ""
    return "".join(
        f"deb-src {signed}{place} {release} {component}\n"
        for _, place, release, component in debian or found
    )


def debian_sources(work: Path) -> None:
    """Unpacks the packages into folders of their names."""
    for tool, package in TOOLS.items():
        if shutil.which(tool) is None:
            raise SystemExit(f"{tool} is missing (Debian's package {package}).\n{WITHOUT}")
    for folder in ("lists/partial", "cache/archives/partial"):
        (work / folder).mkdir(parents=True)
    listed = work / "sources.list"
    listed.write_text(source_lists())
    options = [
        f"-oDir::Etc::sourcelist={listed}", "-oDir::Etc::sourceparts=/dev/null",
        f"-oDir::State::lists={work / 'lists'}", f"-oDir::Cache={work / 'cache'}",
        "-oAPT::Sandbox::User=root", "-qq",
    ]  # fmt: skip
    run(["apt-get", *options, "update"], work)
    run(["apt-get", *options, "source", *PACKAGES], work)
    for package in PACKAGES:
        (found,) = (path for path in work.glob(f"{package}-*") if path.is_dir())
        found.rename(work / package)


def stb_header(work: Path) -> None:
    pip = [sys.executable, "-m", "pip", "download", "--quiet", "--disable-pip-version-check"]
    pip += ["--no-deps", "--no-binary", "libstb", "--require-hashes", "-d", str(work)]
    run([*pip, "-r", HERE / "stb.txt"], work)
    (archive,) = work.glob("libstb-*.tar.gz")
    (work / "stb").mkdir()
    with tarfile.open(archive) as files:
        (name,) = (n for n in files.getnames() if n.endswith("/third_party/stb/stb_image.h"))
        member = files.extractfile(name)
        assert member is not None
        (work / "stb" / "stb_image.h").write_bytes(member.read())


def main(folder: Path) -> None:
    folder.parent.mkdir(parents=True, exist_ok=True)
    with folder.with_suffix(".lock").open("w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)  # two builds of a checkout may be configured at once
        if folder.is_dir():
            return
        work = folder.with_suffix(".work")
        shutil.rmtree(work, ignore_errors=True)
        work.mkdir()
        debian_sources(work)
        stb_header(work)
        made = folder.with_suffix(".made")
        shutil.rmtree(made, ignore_errors=True)
        made.mkdir()
        for name in (*PACKAGES, "stb"):
            (work / name).rename(made / name)
        made.rename(folder)
        shutil.rmtree(work)


if __name__ == "__main__":
    main(Path(sys.argv[1]).absolute())

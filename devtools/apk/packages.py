"""What the build of the APK takes from Debian: a dexer and the names of Android's framework.

Both left Debian after version 11, so they are not installed: apt downloads them from that version's
archive, checks them by Debian's keys, and they are unpacked into build/apk/debian.

| package | what |
|---|---|
| dalvik-exchange | dx: class files (up to Java 9's) to one DEX file |
| libandroid-23-java | the framework's classes of API 23, to compile against |
"""

from __future__ import annotations

import subprocess
import zipfile
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
FOLDER = ROOT / "build" / "apk" / "debian"
MIRROR = "http://deb.debian.org/debian"
RELEASE = "bullseye"
KEYS = "/usr/share/keyrings/debian-archive-keyring.gpg"
PACKAGES = {"dalvik-exchange": "10.0.0+r36-1", "libandroid-23-java": "6.0.1+r72-6"}
DX = FOLDER / "root/usr/share/java/com.android.dx.jar"
_FRAMEWORK = FOLDER / "root/usr/share/java/com.android.android-23.jar"
FRAMEWORK = FOLDER / "framework.jar"  # without the names of Java, which are older there


def unpacked() -> None:
    """Downloads and unpacks the packages, once."""
    stamp, wanted = FOLDER / "stamp", f"{RELEASE} {sorted(PACKAGES.items())}"
    if stamp.exists() and stamp.read_text() == wanted and DX.exists() and FRAMEWORK.exists():
        return
    for folder in ("lists/partial", "cache/archives/partial", "root"):
        (FOLDER / folder).mkdir(parents=True, exist_ok=True)
    source = FOLDER / "sources.list"
    source.write_text(f"deb [signed-by={KEYS}] {MIRROR} {RELEASE} main\n")
    options = [
        f"-oDir::Etc::sourcelist={source}", "-oDir::Etc::sourceparts=/dev/null",
        f"-oDir::State::lists={FOLDER / 'lists'}", f"-oDir::Cache={FOLDER / 'cache'}",
        "-oAPT::Sandbox::User=root",
    ]  # fmt: skip
    _apt([*options, "-qq", "update"])
    _apt([*options, "-qq", "download", *(f"{n}={v}" for n, v in PACKAGES.items())])
    for archive in FOLDER.glob("*.deb"):
        subprocess.run(["dpkg", "-x", str(archive), str(FOLDER / "root")], check=True)
    _without_java(_FRAMEWORK, FRAMEWORK)
    stamp.write_text(wanted)


def _without_java(source: Path, target: Path) -> None:
    """The JDK checks the names of Java, as those of Java 8: API 26 has them."""
    with zipfile.ZipFile(source) as old, zipfile.ZipFile(target, "w") as new:
        for name in old.namelist():
            if name.endswith(".class") and not name.startswith(("java/", "javax/", "sun/")):
                new.writestr(name, old.read(name))


def _apt(words: list[str]) -> None:
    try:
        done = subprocess.run(["apt-get", *words], cwd=FOLDER, capture_output=True, text=True)
    except FileNotFoundError:
        raise SystemExit(
            "[dev] the APK is built from Debian's packages: apt-get is needed"
        ) from None
    if done.returncode != 0:
        raise SystemExit(
            f"[dev] {' and '.join(PACKAGES)} of Debian {RELEASE} cannot be downloaded from "
            f"{MIRROR}: {done.stderr.strip()[-400:]}"
        )

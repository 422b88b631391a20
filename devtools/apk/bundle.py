"""An Android App Bundle: what Google Play takes in place of an APK.

It is a zip file with one module, `base`, whose manifest and resources are protocol buffers (aapt2
writes them), and two small messages of our own. Their fields are those of bundletool's
config.proto, files.proto and targeting.proto (github.com/google/bundletool).
"""

from __future__ import annotations

from pathlib import Path

from mlc_llm.package.archive import write_zip

BUNDLETOOL = "1.17.2"  # its rules are those that Google Play follows
ABIS = {"arm64-v8a": 3, "x86_64": 5}  # Abi.AbiAlias
PAGE_ALIGNMENT_16K = 2
FOLDERS = {"AndroidManifest.xml": "manifest/", "classes.dex": "dex/"}  # the others stay


def number(field: int, value: int) -> bytes:
    """A field of a message whose value is below 128."""
    return bytes([field << 3, value])


def part(field: int, content: bytes) -> bytes:
    """A text or a message within a message, of less than 128 bytes."""
    return bytes([field << 3 | 2, len(content)]) + content


def config() -> bytes:
    """BundleConfig: libraries are stored in pages of 16 KiB, as in the APK."""
    libraries = number(1, 1) + number(2, PAGE_ALIGNMENT_16K)  # UncompressNativeLibraries
    return part(1, part(2, BUNDLETOOL.encode())) + part(2, part(2, libraries))


def native(abis: list[str]) -> bytes:
    """NativeLibraries: which processor each folder is for."""
    return b"".join(
        part(1, part(1, f"lib/{abi}".encode()) + part(2, part(1, number(1, ABIS[abi]))))
        for abi in abis
    )


def write(output: Path, resources: dict[str, bytes], code: dict[str, bytes]) -> None:
    """`resources`: of `aapt2 link --proto-format`. `code`: the other entries of the APK."""
    entries = {
        f"base/{FOLDERS.get(name, '')}{name}": data for name, data in {**resources, **code}.items()
    }
    abis = sorted({name.split("/")[1] for name in code if name.startswith("lib/")})
    entries |= {"BundleConfig.pb": config(), "base/native.pb": native(abis)}
    write_zip(output, entries, first=("BundleConfig.pb",), stored=())

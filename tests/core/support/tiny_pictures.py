"""Writes tiny_pictures.h: a small picture in each format, with the hash of what Pillow shows.

python tests/core/support/tiny_pictures.py && ./dev lint --fix
"""

from __future__ import annotations

import base64
import sys
from pathlib import Path

import numpy as np
from PIL import Image

HERE = Path(__file__).parent
sys.path.insert(0, str(HERE.parents[1] / "python" / "media"))

HEAD = """// Written by tests/core/support/tiny_pictures.py.
#pragma once

#include <cstdint>

namespace mlc::testing {

struct TinyPicture {
  const char* name;
  int width, height;
  uint64_t hash;  // FNV-1a of the RGB bytes
  const char* base64;
};

inline constexpr TinyPicture kTinyPictures[] = {
"""
TAIL = """};

}  // namespace mlc::testing
"""


def fnv1a(data: bytes) -> int:
    hash_ = 0xCBF29CE484222325
    for byte in data:
        hash_ = (hash_ ^ byte) * 0x100000001B3 % (1 << 64)
    return hash_


def main() -> None:
    from hostile_pictures import entry, exif
    from picture_files import by_pillow, saved, smooth

    image = Image.fromarray(smooth(13, 6))
    see = image.copy()
    see.putalpha(Image.fromarray((np.arange(78) * 3).astype(np.uint8).reshape(6, 13)))
    turned = exif(entry(0x112, 3, 1, b"\6\0\0\0"))
    files = {
        "png": saved(image, "PNG", optimize=True),
        "png_alpha": saved(see, "PNG", optimize=True),
        "png_palette": saved(image.quantize(8), "PNG", optimize=True),
        "jpeg": saved(image, "JPEG", optimize=True),
        "jpeg_progressive": saved(image, "JPEG", progressive=True),
        "jpeg_cmyk": saved(image.convert("CMYK"), "JPEG", optimize=True),
        "jpeg_turned": saved(image, "JPEG", optimize=True, exif=turned),
        "webp": saved(image, "WEBP"),
        "webp_alpha": saved(see, "WEBP"),
        "webp_lossless": saved(image, "WEBP", lossless=True),
        "gif": saved(image.quantize(8), "GIF"),
        "bmp": saved(image.quantize(8), "BMP"),
    }
    text = HEAD
    for name, file in files.items():
        shown = by_pillow(file)
        height, width, _ = shown.shape
        encoded = base64.b64encode(file).decode()
        lines = "\n".join(f'"{encoded[i : i + 90]}"' for i in range(0, len(encoded), 90))
        text += f'{{"{name}", {width}, {height}, {fnv1a(shown.tobytes())}ull, {lines}}},\n'
    (HERE / "tiny_pictures.h").write_text(text + TAIL)


if __name__ == "__main__":
    main()

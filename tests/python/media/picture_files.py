"""Files of pictures, written by Pillow or byte by byte where it writes no such file."""

from __future__ import annotations

import io
import json
import struct
import zlib
from collections.abc import Sequence
from typing import Any

import mlc_core_parts
import numpy as np
from PIL import Image, ImageOps

from mlc_llm._core import CoreError

Array = np.ndarray[Any, np.dtype[np.uint8]]


def smooth(width: int, height: int) -> Array:
    """A picture without edges, RGB."""
    y, x = np.mgrid[0:height, 0:width]
    red, green = x * 255 / max(width - 1, 1), y * 255 / max(height - 1, 1)
    blue = 128 + 100 * np.sin(x / 20) * np.cos(y / 13)
    return np.stack([red, green, blue], -1).astype(np.uint8)


def noise(width: int, height: int, seed: int) -> Array:
    return np.random.default_rng(seed).integers(0, 256, (height, width, 3), dtype=np.uint8)


def saved(image: Image.Image, kind: str, **options: Any) -> bytes:
    file = io.BytesIO()
    image.save(file, kind, **options)
    return file.getvalue()


def chunk(name: bytes, data: bytes) -> bytes:
    """Of a PNG file."""
    return struct.pack(">I", len(data)) + name + data + struct.pack(">I", zlib.crc32(name + data))


def png(
    width: int, height: int, bits: int, colour: int, data: bytes, *extra: bytes, interlace: int = 0
) -> bytes:
    """`data`: the compressed rows. `extra`: chunks before it."""
    header = struct.pack(">IIBBBBB", width, height, bits, colour, 0, 0, interlace)
    parts = [chunk(b"IHDR", header), *extra, chunk(b"IDAT", data), chunk(b"IEND", b"")]
    return b"\x89PNG\r\n\x1a\n" + b"".join(parts)


def png_rows(rows: Sequence[bytes]) -> bytes:
    return zlib.compress(b"".join(b"\0" + row for row in rows))


def bmp(width: int, height: int, bits: int, pixels: bytes, compression: int = 0) -> bytes:
    header = struct.pack("<IiiHHIIiiII", 40, width, height, 1, bits, compression, 0, 0, 0, 0, 0)
    return b"BM" + struct.pack("<IHHI", 54 + len(pixels), 0, 0, 54) + header + pixels


def by_pillow(file: bytes) -> Array:
    """What Pillow shows: turned as EXIF says, alpha over white."""
    image = ImageOps.exif_transpose(Image.open(io.BytesIO(file)))
    if "A" in image.mode or "transparency" in image.info:
        image = image.convert("RGBA")
        image = Image.alpha_composite(Image.new("RGBA", image.size, "white"), image)
    return np.asarray(image.convert("RGB"))


def by_core(file: bytes) -> Array:
    width, height, rgb = mlc_core_parts.decode_picture(file)
    return np.frombuffer(rgb, np.uint8).reshape(height, width, 3)


def to_core(pixels: Array) -> tuple[int, int, bytes]:
    return pixels.shape[1], pixels.shape[0], pixels.tobytes()


def from_core(picture: tuple[int, int, bytes]) -> Array:
    width, height, rgb = picture
    return np.frombuffer(rgb, np.uint8).reshape(height, width, 3)


def refusal(file: bytes) -> str:
    """The reason for which the core does not decode the file."""
    try:
        mlc_core_parts.decode_picture(file)
    except CoreError as error:
        return str(json.loads(str(error))["error"]["code"])
    return ""

"""300 pictures that a stranger may send, made from a seed: odd ones that must be shown right, and
damaged ones that must be refused with a reason."""

from __future__ import annotations

import random
import struct
import zlib
from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np
from picture_files import Array, bmp, by_pillow, chunk, noise, png, png_rows, saved, smooth
from PIL import Image

COUNT = 300
DAMAGED, FOREIGN = "image_parse_error", "unsupported_image_media_type"
LARGE = "image_too_large"


@dataclass(frozen=True)
class Hostile:
    name: str
    file: bytes
    shown: Array | None = None  # what must be seen, if anything is
    reasons: frozenset[str] = frozenset()  # for which it may be refused


def right(name: str, file: bytes, shown: Array) -> Hostile:
    return Hostile(name, file, shown)


def wrong(name: str, file: bytes, *reasons: str) -> Hostile:
    return Hostile(name, file, None, frozenset(reasons))


TURNS = {
    1: lambda a: a,
    2: np.fliplr,
    3: lambda a: np.rot90(a, 2),
    4: np.flipud,
    5: lambda a: np.swapaxes(a, 0, 1),
    6: lambda a: np.rot90(a, -1),
    7: lambda a: np.swapaxes(np.rot90(a, 2), 0, 1),
    8: lambda a: np.rot90(a, 1),
}


def exif(*entries: bytes, order: str = "<") -> bytes:
    """EXIF data whose only list holds these entries."""
    mark = b"II*\0" if order == "<" else b"MM\0*"
    count = struct.pack(order + "H", len(entries))
    return b"Exif\0\0" + mark + struct.pack(order + "I", 8) + count + b"".join(entries) + bytes(4)


def entry(tag: int, kind: int, count: int, value: bytes, order: str = "<") -> bytes:
    return struct.pack(order + "HHI", tag, kind, count) + value


def turned(pixels: Array) -> Iterator[Hostile]:
    image = Image.fromarray(pixels)
    for orientation, turn in TURNS.items():
        for order in "<>":
            value = struct.pack(order + "HH", orientation, 0)
            data = exif(entry(0x112, 3, 1, value, order), order=order)
            for kind, options in (("PNG", {}), ("WEBP", {"lossless": True})):
                yield right(
                    f"{kind} turned {orientation}{order}",
                    saved(image, kind, exif=data, **options), turn(pixels),
                )  # fmt: skip
        data = exif(entry(0x112, 3, 1, struct.pack("<HH", orientation, 0)))
        plain = by_pillow(saved(image, "JPEG"))
        yield right(f"JPEG turned {orientation}", saved(image, "JPEG", exif=data), turn(plain))


def odd_exif(pixels: Array) -> Iterator[Hostile]:
    image = Image.fromarray(pixels)
    orientation = entry(0x112, 3, 1, struct.pack("<HH", 6, 0))
    nan = entry(0x11A, 11, 1, struct.pack("<f", float("nan")))
    far = entry(0x112, 3, 0xFFFFFFFF, struct.pack("<I", 0xFFFFFFF0))
    cases = {
        "NaN beside it": (exif(nan, orientation), 6),
        "NaN as orientation": (exif(entry(0x112, 11, 1, struct.pack("<f", float("nan")))), 1),
        "0": (exif(entry(0x112, 3, 1, bytes(4))), 1),
        "9": (exif(entry(0x112, 3, 1, struct.pack("<HH", 9, 0))), 1),
        "65535": (exif(entry(0x112, 3, 1, b"\xff" * 4)), 1),
        "a count of 4 billion": (exif(far), 1),
        "cut off": (exif(orientation)[:18], 1),
        "no list": (b"Exif\0\0II*\0" + struct.pack("<I", 0xFFFFFFFF), 1),
        "a list in itself": (b"Exif\0\0II*\0" + struct.pack("<I", 0), 1),
        "more entries than bytes": (b"Exif\0\0II*\0\x08\0\0\0\xff\xff" + orientation, 6),
        "no byte order": (b"Exif\0\0XX*\0" + bytes(40), 1),
        "empty": (b"Exif\0\0", 1),
    }
    for name, (data, turn) in cases.items():
        file = bytearray(saved(image, "PNG"))
        file[33:33] = chunk(b"eXIf", data)
        yield right(f"EXIF in PNG: {name}", bytes(file), TURNS[turn](pixels))
        jpeg = saved(image, "JPEG")
        segment = b"\xff\xe1" + struct.pack(">H", len(data) + 2) + data
        shown = TURNS[turn](by_pillow(jpeg))
        yield right(f"EXIF in JPEG: {name}", jpeg[:2] + segment + jpeg[2:], shown)


def depths(pixels: Array) -> Iterator[Hostile]:
    height, width, _ = pixels.shape
    wide = pixels.astype(">u2") * 256 + 77
    alpha = np.full((height, width, 1), 65535, ">u2")
    grey = np.repeat(pixels[..., :1], 3, -1)
    for name, colour, data, shown in (
        ("grey", 0, wide[..., :1], grey),
        ("RGB", 2, wide, pixels),
        ("grey, alpha", 4, np.concatenate([wide[..., :1], alpha], -1), grey),
        ("RGBA", 6, np.concatenate([wide, alpha], -1), pixels),
    ):
        rows = [np.ascontiguousarray(row).astype(">u2").tobytes() for row in data]
        yield right(
            f"PNG of 16 bits, {name}", png(width, height, 16, colour, png_rows(rows)), shown
        )
    for bits in (1, 2, 4):
        levels = pixels[..., 0] >> (8 - bits)
        row_bits = np.unpackbits(levels[..., None], -1)[..., 8 - bits :].reshape(height, -1)
        rows = [row.tobytes() for row in np.packbits(row_bits, -1)]
        shown = np.repeat((levels * (255 // ((1 << bits) - 1)))[..., None], 3, -1)
        yield right(f"PNG grey of {bits} bits", png(width, height, bits, 0, png_rows(rows)), shown)
        palette = noise(1 << bits, 1, bits)[0]
        see = np.arange(1 << bits, dtype=np.uint8) * 80
        extra = [chunk(b"PLTE", palette.tobytes())]
        file = png(width, height, bits, 3, png_rows(rows), *extra)
        yield right(f"PNG palette of {bits} bits", file, palette[levels])
        file = png(width, height, bits, 3, png_rows(rows), *extra, chunk(b"tRNS", see.tobytes()))
        yield right(f"PNG palette of {bits} bits, alpha", file, by_pillow(file))


def kinds(pixels: Array, seed: int) -> Iterator[Hostile]:
    image = Image.fromarray(pixels)
    alpha = Image.fromarray(noise(*image.size, seed)[..., 0])
    see = image.copy()
    see.putalpha(alpha)
    other = image.transpose(Image.Transpose.ROTATE_180)
    many = {"save_all": True, "append_images": [other, image], "duration": 50}
    for name, file in {
        "CMYK": saved(image.convert("CMYK"), "JPEG"),
        "CMYK, progressive": saved(image.convert("CMYK"), "JPEG", progressive=True),
        "grey JPEG": saved(image.convert("L"), "JPEG"),
        "progressive": saved(image, "JPEG", progressive=True),
        "restarts": saved(image, "JPEG", restart_marker_blocks=1),
        "animated GIF": saved(image, "GIF", **many),
        "animated WebP": saved(image, "WEBP", lossless=True, **many),
        "animated WebP, alpha": saved(see, "WEBP", lossless=True, **many),
        "animated PNG": saved(image, "PNG", **many),
        "GIF with a hole": saved(image.quantize(16), "GIF", transparency=3),
        "WebP, alpha": saved(see, "WEBP"),
        "PNG, alpha": saved(see, "PNG"),
        "PNG, grey and alpha": saved(see.convert("LA"), "PNG"),
        "BMP of 32 bits": saved(see, "BMP"),
        "BMP with a palette": saved(image.quantize(16), "BMP"),
        "BMP, black and white": saved(image.convert("1"), "BMP"),
        "BMP, top row first": bmp(
            2, -2, 24, bytes(range(6)) + bytes(2) + bytes(range(6)) + bytes(2)
        ),
        "BMP of 16 bits": bmp(2, 2, 16, b"\x1f\x7c\xe0\x03" * 2),
    }.items():
        yield right(name, file, by_pillow(file))


def foreign() -> Iterator[Hostile]:
    for name, file in {
        "HEIC": b"\0\0\0\x18ftypheic" + bytes(40),
        "AVIF": b"\0\0\0\x18ftypavif" + bytes(40),
        "TIFF": b"II*\0" + bytes(40),
        "TIFF, big": b"MM\0*" + bytes(40),
        "ICO": b"\0\0\1\0\1\0" + bytes(40),
        "PSD": b"8BPS" + bytes(40),
        "JPEG XL": b"\xff\x0a" + bytes(40),
        "JPEG 2000": b"\0\0\0\x0cjP  " + bytes(40),
        "PDF": b"%PDF-1.7\n",
        "SVG": b"<svg width='4'/>",
        "SVG with a head": b"<?xml version='1.0'?><svg/>",
        "BMP of runs": bmp(4, 4, 8, bytes(64), compression=1),
        "BMP with a PNG": bmp(4, 4, 24, bytes(64), compression=5),
    }.items():
        yield wrong(name, file, FOREIGN)
    jpeg = saved(Image.fromarray(smooth(16, 16)), "JPEG")
    at = jpeg.index(b"\xff\xc0")
    for marker, name in ((0xC3, "lossless"), (0xC9, "arithmetic"), (0xC5, "hierarchical")):
        yield wrong(f"JPEG, {name}", jpeg[: at + 1] + bytes([marker]) + jpeg[at + 2 :], FOREIGN)
    yield wrong("JPEG of 12 bits", jpeg[: at + 4] + b"\x0c" + jpeg[at + 5 :], FOREIGN)
    for name, file in {
        "nothing": b"",
        "one byte": b"\xff",
        "text": b"Describe this picture.",
        "HTML": b"<!doctype html><img src=x>",
        "zeros": bytes(1000),
        "WAV": b"RIFF\x24\0\0\0WAVEfmt " + bytes(40),
        "PNG's name alone": b"\x89PNG\r\n\x1a\n",
        "JPEG's name alone": b"\xff\xd8\xff",
        "GIF's name alone": b"GIF89a",
        "WebP's name alone": b"RIFF\4\0\0\0WEBP",
        "BMP's name alone": b"BM" + bytes(30),
        "PNG with a JPEG inside": b"\x89PNG\r\n\x1a\n" + jpeg,
    }.items():
        yield wrong(name, file, DAMAGED)


def bombs() -> Iterator[Hostile]:
    row = zlib.compress(bytes(100))
    for width, height in ((30000, 30000), (32769, 1), (1, 1 << 30), (0x7FFFFFFF, 0x7FFFFFFF)):
        yield wrong(f"PNG of {width} x {height}", png(width, height, 8, 2, row), LARGE)
    yield wrong("PNG of 16 bits that takes 2 GB", png(8000, 8000, 16, 6, row), LARGE)
    yield wrong("PNG with sides below 0", png(0xFFFFFFFF, 0xFFFFFFFF, 8, 2, row), DAMAGED)
    packer = zlib.compressobj(9)
    large = b"".join(packer.compress(bytes(1 << 20)) for _ in range(256)) + packer.flush()
    yield wrong("PNG that inflates to 256 MiB", png(10, 10, 8, 2, large), DAMAGED)
    yield wrong("PNG with too few rows", png(8000, 8000, 8, 2, row), DAMAGED)
    notes = chunk(b"zTXt", b"a\0\0" + large)
    picture = smooth(1, 1)
    rows = png_rows([picture.tobytes()])
    yield right("PNG with a note of 256 MiB", png(1, 1, 8, 2, rows, notes), picture)
    jpeg = saved(Image.fromarray(smooth(16, 16)), "JPEG", progressive=True)
    at = jpeg.index(b"\xff\xc2")
    for side in (65500, 40000):
        size = struct.pack(">HH", side, side)
        yield wrong(f"JPEG of {side} x {side}", jpeg[: at + 5] + size + jpeg[at + 9 :], LARGE)
    at = jpeg.index(b"\xff\xda")
    scan = jpeg[at : jpeg.index(b"\xff\xc4", at)]
    yield right("JPEG of 90 scans", jpeg[:at] + scan * 80 + jpeg[at:], by_pillow(jpeg))
    yield wrong("JPEG of 2000 scans", jpeg[:at] + scan * 2000 + jpeg[at:], DAMAGED)
    gif = saved(Image.fromarray(smooth(16, 16)), "GIF")
    yield wrong("GIF of 65535 x 65535", gif[:6] + b"\xff" * 4 + gif[10:], LARGE)
    yield wrong("GIF with a frame outside", gif[:6] + b"\4\0\4\0" + gif[10:], DAMAGED)
    yield wrong("BMP of 40000 x 40000", bmp(40000, 40000, 24, bytes(64)), LARGE, DAMAGED)
    yield wrong("BMP of -2147483648 rows", bmp(4, -(1 << 31), 24, bytes(64)), LARGE, DAMAGED)
    yield wrong("BMP with 32 colours of 200 bits", bmp(4, 4, 200, bytes(640)), DAMAGED)
    webp = saved(Image.fromarray(smooth(16, 16)), "WEBP", lossless=True)
    at = webp.index(b"VP8L") + 9
    yield wrong("WebP of 16384 x 16384", webp[:at] + b"\xff" * 3 + b"\x0f" + webp[at + 4 :], LARGE)
    for name, file in {
        "PNG": png(0, 4, 8, 2, row),
        "PNG, no rows": png(4, 0, 8, 2, row),
        "GIF": gif[:6] + bytes(4) + gif[10:],
        "BMP": bmp(0, 4, 24, bytes(64)),
        "BMP, no rows": bmp(4, 0, 24, bytes(64)),
        "BMP, less than none": bmp(-4, 4, 24, bytes(64)),
        "JPEG": jpeg.replace(struct.pack(">HH", 16, 16), bytes(4), 1),
    }.items():
        yield wrong(f"zero sides: {name}", file, DAMAGED)


def bases(pixels: Array) -> dict[str, bytes]:
    image = Image.fromarray(pixels)
    return {
        "PNG": saved(image, "PNG"),
        "JPEG": saved(image, "JPEG"),
        "progressive JPEG": saved(image, "JPEG", progressive=True),
        "WebP": saved(image, "WEBP"),
        "lossless WebP": saved(image, "WEBP", lossless=True),
        "GIF": saved(image, "GIF"),
        "BMP": saved(image, "BMP"),
        "BMP with a palette": saved(image.quantize(16), "BMP"),
    }


def cut_off(pixels: Array, random_: random.Random) -> Iterator[Hostile]:
    """A file's beginning: refused, or the whole picture when only its end mark is missing."""
    for name, file in bases(pixels).items():
        whole = by_pillow(file)
        for length in (*random_.sample(range(12, len(file) - 8), 6), len(file) - 1):
            yield Hostile(f"{name} cut at {length}", file[:length], whole, frozenset({DAMAGED}))


def damaged_sums(pixels: Array) -> Iterator[Hostile]:
    file = bytearray(saved(Image.fromarray(pixels), "PNG"))
    for at in (18, file.index(b"IDAT") + 40, len(file) - 1):
        copy = bytearray(file)
        copy[at] ^= 1
        yield wrong(f"PNG with a wrong byte at {at}", bytes(copy), DAMAGED)


def damaged(pixels: Array, random_: random.Random) -> Iterator[Hostile]:
    """Without end: a few bytes of a file are others. It is shown somehow, or refused."""
    files = list(bases(pixels).items())
    number = 0
    while True:
        name, file = files[number % len(files)]
        number += 1
        copy = bytearray(file)
        for _ in range(random_.randint(1, 6)):
            at = random_.randrange(len(copy))
            copy[at : at + random_.choice((0, 1, 1, 2))] = random_.randbytes(random_.randint(0, 2))
        yield wrong(f"damaged {name} {number}", bytes(copy), "", DAMAGED, FOREIGN, LARGE)


def hostile_pictures(seed: int) -> list[Hostile]:
    random_ = random.Random(seed)
    pixels = (smooth(40, 27) // 2 + noise(40, 27, seed) // 2).astype(np.uint8)
    made = [
        *turned(pixels), *odd_exif(pixels), *depths(pixels), *kinds(pixels, seed), *foreign(),
        *bombs(), *cut_off(pixels, random_), *damaged_sums(pixels),
    ]  # fmt: skip
    endless = damaged(pixels, random_)
    return [*made, *(next(endless) for _ in range(COUNT - len(made)))]

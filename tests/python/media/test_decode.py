"""Picture files to pixels, as Pillow shows them."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path
from typing import Any

import mlc_core_parts
import numpy as np
import pytest
from hostile_pictures import COUNT, hostile_pictures
from picture_files import Array, by_core, by_pillow, noise, refusal, saved, smooth
from PIL import Image

MODES = [
    ("PNG", "RGB", {}), ("PNG", "L", {}), ("PNG", "1", {}), ("PNG", "P", {}), ("PNG", "RGBA", {}),
    ("JPEG", "RGB", {"quality": 80}), ("JPEG", "RGB", {"quality": 92, "subsampling": 0}),
    ("JPEG", "RGB", {"subsampling": 1}), ("JPEG", "RGB", {"progressive": True}),
    ("JPEG", "L", {}), ("JPEG", "CMYK", {}), ("WEBP", "RGB", {}), ("WEBP", "RGBA", {}),
    ("WEBP", "RGB", {"lossless": True}), ("GIF", "P", {}), ("BMP", "RGB", {}), ("BMP", "P", {}),
]  # fmt: skip


@pytest.mark.parametrize(("kind", "mode", "options"), MODES)
@pytest.mark.parametrize("pixels", [smooth(317, 203), noise(317, 203, 1)], ids=["smooth", "noise"])
def test_every_byte_is_pillows(
    kind: str, mode: str, options: dict[str, Any], pixels: Array
) -> None:
    image = Image.fromarray(pixels)
    image.putalpha(Image.fromarray(noise(317, 203, 2)[..., 0]))
    file = saved(image if mode == "RGBA" else image.convert("RGB").convert(mode), kind, **options)
    assert np.array_equal(by_core(file), by_pillow(file))
    assert mlc_core_parts.picture_size(file) == (317, 203)


def test_hostile_pictures_are_shown_right_or_refused_with_a_reason() -> None:
    pictures = hostile_pictures(seed=5)
    assert len(pictures) == COUNT == len({picture.name for picture in pictures})
    for picture in pictures:
        reason = refusal(picture.file)
        if reason or picture.shown is None:
            assert reason in picture.reasons, picture.name
        else:
            assert np.array_equal(by_core(picture.file), picture.shown), picture.name


MEASURE = """
import resource
from hostile_pictures import hostile_pictures
from picture_files import refusal
pictures = hostile_pictures(seed=5)
before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
for picture in pictures:
    refusal(picture.file)
print(resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - before)
"""


def test_no_hostile_picture_takes_much_memory() -> None:
    """The largest picture that is shown has 40 x 40 pixels; bombs would be gigabytes."""
    command = [sys.executable, "-c", MEASURE]
    done = subprocess.run(
        command, cwd=Path(__file__).parent, check=True, capture_output=True, text=True
    )
    assert int(done.stdout) < 48 << 10  # KiB

"""Resizing and what follows, byte by byte as Pillow and Hugging Face's processors do."""

from __future__ import annotations

from typing import Any

import mlc_core_parts
import numpy as np
import pytest
from hf_processors_rs import AutoImageProcessor
from picture_files import Array, from_core, noise, smooth, to_core
from PIL import Image

FILTERS = {
    "bilinear": Image.Resampling.BILINEAR,
    "bicubic": Image.Resampling.BICUBIC,
    "lanczos": Image.Resampling.LANCZOS,
}
BACKENDS = {"torch": "torchvision", "pillow": "pil"}
PLAIN = {"image_mean": [0.0, 0.0, 0.0], "image_std": [1.0, 1.0, 1.0]}
CLIP = {
    "image_mean": [0.48145466, 0.4578275, 0.40821073],
    "image_std": [0.26862954, 0.26130258, 0.27577711],
}


def sizes(seed: int, count: int) -> list[tuple[int, int, int, int]]:
    random = np.random.default_rng(seed)
    return [tuple(map(int, random.integers(1, 260, 4))) for _ in range(count)]  # type: ignore[misc]


def resized(pixels: Array, width: int, height: int, name: str, rule: str) -> Array:
    made = mlc_core_parts.resize_picture(to_core(pixels), width, height, name, rule)
    return from_core(made)


def processed(pixels: Array, backend: str, config: dict[str, Any]) -> np.ndarray:
    """[3, height, width] of float32."""
    full = {"do_rescale": True, "do_normalize": True, "rescale_factor": 1 / 255, **config}
    made = AutoImageProcessor.from_dict(full, backend=backend)
    return np.asarray(made([pixels], input_data_format="channels_last")[0])


@pytest.mark.parametrize("name", FILTERS)
def test_the_rule_of_pillow_13(name: str) -> None:
    for number, (width, height, to_width, to_height) in enumerate(sizes(1, 30)):
        pixels = noise(width, height, number)
        want = Image.fromarray(pixels).resize((to_width, to_height), FILTERS[name])
        got = resized(pixels, to_width, to_height, name, "pillow13")
        assert np.array_equal(got, np.asarray(want)), (width, height, to_width, to_height)


@pytest.mark.parametrize("rule", BACKENDS)
@pytest.mark.parametrize("name", FILTERS)
def test_the_rules_of_torch_and_of_older_pillow(name: str, rule: str) -> None:
    for number, (width, height, to_width, to_height) in enumerate(sizes(2, 30)):
        pixels = noise(width, height, number) if number % 2 else smooth(width, height)
        config = {
            "image_processor_type": "SiglipImageProcessor", "resample": int(FILTERS[name]),
            "size": {"width": to_width, "height": to_height}, **PLAIN,
        }  # fmt: skip
        want = np.rint(processed(pixels, BACKENDS[rule], config).transpose(1, 2, 0) * 255)
        got = resized(pixels, to_width, to_height, name, rule)
        assert np.array_equal(got, want), (width, height, to_width, to_height)


@pytest.mark.parametrize(("width", "height"), [(301, 144), (90, 250), (64, 64), (100, 101)])
def test_a_whole_processor(width: int, height: int) -> None:
    """CLIP's: the short side, the middle, the mean."""
    pixels, side = noise(width, height, 3), 64
    config = {
        "image_processor_type": "CLIPImageProcessor", "resample": 3, "do_center_crop": True,
        "size": {"shortest_edge": side}, "crop_size": {"width": side, "height": side}, **CLIP,
    }  # fmt: skip
    want = processed(pixels, "torchvision", config)
    short, long = min(width, height), max(width, height)
    other = side * long // short
    shape = (side, other) if width < height else (other, side)
    picture = mlc_core_parts.resize_picture(to_core(pixels), *shape, "bicubic", "torch")
    window = mlc_core_parts.picture_centre(picture, side, side)
    picture = mlc_core_parts.look_at_picture(picture, window, [0, 0, 0])
    values = mlc_core_parts.normalize_picture(picture, CLIP["image_mean"], CLIP["image_std"])
    got = np.frombuffer(values, np.float32).reshape(3, side, side)
    assert np.abs(got - want).max() < 1e-6


@pytest.mark.parametrize(
    "window", [(3, 2, 4, 5), (-3, -2, 20, 17), (-30, 0, 5, 5), (8, 6, 40, 3), (0, 0, 11, 9)]
)
def test_a_window_crops_and_pads(window: tuple[int, int, int, int]) -> None:
    pixels, margin = noise(11, 9, 4), 50
    fill = np.array([7, 8, 9], np.uint8)
    plane = np.tile(fill, (9 + 2 * margin, 11 + 2 * margin, 1))
    plane[margin : margin + 9, margin : margin + 11] = pixels
    left, top, width, height = window
    want = plane[top + margin : top + margin + height, left + margin : left + margin + width]
    got = mlc_core_parts.look_at_picture(to_core(pixels), window, fill.tolist())
    assert np.array_equal(from_core(got), want)

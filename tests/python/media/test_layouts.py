"""From a picture to a tower's patches, as Hugging Face's processors do it."""

from __future__ import annotations

import json
import math
from typing import Any

import mlc_core_parts
import numpy as np
import pytest
from hf_processors_rs import AutoImageProcessor
from picture_files import noise, smooth, to_core

CLIP = {
    "mean": [0.48145466, 0.4578275, 0.40821073],
    "std": [0.26862954, 0.26130258, 0.27577711],
}
HALVES = {"mean": [0.5] * 3, "std": [0.5] * 3}
SHAPES = [(64, 64), (301, 80), (70, 260), (9, 7)]
FILTERS = {"lanczos": 1, "bilinear": 2, "bicubic": 3}


def settings(layout: str, colours: dict[str, Any] = HALVES, **numbers: Any) -> str:
    common = {"filter": "bicubic", "patch_size": 4, "merge": 2}
    return json.dumps(
        {"layout": layout, "patch_order": "channel_row_column", **colours, **common, **numbers}
    )


def patches(config: str, pixels: np.ndarray, detail: str = "auto") -> np.ndarray:
    """[n, 3, side, side]"""
    side = json.loads(config)["patch_size"]
    values, positions = mlc_core_parts.picture_patches(config, to_core(pixels), detail)
    found = np.frombuffer(values, np.float32).reshape(-1, 3, side, side)
    assert len(positions) == 2 * len(found)
    return found


def rows(config: str, pixels: np.ndarray, detail: str = "auto") -> int:
    pieces = mlc_core_parts.picture_pieces(config, pixels.shape[1], pixels.shape[0], detail)
    return sum(count for _, count in pieces)


def processed(pixels: np.ndarray, config: dict[str, Any], colours: dict[str, Any]) -> Any:
    full = {
        "do_rescale": True, "do_normalize": True, "rescale_factor": 1 / 255,
        "image_mean": colours["mean"], "image_std": colours["std"], **config,
    }  # fmt: skip
    made = AutoImageProcessor.from_dict(full, backend="torchvision")
    return made([pixels], input_data_format="channels_last")


def resized(pixels: np.ndarray, width: int, height: int, name: str) -> np.ndarray:
    config = {
        "image_processor_type": "SiglipImageProcessor", "resample": FILTERS[name],
        "size": {"width": width, "height": height},
    }  # fmt: skip
    made = np.asarray(processed(pixels, config, {"mean": [0.0] * 3, "std": [1.0] * 3})[0])
    return np.rint(made.transpose(1, 2, 0) * 255).astype(np.uint8)


def in_blocks(pixels: np.ndarray, side: int, merge: int, colours: dict[str, Any]) -> np.ndarray:
    """The patches of [height, width, 3]: blocks of merge * merge neighbours are adjacent."""
    values = (pixels / np.float32(255) - np.float32(colours["mean"])) / np.float32(colours["std"])
    height, width = pixels.shape[0] // (side * merge), pixels.shape[1] // (side * merge)
    shape = values.reshape(height, merge, side, width, merge, side, 3)
    return shape.transpose(0, 3, 1, 4, 6, 2, 5).reshape(-1, 3, side, side)


def check(got: np.ndarray, want: np.ndarray, colours: dict[str, Any]) -> None:
    """At least 99 of 100 pixels are equal, and none differs by more than 1/255."""
    assert got.shape == want.shape
    scale = np.array(colours["std"])[:, None, None] * 255
    differ = np.abs(got - want) * scale
    assert differ.max() < 1.01
    assert (differ < 0.01).mean() >= 0.99


@pytest.mark.parametrize(("width", "height"), SHAPES)
def test_multiples_are_qwens(width: int, height: int) -> None:
    low, high = 1024, 16384
    config = settings("multiples", CLIP, min_pixels=low, max_pixels=high)
    pixels = noise(width, height, 1)
    made = processed(
        pixels,
        {
            "image_processor_type": "Qwen2VLImageProcessor", "patch_size": 4, "merge_size": 2,
            "temporal_patch_size": 2, "min_pixels": low, "max_pixels": high, "resample": 3,
        },
        CLIP,
    )  # fmt: skip
    want = np.asarray(made["pixel_values"]).reshape(-1, 3, 2, 4, 4)[:, :, 0]
    check(patches(config, pixels), want, CLIP)
    assert rows(config, pixels) == np.prod(np.asarray(made["image_grid_thw"])[0]) // 4


@pytest.mark.parametrize(("width", "height"), SHAPES)
def test_stretched_is_siglips(width: int, height: int) -> None:
    config = settings("stretched", size=[48, 48], filter="bilinear")
    pixels = smooth(width, height)
    want = in_blocks(resized(pixels, 48, 48, "bilinear"), 4, 2, HALVES)
    check(patches(config, pixels), want, HALVES)
    assert rows(config, pixels) == 36


@pytest.mark.parametrize(("width", "height"), SHAPES)
def test_cropped_is_clips(width: int, height: int) -> None:
    config = settings("cropped", CLIP, shortest_edge=48, crop=[48, 48])
    pixels = noise(width, height, 2)
    made = processed(
        pixels,
        {
            "image_processor_type": "CLIPImageProcessor", "resample": 3, "do_center_crop": True,
            "size": {"shortest_edge": 48}, "crop_size": {"width": 48, "height": 48},
        },
        CLIP,
    )  # fmt: skip
    values = np.asarray(made[0]).transpose(1, 2, 0)
    pixel = values * np.float32(CLIP["std"]) + np.float32(CLIP["mean"])
    check(patches(config, pixels), in_blocks(pixel * 255, 4, 2, CLIP), CLIP)


def idefics(pixels: np.ndarray, longest: int, tile: int, split: bool) -> list[np.ndarray]:
    """The views of Idefics3ImageProcessor, and with them the grid: [rows, columns, pictures]."""
    height, width = pixels.shape[:2]
    ratio = width / height
    if width >= height:
        width, height = longest, int(longest / ratio)
        height += height % 2
    else:
        width, height = int(longest * ratio), longest
        width += width % 2
    whole = resized(pixels, max(width, 1), max(height, 1), "lanczos")
    if not split:
        return [resized(whole, tile, tile, "lanczos")]
    height, width = whole.shape[:2]
    ratio = width / height
    if width >= height:
        width = math.ceil(width / tile) * tile
        height = math.ceil(int(width / ratio) / tile) * tile
    else:
        height = math.ceil(height / tile) * tile
        width = math.ceil(int(height * ratio) / tile) * tile
    whole = resized(whole, width, height, "lanczos")
    tiles = [
        whole[y : y + tile, x : x + tile]
        for y in range(0, height, tile)
        for x in range(0, width, tile)
    ]
    return [*tiles, resized(whole, tile, tile, "lanczos")]


@pytest.mark.parametrize("detail", ["auto", "low"])
@pytest.mark.parametrize(("width", "height"), SHAPES)
def test_tiles_are_smolvlms(width: int, height: int, detail: str) -> None:
    config = settings("tiles", tile=48, longest_edge=144, filter="lanczos", columns=12)
    pixels = noise(width, height, 3)
    views = idefics(pixels, 144, 48, detail == "auto")
    want = np.concatenate([in_blocks(view, 4, 2, HALVES) for view in views])
    check(patches(config, pixels, detail), want, HALVES)
    assert rows(config, pixels, detail) == 36 * len(views)

"""What a model says of a picture, from the picture's file on: NumPy's tower and decoder give the
engine's log probabilities, of the first token and of 16 greedy ones."""

from __future__ import annotations

import io
import itertools
import json
import sys
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import mlc_core_parts
import numpy as np
import pytest
from PIL import Image

from mlc_llm import MLCEngine
from mlc_llm.compiler import models, quantization, reference
from mlc_llm.compiler.convert.weights import as_in_files, convert_weights
from mlc_llm.compiler.layers.pictures import with_pictures
from mlc_llm.compiler.models.text_part import text_part
from mlc_llm.compiler.spec.part import PictureRows
from mlc_llm.prepare.model_source import resolve_model

TESTS = Path(__file__).parents[1]
sys.path[:0] = [str(TESTS / "compiler" / "support"), str(TESTS / "convert")]

import tiny_families  # noqa: E402
import tiny_pictures  # noqa: E402
import tower_numpy  # noqa: E402

Array = np.ndarray[Any, Any]
SIDE = 48  # of a view: a picture of this size is not resized
# Where it is another one.
SIDES = {
    **dict.fromkeys(("lfm2_vl", "internvl_chat", "pixtral", "mistral3"), 32),
    "gemma4": 96,
    "minicpmv": 24,
}
TEXT = "What is it?"
# What stands for a picture of one view, with "*" for a row and "#" for its number.
EXPANDED = {
    "smolvlm": f"<fake_token_around_image><global-img>{16 * '*'}<fake_token_around_image>",
    "gemma3": f"\n\n<start_of_image>{16 * '*'}<end_of_image>\n\n",
    "llava": 64 * "*",
    "internvl_chat": f"<img>{16 * '*'}</img>",
    "lfm2_vl": f"<|image_start|>{16 * '*'}<|image_end|>",
    "pixtral": "[IMG_BREAK]".join(8 * ["********"]) + "[IMG_END]",
    "mistral3": "[IMG_BREAK]".join(4 * ["****"]) + "[IMG_END]",
    "gemma4": f"<|image>{64 * '*'}<image|>",
    "minicpmv": f"<image_id>#</image_id><image>{6 * '*'}</image>",
}
# test_picture_chats.py asks the others.
USUAL = ("lfm2_vl", "llava", "minicpmv", "pixtral")
TOP, TOKENS = 5, 16


@dataclass(frozen=True)
class Model:
    case: str
    folder: Path
    engine: MLCEngine
    detail: str = "low"

    @property
    def config(self) -> dict[str, Any]:
        return tiny_pictures.config(self.case)

    def picture_rows(self, picture: Array) -> Array:
        """(rows, hidden)"""
        colours = tiny_pictures.processor(self.config)
        mean, std = np.array(colours["image_mean"]), np.array(colours["image_std"])
        pixels = ((picture / 255 - mean) / std).transpose(2, 0, 1)
        return tower_numpy.rows(self.config, tiny_pictures.weights(self.config), pixels[None])

    def prepared(self, pictures: list[Array]) -> tuple[Any, dict[str, Array], list[int], int]:
        """For NumPy: the decoder, its parameters, the ids of the prompt, and the number of words. A
        picture's rows are further words of the vocabulary."""
        text = text_part(self.config)
        assert text is not None
        family, typed = models.get(text["model_type"]), models.config_from_hf(text)
        spec: Any = family.decoder(typed)
        source = tiny_families.Source(tiny_pictures.weights(self.config))
        weights = as_in_files(family.weight_map(typed), source.tensors())
        made = tiny_families.Collector()
        convert_weights(source, weights, quantization.get("q0f32"), made, lambda _: None)
        params = dict(made.arrays)
        name = f"{spec.names.get('embedding', 'model.embed_tokens')}.weight"
        rows = [self.picture_rows(picture) / spec.embedding_scale for picture in pictures]
        words = len(params[name])
        params[name] = np.concatenate([params[name], *rows])
        inputs = "model.embed_tokens_per_layer.weight"  # layers get those of the token 0
        if inputs in params:
            first = params[inputs][:1].repeat(sum(map(len, rows)), 0)
            params[inputs] = np.concatenate([params[inputs], first])
        ids = self._ids([self.expanded(len(some)) for some in rows], words)
        assert max(ids) == words + sum(len(some) for some in rows) - 1
        return spec, params, ids, words

    def logprobs(self, pictures: list[Array]) -> Array:
        """NumPy's, of the first token of the answer."""
        return self._next(*self.prepared(pictures))

    def greedy(self, pictures: list[Array], count: int) -> list[float]:
        """NumPy's log probabilities of its likeliest tokens, one behind the other."""
        spec, params, ids, words = self.prepared(pictures)
        found = []
        for _ in range(count):
            last = self._next(spec, params, ids, words)
            found.append(float(last.max()))
            ids.append(int(last.argmax()))
        return found

    def _next(self, spec: Any, params: dict[str, Array], ids: list[int], words: int) -> Array:
        if self.case == "gemma3":
            spec = with_pictures(spec, PictureRows(see_each_other=True))
        step = {"last_seen": np.array(tower_numpy.last_seen(ids, words))}
        last = reference.logits(spec, params, ids, step=step)[-1][:words]
        return np.asarray(last - last.max() - np.log(np.exp(last - last.max()).sum()))

    def expanded(self, rows: int) -> str:
        return EXPANDED[self.case]

    def _ids(self, pictures: list[str], words: int) -> list[int]:
        word = tiny_pictures.row_word(self.case)
        marker = tiny_pictures.TOKENS.index(word)
        shown = [one.replace("*", word).replace("#", str(i)) for i, one in enumerate(pictures)]
        parts = [part for one in shown for part in (TEXT, one)]
        between = "\n" if self.case in tiny_pictures.OF_TEXTS else ""
        prompt = f"<|im_start|>user:{between.join(parts)}<end_of_utterance>\nassistant:"
        tokenizer = mlc_core_parts.Tokenizer((self.folder / "tokenizer.json").read_text())
        tokens = tokenizer.encode(prompt, add_special_tokens=True)
        rows = itertools.count(words)
        return [next(rows) if token == marker else token for token in tokens]

    def answer(self, pictures: list[Array], count: int = 1) -> list[float]:
        """The engine's, of the likeliest first tokens; or of the tokens of an answer, if it has
        more than one."""
        parts: list[Any] = []
        for picture in pictures:
            url = {"url": png(picture), "detail": self.detail}
            parts += [{"type": "text", "text": TEXT}, {"type": "image_url", "image_url": url}]
        answer = self.engine.chat.completions.create(
            messages=[{"role": "user", "content": parts}],
            max_tokens=count, temperature=0.0, logprobs=True, top_logprobs=TOP,
            debug_config={"ignore_eos": count > 1},
        )  # fmt: skip
        logprobs = answer.choices[0].logprobs
        assert logprobs is not None and logprobs.content is not None
        if count > 1:
            return [token.logprob for token in logprobs.content]
        return [token.logprob for token in logprobs.content[0].top_logprobs]


def png(picture: Array) -> bytes:
    file = io.BytesIO()
    Image.fromarray(picture).save(file, "PNG")
    return file.getvalue()


def drawn(seed: int, side: int) -> Array:
    return np.random.default_rng(seed).integers(0, 256, (side, side, 3), dtype=np.uint8)


@pytest.fixture(scope="module", params=EXPANDED)
def model(
    request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory
) -> Iterator[Model]:
    if request.param not in USUAL and not request.config.getoption("--long"):
        pytest.skip("compiles a library for each family; run with --long")
    folder = tmp_path_factory.mktemp("pictures") / request.param
    tiny_pictures.write_hf_folder(folder, request.param)
    if request.param not in SIDES:
        sizes = folder / "preprocessor_config.json"
        size = {"longest_edge": SIDE} if request.param == "smolvlm" else SIDE
        own = {"size": size, "crop_size": SIDE}
        sizes.write_text(json.dumps(json.loads(sizes.read_text()) | own))
    resolved = resolve_model(str(folder), quantization="q0f32")
    with MLCEngine(resolved.folder) as engine:
        yield Model(request.param, Path(resolved.folder), engine)


@pytest.mark.parametrize("seeds", [[1], [2], [3, 4]])
def test_numpy_says_the_same(model: Model, seeds: list[int]) -> None:
    side = SIDES.get(model.case, SIDE)
    pictures = [drawn(seed, side) for seed in seeds]
    want = np.sort(model.logprobs(pictures))[::-1][:TOP]
    np.testing.assert_allclose(model.answer(pictures), want, atol=2e-3)
    if len(seeds) > 1:
        greedy = model.greedy(pictures, TOKENS)
        np.testing.assert_allclose(model.answer(pictures, TOKENS), greedy, atol=2e-3)
    other = np.sort(model.logprobs([drawn(9, side) for _ in seeds]))[::-1][:TOP]
    assert np.abs(other - want).max() > 0.05, "the picture counts"

"""`engine.embeddings` and `engine.completions`, on the fake device and on the default model."""

from __future__ import annotations

import asyncio
import base64
import struct
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from mlc_llm import AsyncMLCEngine, MLCEngine
from mlc_llm.errors import InvalidRequestError
from mlc_llm.prepare.model_source import ResolvedModel

FAKE = Path(__file__).parents[1] / "fixtures" / "fake-model"
TEXTS = [
    "The cat sleeps.",
    "A cat is asleep on the sofa, and nothing in the house will wake it before the evening.",
    "Interest rates rose by half a percent in the third quarter.",
    "x",
]


@pytest.fixture(scope="module")
def fake() -> Iterator[MLCEngine]:
    with MLCEngine(FAKE, device="fake") as engine:
        yield engine


def vectors(engine: MLCEngine, texts: Any, **options: Any) -> list[str]:
    """As base64, in which every bit shows."""
    answer = engine.embeddings.create(input=texts, encoding_format="base64", **options)
    assert [item.index for item in answer.data] == list(range(len(answer.data)))
    return [str(item.embedding) for item in answer.data]


def unpacked(text: str) -> list[float]:
    data = base64.b64decode(text, validate=True)
    return list(struct.unpack(f"<{len(data) // 4}f", data))


def test_numbers_and_base64_say_the_same(fake: MLCEngine) -> None:
    numbers = fake.embeddings.create(input="ba ba")
    assert isinstance(numbers.data[0].embedding, list)
    assert numbers.model == "fake-model" and numbers.object == "list"
    packed = unpacked(vectors(fake, "ba ba")[0])
    as_float32 = [struct.unpack("<f", struct.pack("<f", x))[0] for x in numbers.data[0].embedding]
    assert packed == as_float32
    assert sum(x * x for x in packed) == pytest.approx(1)


def test_dimensions_are_the_first_ones_at_length_one(fake: MLCEngine) -> None:
    whole, short = (unpacked(vectors(fake, "ba", dimensions=n)[0]) for n in (16, 5))
    scale = sum(x * x for x in whole[:5]) ** 0.5
    assert short == pytest.approx([x / scale for x in whole[:5]])


def test_a_wrong_parameter_is_told(fake: MLCEngine) -> None:
    with pytest.raises(TypeError, match="inputs"):
        fake.embeddings.create(inputs="a")  # type: ignore[call-arg]
    with pytest.raises(InvalidRequestError) as error:
        fake.embeddings.create(input=["a", "", "b"])
    assert error.value.param == "input[1]"


def test_the_async_engine_embeds_and_continues() -> None:
    async def run() -> tuple[list[Any], str, str]:
        async with AsyncMLCEngine(FAKE, device="fake") as engine:
            calls = [engine.embeddings.create(input=f"ba {i % 3}") for i in range(9)]
            answers = await asyncio.gather(*calls)
            options: dict[str, Any] = {"prompt": "ba", "seed": 3, "max_tokens": 20}
            whole = await engine.completions.create(**options)
            stream = await engine.completions.create(**options, stream=True)
            text = "".join([chunk.choices[0].text async for chunk in stream])
            return [a.data[0].embedding for a in answers], whole.choices[0].text, text

    embedded, whole, streamed = asyncio.run(run())
    assert embedded[:3] == embedded[3:6] == embedded[6:] and embedded[0] != embedded[1]
    assert whole and streamed == whole


def test_completions_of_several_prompts(fake: MLCEngine) -> None:
    answer = fake.completions.create(prompt=["ba", "de"], max_tokens=5, seed=1, echo=True)
    assert [c.text[:2] for c in answer.choices] == ["ba", "de"]
    options: dict[str, Any] = {"max_tokens": 4000, "seed": 1, "debug_config": {"ignore_eos": True}}
    with fake.completions.create(prompt="ba", stream=True, **options) as stream:
        assert next(stream).choices[0].text


@pytest.mark.parametrize("pooling", ["mean", "last"])
def test_a_vector_depends_on_its_text_alone(default_model: ResolvedModel, pooling: str) -> None:
    """Bit for bit: in chunks of any size, in a list or alone, beside answers, cached or not."""
    found = []
    for chunk, cache in ((1024, "disable"), (16, "radix"), (48, "disable")):
        config = {
            "embedding_pooling": pooling, "prefill_chunk_size": chunk, "prefix_cache_mode": cache
        }  # fmt: skip
        with MLCEngine(
            default_model.folder, model_lib=default_model.model_lib, engine_config=config
        ) as engine:
            found.append(vectors(engine, TEXTS))
            beside = engine.completions.create(
                prompt=TEXTS[1], temperature=0, max_tokens=24, stream=True,
                debug_config={"ignore_eos": True},
            )  # fmt: skip
            next(beside)
            found.append([vectors(engine, text)[0] for text in reversed(TEXTS)][::-1])
            assert sum(1 for _ in beside) > 5
    assert all(one == found[0] for one in found[1:])


def test_texts_of_one_subject_are_near(default_model: ResolvedModel) -> None:
    with MLCEngine(default_model.folder, model_lib=default_model.model_lib) as engine:
        cat, sofa, rates, _ = (unpacked(v) for v in vectors(engine, TEXTS))
    assert len(cat) == 576

    def cosine(a: list[float], b: list[float]) -> float:
        return sum(x * y for x, y in zip(a, b, strict=True))

    assert cosine(cat, sofa) > cosine(cat, rates) + 0.02

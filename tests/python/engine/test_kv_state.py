"""The state of a conversation is saved by one process and found by another."""

from __future__ import annotations

import asyncio
import json
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
from test_prefix_cache import engine_of

from mlc_llm import AsyncMLCEngine, MLCEngine, plan
from mlc_llm.errors import InvalidRequestError, MLCError, UnsupportedError
from mlc_llm.prepare.model_source import ResolvedModel

MESSAGES = [
    {"role": "system", "content": "You are a helpful assistant who answers in one sentence."},
    {"role": "user", "content": "Why is the sky blue?"},
]

SAVE = """
import json, sys
from mlc_llm import MLCEngine
folder, library, path, messages = sys.argv[1:]
with MLCEngine(folder, model_lib=library, device="cpu") as engine:
    saved = engine.save_kv(json.loads(messages), path)
    print(saved.tokens, saved.bytes)
"""


def ask(engine: MLCEngine) -> tuple[str, int]:
    """A greedy answer, and how many tokens of the prompt were found."""
    completion: Any = engine.chat.completions.create(
        messages=MESSAGES, temperature=0, max_tokens=24
    )
    cached = completion.usage.prompt_tokens_details.cached_tokens or 0
    return completion.choices[0].message.content, cached


def save_elsewhere(model: ResolvedModel, path: Path) -> tuple[int, int]:
    arguments = [model.folder, model.model_lib, path, json.dumps(MESSAGES)]
    done = subprocess.run(
        [sys.executable, "-c", SAVE, *map(str, arguments)],
        capture_output=True,
        text=True,
        timeout=300,
        check=True,
    )
    tokens, size = map(int, done.stdout.split())
    return tokens, size


def test_another_process_finds_it(default_model: ResolvedModel, tmp_path: Path) -> None:
    path = tmp_path / "chat.kv"
    tokens, size = save_elsewhere(default_model, path)
    assert path.stat().st_size == size
    with engine_of(default_model) as engine:
        cold = ask(engine)
    with engine_of(default_model) as engine:
        assert engine.load_kv(path).tokens == tokens
        warm = ask(engine)
    assert cold[1] == 0
    assert warm == (cold[0], tokens - 1)


def test_async_and_what_is_refused(
    tiny_model: ResolvedModel, default_model: ResolvedModel, tmp_path: Path
) -> None:
    path = tmp_path / "chat.kv"

    async def save() -> int:
        async with AsyncMLCEngine(
            tiny_model.folder, model_lib=tiny_model.model_lib, device="cpu"
        ) as engine:
            tokens = (await engine.save_kv(MESSAGES, path)).tokens
            assert (await engine.load_kv(path)).tokens == tokens
            return tokens

    assert asyncio.run(save()) > 0
    with engine_of(default_model) as engine:
        with pytest.raises(InvalidRequestError, match="another model's weights"):
            engine.load_kv(path)
    with engine_of(tiny_model) as engine:
        content = bytearray(path.read_bytes())
        content[-20] ^= 1
        path.write_bytes(content)
        with pytest.raises(MLCError, match="damaged"):
            engine.load_kv(path)
    with engine_of(tiny_model, prefix_cache_mode="disable") as engine:
        with pytest.raises(InvalidRequestError, match="prefix_cache_mode"):
            engine.save_kv(MESSAGES, path)


def test_a_state_of_8_bits(tiny_model: ResolvedModel, tmp_path: Path) -> None:
    """It is smaller, it is found again, and a library of another precision refuses it."""
    path, config = tmp_path / "q8.kv", {"kv_cache_dtype": "q8"}
    with MLCEngine(tiny_model.folder, device="cpu", engine_config=config) as engine:
        cold = ask(engine)
        size = engine.save_kv(MESSAGES, path).bytes
    with MLCEngine(tiny_model.folder, device="cpu", engine_config=config) as engine:
        tokens = engine.load_kv(path).tokens
        assert ask(engine) == (cold[0], tokens - 1)
    with engine_of(tiny_model) as engine:
        assert size < 0.75 * engine.save_kv(MESSAGES, tmp_path / "own.kv").bytes
        with pytest.raises(InvalidRequestError, match="another model library"):
            engine.load_kv(path)
    small = plan(tiny_model.folder, device="cpu", engine_config=config)
    large = plan(tiny_model.folder, model_lib=tiny_model.model_lib, device="cpu")
    assert small.kv_cache_dtype == "q8"
    assert small.kv_bytes_per_token < 0.75 * large.kv_bytes_per_token
    with pytest.raises(UnsupportedError, match="keeps keys and values as") as error:
        engine_of(tiny_model, kv_cache_dtype="q8")
    assert error.value.param == "kv_cache_dtype"


def test_nothing_of_another_chat_is_saved(tiny_model: ResolvedModel, tmp_path: Path) -> None:
    """Pages are shared and copied whole: behind a chat's last token may stand what others said."""

    def files_after(others: int, folder: Path) -> list[bytes]:
        folder.mkdir()
        with engine_of(tiny_model) as engine:
            for other in range(others):
                said = f"{'the sea ' * (8 + other)}and what nobody else may read"
                messages: Any = [{"role": "user", "content": said}]
                engine.chat.completions.create(messages=messages, max_tokens=1)
            for words in range(1, 9):
                chat: Any = [{"role": "user", "content": "the sea " * words}]
                engine.save_kv(chat, folder / f"{words}.kv")
        return [(folder / f"{words}.kv").read_bytes() for words in range(1, 9)]

    assert files_after(8, tmp_path / "after others") == files_after(0, tmp_path / "alone")

"""Pictures in `mlc_llm chat`: their paths in a line, what is said of them, and what is sent."""

from __future__ import annotations

import base64
import json
import shutil
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from mlc_llm.cli.chat_pictures import dropped, paths_in
from mlc_llm.cli.chat_session import ChatSession
from mlc_llm.cli.settings import ChatSettings
from mlc_llm.errors import CorruptFileError, InvalidRequestError, MLCError, UnsupportedError
from mlc_llm.sdk.core_engine import CoreEngine

FAKE = Path(__file__).parents[2] / "fixtures" / "fake-model"
TEMPLATE = (
    "{% for m in messages %}{% if m.content is string %}{{ m.content }}{% else %}"
    "{% for part in m.content %}{% if part.type == 'image' %}<|endoftext|>"
    "{% else %}{{ part.text }}{% endif %}{% endfor %}{% endif %}{% endfor %}"
)
PNG = base64.b64decode(
    "iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAAAAAA6fptVAAAACklEQVR4nGNgAAAAAgABSK+kcQAAAABJRU5ErkJggg=="
)


def seeing_model(folder: Path) -> Path:
    """The fake model with a token for pictures, which makes it see."""
    shutil.copytree(FAKE, folder)
    for name, more in (
        ("mlc-chat-config.json", {"image_token_id": 496}),
        ("tokenizer_config.json", {"chat_template": TEMPLATE}),
    ):
        path = folder / name
        path.write_text(json.dumps({**json.loads(path.read_text()), **more}))
    return folder


@pytest.mark.parametrize("text", ["~nobody-here/cat.png", "file://[x", "'~nobody-here/a b.png'"])
def test_a_mistyped_path_is_a_path(text: str) -> None:
    assert [path.is_file() for path in paths_in(text)] == [False]
    assert dropped(text) == []


class Watched:
    """An engine whose requests are kept."""

    def __init__(self, engine: CoreEngine) -> None:
        self._engine = engine
        self.requests: list[dict[str, Any]] = []

    def __getattr__(self, name: str) -> Any:
        return getattr(self._engine, name)

    def stream(self, route: str, request: dict[str, Any]) -> Any:
        self.requests.append(request)
        return self._engine.stream(route, request)


@pytest.fixture(scope="module")
def model(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return seeing_model(tmp_path_factory.mktemp("chat") / "sees")


def made(model: Path) -> CoreEngine:
    return CoreEngine(
        model, model_lib=None, device="fake", mode="interactive", quantization=None,
        engine_config=None,
    )  # fmt: skip


@pytest.fixture(scope="module")
def core(model: Path) -> Iterator[CoreEngine]:
    engine = made(model)
    yield engine
    engine.close()


@pytest.fixture
def engine(core: CoreEngine) -> Watched:
    return Watched(core)


@pytest.fixture
def cat(tmp_path: Path) -> Path:
    path = tmp_path / "my cat.png"
    path.write_bytes(PNG)
    return path


def chat(engine: Any) -> ChatSession:
    return ChatSession(engine, system=None, settings=ChatSettings(), max_tokens=4)


def test_paths_are_blanks_apart_quoted_escaped_or_urls(cat: Path) -> None:
    other = cat.with_name("dog.JPG")
    other.write_bytes(PNG)
    escaped = str(cat).replace(" ", "\\ ")
    for line, paths in (
        (str(cat), [cat]), (f"'{cat}'", [cat]), (f'"{cat}" {other} ', [cat, other]),
        (escaped, [cat]), (f"{escaped} '{other}'", [cat, other]), (cat.as_uri(), [cat]),
        (str(other), [other]),
    ):  # fmt: skip
        assert paths_in(line.strip()) == paths and dropped(line) == paths, line
    text = cat.with_name("note.txt")
    text.write_text("x")
    for line in (
        "", "what is in my cat.png", f"see {cat}", f"{cat} and more", f"'{cat}", "/help",
        "/reset", str(text), str(cat.parent), f"{cat} {text}", "it's cat.png", "/no/such/cat.png",
        "~nobody-of-this-name/cat.png", "/\0.png", "/" + "a" * 5000 + ".png", "/" * 100_000,
    ):  # fmt: skip
        assert dropped(line) == [], line


def test_a_picture_goes_with_the_next_message(
    engine: Watched, cat: Path, capfd: pytest.CaptureFixture[str]
) -> None:
    session = chat(engine)
    session.take(f"/image '{cat}'")
    session.take(str(cat))  # dropped
    assert capfd.readouterr().err.splitlines() == ["my cat.png: 67 bytes, 4 tokens"] * 2
    session.take("What is this?")
    session.take("And now?")
    first, second = (request["messages"] for request in engine.requests)
    part = {"type": "image_url", "image_url": {"url": PNG}}
    assert first[0]["content"] == [part, part, {"type": "text", "text": "What is this?"}]
    assert second[0] == first[0] and second[2] == {"role": "user", "content": "And now?"}


def test_a_saved_chat_has_the_paths(engine: Watched, cat: Path, tmp_path: Path) -> None:
    session = chat(engine)
    session.take(f"/image {cat}")
    session.take("Look")
    session.take(f"/save {tmp_path / 'talk.json'}")
    saved = json.loads((tmp_path / "talk.json").read_text())
    assert saved["messages"][0] == {"role": "user", "content": "Look", "images": [str(cat)]}
    later = chat(engine)
    later.take(f"/load {tmp_path / 'talk.json'}")
    later.take("Again")
    assert engine.requests[1]["messages"][0] == engine.requests[0]["messages"][0]
    cat.unlink()
    with pytest.raises(MLCError, match="there is no picture .*my cat.png"):
        later.take("Once more")
    saved["messages"][0]["images"] = [3]
    (tmp_path / "wrong.json").write_text(json.dumps(saved))
    with pytest.raises(CorruptFileError):
        later.take(f"/load {tmp_path / 'wrong.json'}")


def test_what_is_no_picture_is_said_at_once(engine: Watched, cat: Path) -> None:
    session = chat(engine)
    damaged = cat.with_name("damaged.png")
    damaged.write_bytes(PNG[:20])
    for line in (str(damaged), f"/image {damaged}", f"/image {cat} {damaged}"):
        with pytest.raises(InvalidRequestError) as refused:
            session.take(line.replace("my cat", "my\\ cat"))
        assert refused.value.code == "image_parse_error"
    with pytest.raises(MLCError, match="none.png"):
        session.take("/image none.png")
    with pytest.raises(InvalidRequestError, match="/image needs a file"):
        session.take("/image")
    session.take(str(cat))
    session.take("/reset")
    session.take("Look")
    assert engine.requests[-1]["messages"] == [{"role": "user", "content": "Look"}]


def test_a_model_without_a_tower_says_so(cat: Path) -> None:
    engine = made(FAKE)
    with pytest.raises(UnsupportedError, match="fake-model reads text only"):
        chat(engine).take(str(cat))
    engine.close()


def test_one_prompt_with_pictures(mlc_llm: Any, model: Path, cat: Path) -> None:
    command = ("chat", str(model), "--device", "fake", "--set", "max_tokens=4", "-p", "Look")
    seen = mlc_llm(*command, "--image", str(cat), "--image", str(cat))
    assert seen.returncode == 0, seen.stderr
    assert seen.stderr.count("my cat.png: 67 bytes, 4 tokens") == 2
    assert "tokens" not in seen.stdout and seen.stdout != mlc_llm(*command).stdout
    absent = mlc_llm(*command, "--image", "none.png")
    assert absent.returncode != 0 and "none.png" in absent.stderr
    blind = mlc_llm("chat", str(FAKE), *command[2:], "--image", str(cat))
    assert blind.returncode != 0 and "reads text only" in blind.stderr


def test_show_says_what_a_model_takes(mlc_llm: Any, model: Path) -> None:
    for folder, taken in ((model, "text, image"), (FAKE, "text")):
        shown = mlc_llm("show", str(folder), "--device", "fake")
        assert shown.returncode == 0 and f"takes: {taken}\n" in shown.stdout, shown

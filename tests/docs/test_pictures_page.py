"""The blocks of docs/pictures.md, on the fake model with a tower."""

from __future__ import annotations

import base64
import json
import shutil
import subprocess
import sys
from pathlib import Path

import pytest
import snippets
from serving import serving

sys.path.append(str(snippets.ROOT / "tests/python/convert"))

import tiny_pictures  # noqa: E402

FAKE = snippets.ROOT / "tests" / "fixtures" / "fake-model"
PAGE = "docs/pictures.md"
TEMPLATE = (
    "{% for part in messages[-1].content %}{% if part.type == 'image' %}<|endoftext|>"
    "{% else %}{{ part.text }}{% endif %}{% endfor %}"
)
PNG = base64.b64decode(
    "iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAAAAAA6fptVAAAACklEQVR4nGNgAAAAAgABSK+kcQAAAABJRU5ErkJggg=="
)
BLOCKS = [s for s in snippets.all_snippets() if s.page == PAGE and s.test is not None]


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A reader's folder: MODEL, which sees, and pictures of a cat."""
    folder = tmp_path_factory.mktemp("pictures")
    shutil.copytree(FAKE, folder / "MODEL")
    for name, more in (
        ("mlc-chat-config.json", {"image_token_id": 496}),
        ("tokenizer_config.json", {"chat_template": TEMPLATE}),
    ):
        path = folder / "MODEL" / name
        path.write_text(json.dumps({**json.loads(path.read_text()), **more}))
    for name in ("cat.png", "cat.jpg"):
        (folder / name).write_bytes(PNG)
    return folder


def text_of(language: str, word: str) -> str:
    (text,) = (b.text for b in BLOCKS if b.language == language and word in b.text)
    return text


def test_the_chat_says_what_the_picture_takes(folder: Path) -> None:
    command = text_of("sh", "mlc_llm chat").replace(
        "mlc_llm chat", f"{sys.executable} -m mlc_llm chat --device fake --set max_tokens=8"
    )
    done = subprocess.run(
        command, shell=True, cwd=folder, capture_output=True, text=True, stdin=subprocess.DEVNULL
    )
    assert done.returncode == 0, done.stderr
    assert "cat.jpg: 67 bytes, 4 tokens" in done.stderr and len(done.stdout) > 4


def test_the_program_answers(
    folder: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(folder)
    source = text_of("python", "picture").replace('"MODEL"', '"MODEL", device="fake"')
    names: dict[str, object] = {}
    exec(compile(source, PAGE, "exec", dont_inherit=True), names)
    names["engine"].terminate()  # type: ignore[attr-defined]
    assert " tokens\n" in capsys.readouterr().out


def test_a_tower_is_converted_with_weights_of_8_bits(tmp_path: Path) -> None:
    tiny_pictures.write_hf_folder(tmp_path / "MODEL")
    command = text_of("sh", "--tower-quantization").replace(
        "mlc_llm ", f"{sys.executable} -m mlc_llm "
    )
    done = subprocess.run(["bash", "-ec", command], cwd=tmp_path, capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    folder = tmp_path / "dist/MODEL-MLC"
    chat = json.loads((folder / "mlc-chat-config.json").read_text())
    assert chat["tower_quantization"] == "q8f32_1"
    assert b"fc1.q_weight" in (folder / "tensor-cache.json").read_bytes()


def test_the_request_is_answered(folder: Path, tmp_path: Path) -> None:
    if shutil.which("curl") is None:
        pytest.skip("curl is not installed")
    command = [sys.executable, "-m", "mlc_llm", "serve", "MODEL", "--device", "fake", "--port", "0"]
    with serving(command, tmp_path / "log", cwd=folder) as url:
        text = text_of("sh", "curl").replace("http://localhost:8000", url)
        done = subprocess.run(["bash", "-c", text], cwd=folder, capture_output=True, text=True)
    answer = json.loads(done.stdout)
    assert answer["usage"]["prompt_tokens"] > 4, answer

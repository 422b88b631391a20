"""The files of examples/open-webui and examples/continue: valid, and the server answers them."""

from __future__ import annotations

import re
import shlex
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import httpx
import pytest
import yaml

ROOT = Path(__file__).resolve().parents[2]
EXAMPLES = ROOT / "examples"
sys.path.append(str(ROOT / "tests" / "docs"))

import fake_roles  # noqa: E402
from serving import PATIENCE, serving  # noqa: E402

CHAT = {"messages": [{"role": "user", "content": "Hi"}], "max_tokens": 4, "stream": True}


def config(name: str) -> Any:
    return yaml.safe_load((EXAMPLES / name).read_text(encoding="utf-8"))


def command_of(page: str, models: Path) -> list[str]:
    """The page's `mlc_llm serve`, on the fake model and on a free port."""
    text = (EXAMPLES / page / "README.md").read_text(encoding="utf-8")
    found = re.search(r"^mlc_llm (serve .*)$", text, re.MULTILINE)
    assert found is not None
    words = [str(fake_roles.FAKE) if word == "MODEL" else word for word in shlex.split(found[1])]
    words = [str(models / w.split("/")[-1]) if w.startswith("HF://") else w for w in words]
    if str(fake_roles.FAKE) not in words:
        words.append(str(fake_roles.FAKE))
    return [sys.executable, "-m", "mlc_llm", *words, "--device", "fake", "--port", "0"]


@pytest.fixture
def models(tmp_path: Path) -> Path:
    fake_roles.write_roles(tmp_path)
    return tmp_path


@pytest.fixture
def open_webui(models: Path) -> Iterator[str]:
    with serving(command_of("open-webui", models), models / "log") as url:
        yield url.replace("0.0.0.0", "127.0.0.1")


def test_open_webui_is_answered_by_the_name_that_its_container_uses(open_webui: str) -> None:
    service = config("open-webui/compose.yaml")["services"]["open-webui"]
    variables = service["environment"]
    address = httpx.URL(variables["OPENAI_API_BASE_URL"])
    assert (address.host, address.port) == ("host.docker.internal", 8000)
    assert f"{address.host}:host-gateway" in service["extra_hosts"]
    headers = {
        "Authorization": f"Bearer {variables['OPENAI_API_KEY']}",
        "Host": f"{address.host}:{address.port}",
    }
    with httpx.Client(base_url=open_webui + address.path, headers=headers, timeout=PATIENCE) as c:
        model = c.get("/models").raise_for_status().json()["data"][0]["id"]
        answer = c.post("/chat/completions", json={**CHAT, "model": model}).raise_for_status()
        assert answer.text.rstrip().endswith("data: [DONE]")
        assert c.get("/models", headers={"Host": "evil.example"}).status_code == 403


@pytest.fixture
def for_continue(models: Path) -> Iterator[str]:
    with serving(command_of("continue", models), models / "log") as url:
        yield url


def test_continue_is_answered_in_each_role(for_continue: str) -> None:
    file = config("continue/config.yaml")
    assert file["schema"] == "v1" and file["name"] and file["version"]
    asked: set[str] = set()
    for model in file["models"]:
        assert model["provider"] == "openai"
        path = httpx.URL(model["apiBase"]).path
        headers = {"Authorization": f"Bearer {model['apiKey']}"}
        bodies: dict[str, Any] = {
            "/chat/completions": {**CHAT, "model": model["model"]},
            "/embeddings": {"input": ["def main():"], "model": model["model"]},
        }
        route = "/embeddings" if "embed" in model["roles"] else "/chat/completions"
        answer = httpx.post(
            f"{for_continue}{path}{route}", json=bodies[route], headers=headers, timeout=PATIENCE
        )
        assert answer.status_code == 200, answer.text
        asked.add(route)
    assert asked == {"/embeddings", "/chat/completions"}

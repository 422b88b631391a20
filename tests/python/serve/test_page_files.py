"""The routes of the page: its files, its policy, and what it asks about the server. No browser."""

from __future__ import annotations

from pathlib import Path

import httpx
import pytest

from mlc_llm.serve import page_routes

from .conftest import KEY, fake_model, get, post, started_server

POLICY = "Content-Security-Policy"


def test_the_page_is_open_and_its_questions_need_the_key(url: str) -> None:
    assert get(f"{url}/").text.startswith("<!doctype html>")
    assert get(f"{url}/page/app.js").headers["content-type"].startswith("text/javascript")
    assert get(f"{url}/page-info").status_code == 401
    info = get(f"{url}/page-info", headers={"Authorization": f"Bearer {KEY}"}).json()
    model = {"id": "fake-model", "context_window_size": 8192, "takes_pictures": False}
    model["defaults"] = {"temperature": 1.0, "top_p": 1.0, "context": 8192}
    assert info == {"models": [model], "can_load": False, "loading": None}


@pytest.mark.parametrize("path", ["/", "/page/app.js", "/page/css/layout.css", "/page/icon.svg"])
def test_every_file_comes_with_the_policy(url: str, path: str) -> None:
    headers = get(url + path).headers
    words = headers[POLICY].split("; ")
    assert "default-src 'none'" in words and "script-src 'self'" in words
    assert "style-src 'self'" in words and "frame-ancestors 'none'" in words
    assert not any("unsafe" in word or "http" in word or "*" in word for word in words)
    assert headers["X-Content-Type-Options"] == "nosniff"


@pytest.mark.parametrize(
    "path",
    ["/page/", "/page/missing.js", "/page/%2e%2e/app.py", "/page/..%2fapp.py", "/page/logic"],
)
def test_other_files_are_not_served(url: str, path: str) -> None:
    with httpx.Client(base_url=url) as http:
        answer = http.get(httpx.URL(url + path))
    assert answer.status_code == 404 and answer.json()["error"]["code"] == "unknown_url"


def test_the_sources_hold_no_other_host_and_nothing_inline() -> None:
    page = (page_routes.FOLDER / "index.html").read_text(encoding="utf-8")
    assert "<style" not in page and " style=" not in page and "//" not in page
    assert page.count("<script") == page.count('<script type="module" src="page/')
    for path in page_routes.FOLDER.rglob("*.js"):
        code = path.read_text(encoding="utf-8")
        for word in ("innerHTML", "outerHTML", "insertAdjacentHTML", "eval(", "document.write"):
            assert word not in code, path


def test_every_api_says_that_a_model_with_a_vision_tower_takes_pictures(tmp_path: Path) -> None:
    sees = fake_model(tmp_path / "sees", config={"image_token_id": 496})
    blind = fake_model(tmp_path / "blind")
    options = ("--device", "fake", "--enable-admin", "--additional-models", str(blind))
    with started_server(str(sees), *options) as server:
        info = get(f"{server.url}/page-info").json()
        models = get(f"{server.url}/v1/models").json()["data"]
        props = {
            name: get(f"{server.url}/props", params={"model": name}) for name in (None, "blind")
        }
        unknown = get(f"{server.url}/props?model=nobody")
        shown = {
            name: post(f"{server.url}/api/show", json={"model": name}).json()["capabilities"]
            for name in ("sees", "blind")
        }
        server.stop()
    assert info["can_load"] is True
    takes = {model["id"]: model["takes_pictures"] for model in info["models"]}
    assert takes == {"sees": True, "blind": False}
    assert {model["id"]: model["input_modalities"] for model in models} == {
        "sees": ["text", "image"], "blind": ["text"],
    }  # fmt: skip
    assert props[None].json()["modalities"] == {"vision": True, "audio": False}
    assert props["blind"].json()["modalities"] == {"vision": False, "audio": False}
    assert props[None].json()["default_generation_settings"]["n_ctx"] == 8192
    assert unknown.status_code == 404 and unknown.json()["error"]["code"] == "model_not_found"
    assert "vision" in shown["sees"] and "vision" not in shown["blind"]

"""`mlc_llm package --device web`: a folder for any web server."""

from __future__ import annotations

import base64
import hashlib
import json
import re
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from mlc_llm.errors import InvalidRequestError, MLCError
from mlc_llm.package.check import check_package
from mlc_llm.package.config import read_config
from mlc_llm.prepare import wasm_linker

Entry = Callable[..., dict[str, Any]]
SMALL = {"prefill_chunk_size": 64, "context_window_size": 128}


def _checksum(path: Path) -> str:
    digest = hashlib.sha256(path.read_bytes()).digest()
    return f"sha256-{base64.b64encode(digest).decode()}"


@pytest.fixture
def dist(packager: Any, entry: Entry, request: pytest.FixtureRequest) -> Path:
    if not request.config.getoption("--long"):
        pytest.skip("compiles a library for browsers; run with --long")
    try:
        wasm_linker.require()
    except MLCError as error:
        pytest.skip(error.message)
    models = [entry("one", bundle_weight=True, overrides=SMALL), entry("two", overrides=SMALL)]
    output: Path = packager({"device": "web", "model_list": models})
    return output


def test_the_folder_of_a_web_app(dist: Path) -> None:
    web = dist / "lib" / "web"
    one, two = json.loads((web / "mlc-app-config.json").read_text())["model_list"]
    assert two["model"].endswith("mlc-ai/two-MLC") and "manifest" not in two
    assert one["model_lib"] == two["model_lib"] and one["device"] == "webgpu"
    assert one["required_features"] == []
    library, cpu_library = web / one["model_lib"], web / one["model_lib_cpu"]
    assert library.read_bytes()[:4] == cpu_library.read_bytes()[:4] == b"\0asm"
    assert one["integrity"] == {
        "model_lib": _checksum(library),
        "model_lib_cpu": _checksum(cpu_library),
    }
    assert one["manifest_integrity"] == _checksum(web / one["manifest"])
    folder = (web / one["model"]).resolve()
    assert folder == (dist / "bundle" / "one-MLC").resolve()
    files = json.loads((web / one["manifest"]).read_text())["files"]
    assert {file["name"] for file in files} == {path.name for path in folder.iterdir()}
    for file in files:
        path = folder / file["name"]
        assert (path.stat().st_size, _checksum(path)) == (file["size"], file["integrity"])
    assert check_package(dist).problems == []
    for file in (library, cpu_library):
        whole = file.read_bytes()
        file.write_bytes(whole[:-9])
        assert any("damaged" in problem for problem in check_package(dist).problems)
        file.write_bytes(whole)


@pytest.mark.parametrize(
    ("first", "second", "why"),
    [("x", "x-cpu", "the CPU library of model_list[0]"), ("x", "mlc_llm", "the engine's own file")],
)
def test_two_files_of_one_name_are_refused(
    packager: Any, entry: Entry, first: str, second: str, why: str
) -> None:
    models = [entry("one", model_lib=first), entry("two", model_lib=second, overrides=SMALL)]
    with pytest.raises(InvalidRequestError, match=re.escape(f"{second}.wasm is {why}")) as caught:
        packager({"device": "web", "model_list": models})
    assert caught.value.param == "model_list[1].model_lib"
    assert packager.compiled == []


def test_the_option_replaces_the_devices_of_the_file(tmp_path: Path) -> None:
    path = tmp_path / "mlc-package-config.json"
    model = {"model": "HF://org/repo", "model_id": "repo", "estimated_vram_bytes": 1}
    path.write_text(json.dumps({"device": ["iphone", "android"], "model_list": [model]}))
    assert [device.name for device in read_config(path, "web").devices] == ["web"]
    assert len(read_config(path).devices) == 2

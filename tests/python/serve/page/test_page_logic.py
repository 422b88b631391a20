"""The page's logic without its elements: in Deno if it is at hand (`pip install deno`), else in
Chromium."""

from __future__ import annotations

import json
import re
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from mlc_llm.errors import reasons_gen as reasons
from mlc_llm.serve import page_routes

from .scripted import VECTORS, Scripted

FOLDER = Path(__file__).parent / "logic"
_FORM = re.compile(r"#(?:zero|one|two|few|many)$")  # of a text with a number
_TEXTS = sorted((page_routes.FOLDER / "texts").glob("*.json"))


def _deno() -> str | None:
    return shutil.which("deno") or shutil.which("deno", path=str(Path(sys.executable).parent))


def _in_deno(deno: str, folder: Path) -> dict[str, str | None]:
    """Tests import "/page/..." and "/vectors/..." as in a browser."""
    imports = folder / "imports.json"
    folders = {"/page/": page_routes.FOLDER, "/vectors/": VECTORS}
    places = {name: f"{path.as_uri()}/" for name, path in folders.items()}
    imports.write_text(json.dumps({"imports": places}))
    command = [deno, "run", "--no-config", "--import-map", str(imports), str(FOLDER / "all.js")]
    done = subprocess.run(command, capture_output=True, text=True, timeout=120)
    assert done.returncode == 0, done.stderr
    found: dict[str, str | None] = json.loads(done.stdout)
    return found


def _in_browser(request: pytest.FixtureRequest) -> dict[str, str | None]:
    server: Scripted = request.getfixturevalue("scripted_server")
    browser = request.getfixturevalue("browser")
    browser.get(f"http://127.0.0.1:{server.port}/")
    code = (
        "const [done] = arguments;"
        "import('/logic/all.js').then((all) => done(all.found), (error) => done({[error]: ''}));"
    )
    found: dict[str, str | None] = browser.execute_async_script(code)
    return found


def test_every_case_holds(request: pytest.FixtureRequest, tmp_path: Path) -> None:
    deno = _deno()
    found = _in_deno(deno, tmp_path) if deno else _in_browser(request)
    assert len(found) > 245
    wrong = {name: error for name, error in found.items() if error is not None}
    assert not wrong, "\n".join(f"{name}: {error}" for name, error in wrong.items())


def test_every_language_has_every_text() -> None:
    texts = {path.stem: json.loads(path.read_text(encoding="utf-8")) for path in _TEXTS}
    assert sorted(texts) == ["ar", "de", "en", "zh"]
    values = re.compile(r"\{\w+\}")
    for language, words in texts.items():
        assert list(words) == sorted(words), language
        plain = {key for key in words if not _FORM.search(key)}
        assert plain == {key for key in texts["en"] if not _FORM.search(key)}, language
        for key, text in words.items():
            named, found = (
                sorted(values.findall(one)) for one in (texts["en"][_FORM.sub("", key)], text)
            )
            assert found == named or (_FORM.search(key) and found == []), key  # "one token"


def test_every_text_that_the_page_names_is_there() -> None:
    english = page_routes.FOLDER / "texts" / "en.json"
    known = json.loads(english.read_text(encoding="utf-8"))
    code = "\n".join(path.read_text(encoding="utf-8") for path in page_routes.FOLDER.rglob("*.js"))
    page = (page_routes.FOLDER / "index.html").read_text(encoding="utf-8")
    named = set(re.findall(r"\b(?:t|counted|tokens)\(\s*\"([\w.]+)\"", code))
    named |= set(re.findall(r"\"(fault\.\w+)\"", code))
    named |= set(re.findall(r"data-(?:text|label|hint)=\"([\w.]+)\"", page))
    assert len(named) > 90 and named <= known.keys(), named - known.keys()
    prefixes = ("keys.", "role.", "tool.")  # made from parts
    prefixes += tuple(f"fault.{reason}" for reason in reasons.BY_WORD)  # from the server's `code`
    unused = {_FORM.sub("", key) for key in known} - named
    unused = {key for key in unused if not key.startswith(prefixes)}
    assert [key for key in unused if f'"{key}"' not in code] == []

"""One mark and one set of colours: the page, the apps and the documentation show the same."""

from __future__ import annotations

import json
import re
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
PAGE = ROOT / "bindings" / "python" / "mlc_llm" / "serve" / "page"
ANDROID = ROOT / "apps" / "android" / "app" / "src" / "main" / "res"
CATALOG = ROOT / "apps" / "ios" / "MLCChat" / "Resources" / "Assets.xcassets"
PAIR = re.compile(r"--([\w-]+): (?:light-dark\((#\w{6}), (#\w{6})\)|(#\w{6}));")


def page_colours() -> dict[str, tuple[str, str]]:
    """Of each name, the colour in the light and in the dark."""
    css = (PAGE / "css" / "colours.css").read_text(encoding="utf-8")
    found = PAIR.findall(css)
    return {name: (light or both, dark or both) for name, light, dark, both in found}


def test_android_has_the_colours_of_the_page() -> None:
    known = page_colours()
    for at, folder in enumerate(("values", "values-night-v29")):
        text = (ANDROID / folder / "colors.xml").read_text(encoding="utf-8")
        colours = dict(re.findall(r'<color name="(\w+)">(#\w{6})<', text))
        colours.pop("mark", None)
        assert len(colours) == 11
        for name, colour in colours.items():
            assert colour == known[name.replace("_", "-")][at], (folder, name)


def test_the_accent_is_the_same_everywhere() -> None:
    light, dark = page_colours()["link"]
    parts = json.loads((CATALOG / "AccentColor.colorset" / "Contents.json").read_text())["colors"]
    for one, wanted in zip(parts, (light, dark), strict=True):
        values = one["color"]["components"]
        assert "#" + "".join(values[n][2:] for n in ("red", "green", "blue")).lower() == wanted
    docs = (ROOT / "docs" / "identity.css").read_text(encoding="utf-8")
    assert {light, dark, page_colours()["accent"][1]} == set(re.findall(r"#\w{6}", docs))


def test_every_icon_is_the_same_mark() -> None:
    svg = (PAGE / "icon.svg").read_text(encoding="utf-8")
    bubble, lines = re.findall(r'path d="([^"]+)"', svg)
    icon = (ANDROID / "drawable" / "icon.xml").read_text(encoding="utf-8")
    assert bubble in icon and lines in icon and page_colours()["accent"][0] in svg
    assert bubble in (ANDROID / "drawable" / "notice.xml").read_text(encoding="utf-8")
    assert (ROOT / "docs" / "icon.svg").read_text(encoding="utf-8") == svg

"""The Compose face of the Android app: its own calls have the right types, against stand-ins for
the names of Compose and Android that it uses. Whether a function may be called where it is, only
Compose's own compiler plugin knows."""

from __future__ import annotations

import re
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]
CANNOT_BUILD = 77
COMPOSE = ROOT / "apps" / "android" / "compose" / "src" / "main"


def test_the_sources_have_the_right_types() -> None:
    command = [sys.executable, "-m", "devtools.apk.views"]
    done = subprocess.run(command, capture_output=True, text=True, cwd=ROOT)
    if done.returncode == CANNOT_BUILD:
        pytest.skip(done.stderr.strip().splitlines()[-1])
    assert done.returncode == 0, (done.stdout + done.stderr)[-6000:]


def test_both_faces_have_the_same_words() -> None:
    """Each text that the views show is shown by Compose too, but for what only one of them has."""
    views = ROOT / "apps" / "android" / "app" / "src" / "main" / "kotlin"
    named = [
        set(re.findall(r"R\.string\.(\w+)", "".join(p.read_text() for p in folder.rglob("*.kt"))))
        for folder in (views, COMPOSE)
    ]
    store = {"report", "report_question", "report_reason", "report_sent", "metered_question"}
    others = {"state_ready", "wrong_number"} | store
    assert named[0] - named[1] <= others, sorted(named[0] - named[1])


def test_buttons_of_a_list_say_what_they_belong_to() -> None:
    """Else a screen reader says "Delete" for each chat."""
    code = "".join(p.read_text(encoding="utf-8") for p in COMPOSE.rglob("*Screen*.kt"))
    rows = (
        re.search(r"private fun ModelRow.*?^}$", code, re.S | re.M),
        re.search(r"items\(found.*?^        }$", code, re.S | re.M),
    )
    for row, least in zip(rows, (6, 1), strict=True):
        buttons = re.findall(r"WordButton\((.*)", row[0] if row else "")
        assert len(buttons) == least and all("owner = " in button for button in buttons), buttons
    boxes = re.findall(r"Checkbox\((.*)", code)
    assert boxes and all("contentDescription = label" in box for box in boxes)


def test_every_class_of_the_manifest_is_there() -> None:
    manifest = (COMPOSE / "AndroidManifest.xml").read_text(encoding="utf-8")
    code = "".join(p.read_text() for p in COMPOSE.rglob("*.kt"))
    names = re.findall(r'android:name="ai\.mlc\.chat\.compose\.(\w+)"', manifest)
    assert len(names) == 3
    for name in names:
        assert re.search(rf"class {name}\b", code), name

"""What the apps promise and no screen shows: no host but the hub, no analytics, few permissions,
and CI files that say that they have never run."""

from __future__ import annotations

import re
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
APPS = ROOT / "apps"
SOURCES = [
    *(path for path in APPS.glob("android/*/src/main/**/*") if path.suffix in (".kt", ".xml")),
    *APPS.glob("ios/*/Sources/**/*.swift"),
]
NAMES = {"host", "schemas.android.com"}  # of an error's text, of XML


def test_no_host_but_the_hub_is_named() -> None:
    hosts = {
        host
        for path in SOURCES
        for host in re.findall(r"https?://([\w.-]+)", path.read_text(encoding="utf-8"))
    }
    assert len(SOURCES) > 80 and hosts - NAMES == {"huggingface.co"}


def test_the_dependencies_are_those_of_the_list_of_licences() -> None:
    gradle = "".join(path.read_text() for path in APPS.glob("android/*/build.gradle.kts"))
    named = set(re.findall(r'^ +(?:implementation|api|compileOnly)\(.*"([\w.]+):', gradle, re.M))
    assert named == {"ai.mlc", "org.jetbrains.kotlinx"}
    package = (APPS / "ios" / "ChatKit" / "Package.swift").read_text(encoding="utf-8")
    assert re.findall(r"\.package\((.*)\)\]", package) == ['path: "../../../bindings/swift"']


def test_the_permissions_are_those_of_the_data_safety_text() -> None:
    known = {
        "INTERNET",
        "ACCESS_NETWORK_STATE",
        "FOREGROUND_SERVICE",
        "FOREGROUND_SERVICE_DATA_SYNC",
        "POST_NOTIFICATIONS",
        "RUN_USER_INITIATED_JOBS",
    }
    for manifest in APPS.glob("android/*/src/main/AndroidManifest.xml"):
        text = manifest.read_text(encoding="utf-8")
        asked = re.findall(r'uses-permission android:name="android\.permission\.(\w+)"', text)
        assert asked and set(asked) <= known, manifest
        assert 'android:allowBackup="false"' in text, manifest


def test_the_files_for_machines_that_are_not_here_say_so() -> None:
    text = (ROOT / ".github" / "workflows" / "apps.yml").read_text(encoding="utf-8")
    assert "NEVER RUN" in text
    for job in ("runs-on: macos", "xcodebuild build", "android-emulator-runner"):
        assert job in text, job

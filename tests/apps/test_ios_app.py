"""MLCChat for iOS and macOS, as far as this system can tell: its sources, texts and project files.
Xcode has never built it."""

from __future__ import annotations

import json
import plistlib
import re
import struct
import subprocess
import sys
from pathlib import Path

import pytest

HERE = Path(__file__).resolve().parent
ROOT = HERE.parents[1]
APP = ROOT / "apps" / "ios" / "MLCChat"
SOURCES = sorted((APP / "Sources").glob("*.swift"))
LANGUAGES = ["ar", "de", "zh-Hans"]
sys.path.insert(0, str(ROOT / "tests" / "bindings" / "swift"))

import toolchain  # noqa: E402


@pytest.fixture(scope="module")
def swift() -> str:
    found = toolchain.find_swift()
    if found is None:
        pytest.skip("swift is neither on PATH nor in its usual place")
    return found


def catalog() -> dict[str, dict[str, dict[str, dict[str, dict[str, str]]]]]:
    read: dict[str, dict[str, dict[str, dict[str, dict[str, str]]]]] = json.loads(
        (APP / "Resources" / "Localizable.xcstrings").read_text(encoding="utf-8")
    )["strings"]
    return read


def test_every_source_parses(swift: str) -> None:
    compiler = str(Path(swift).with_name("swiftc"))
    done = subprocess.run([compiler, "-parse", *SOURCES], capture_output=True, text=True)
    assert done.returncode == 0, done.stderr


def test_the_sources_are_as_the_formatter_leaves_them(swift: str) -> None:
    settings = ["--configuration", str(APP.parent / "ChatKit" / ".swift-format")]
    done = subprocess.run(
        [swift, "format", "lint", "--strict", *settings, *SOURCES], capture_output=True, text=True
    )
    assert done.returncode == 0, done.stderr[-4000:]


def test_the_project_names_what_is_there() -> None:
    pbxproj = pytest.importorskip("pbxproj")
    project = pbxproj.XcodeProject.load(str(APP / "MLCChat.xcodeproj" / "project.pbxproj"))
    objects = project.objects
    (target,) = objects.get_objects_in_section("PBXNativeTarget")
    assert target.name == "MLCChat"
    for group in objects.get_objects_in_section("PBXFileSystemSynchronizedRootGroup"):
        assert (APP / group.path).is_dir()
    packages = objects.get_objects_in_section("XCLocalSwiftPackageReference")
    assert [(APP / one.relativePath / "Package.swift").is_file() for one in packages] == [True] * 2
    names = {one.get_id() for section in objects.get_sections()
             for one in objects.get_objects_in_section(section)}  # fmt: skip
    used = set(
        re.findall(r"A1[0-9A-F]{22}", (APP / "MLCChat.xcodeproj/project.pbxproj").read_text())
    )
    assert used == names
    settings = [one.buildSettings for one in objects.get_objects_in_section("XCBuildConfiguration")]
    files = [one[key] for one in settings for key in one.get_keys() if "ENTITLEMENTS" in key]
    assert len(files) == 4 and all((APP / name).is_file() for name in files)


def test_the_entitlements_and_the_privacy_manifest_are_read() -> None:
    phone = plistlib.loads((APP / "Config" / "iOS.entitlements").read_bytes())
    assert phone == {
        "com.apple.developer.kernel.increased-memory-limit": True,
        "com.apple.developer.kernel.extended-virtual-addressing": True,
    }
    mac = plistlib.loads((APP / "Config" / "macOS.entitlements").read_bytes())
    assert mac["com.apple.security.app-sandbox"] is True
    privacy = plistlib.loads((APP / "Resources" / "PrivacyInfo.xcprivacy").read_bytes())
    assert privacy["NSPrivacyTracking"] is False and privacy["NSPrivacyCollectedDataTypes"] == []
    assert {one["NSPrivacyAccessedAPIType"] for one in privacy["NSPrivacyAccessedAPITypes"]} == {
        "NSPrivacyAccessedAPICategoryDiskSpace",
        "NSPrivacyAccessedAPICategoryFileTimestamp",
    }


def test_every_text_is_there_in_every_language() -> None:
    arguments = re.compile(r"%(?:\d\$)?(@|lld)|(\{\})")
    for key, entry in catalog().items():
        words = entry["localizations"]
        assert sorted(words) == LANGUAGES, key
        for language in LANGUAGES:
            text = words[language]["stringUnit"]["value"]
            assert sorted(arguments.findall(text)) == sorted(arguments.findall(key)), (key, text)


def test_every_text_of_the_sources_is_in_the_catalog() -> None:
    """Texts of the sources, with their values in the place of `%@` and `%lld`."""
    code = "\n".join(path.read_text(encoding="utf-8") for path in SOURCES)
    value = r"\\\((?:[^()]|\([^()]*\))*\)"
    text = rf'"((?:{value}|[^"\\])+)"'
    shown = (
        r"\b(?:Text|Label|Link|Button|Section|Toggle|TextField|Picker|DisclosureGroup|LabeledContent"
        r"|ContentUnavailableView)\(\s*|localized: |\bname: |prompt: Text\("
    )
    found = set(re.findall(rf"(?:{shown}){text}", code))
    found |= set(re.findall(r'^        case \.\w+: "([^"]+)"$', code, re.MULTILINE))  # titles
    keys = {re.sub(r"%(@|lld)", "%", key): key for key in catalog()}
    missing = [one for one in found if re.sub(value, "%", one) not in keys]
    assert len(found) > 90 and missing == []
    unused = set(keys) - {re.sub(value, "%", one) for one in found}
    assert unused == set()


def test_every_button_of_a_picture_has_words() -> None:
    """VoiceOver reads the label, so no button consists of an image alone."""
    for path in SOURCES:
        code = path.read_text(encoding="utf-8")
        for block in re.findall(r"label: \{(.*?)\n +\}", code, re.DOTALL):
            assert "Image(systemName" not in block or "Text(" in block, path.name


def test_every_size_of_the_icon_is_there() -> None:
    """Opaque, and as large as its place: the App Store refuses another one."""
    folder = APP / "Resources" / "Assets.xcassets" / "AppIcon.appiconset"
    images = json.loads((folder / "Contents.json").read_text())["images"]
    assert {"ios", "mac"} == {one.get("platform", one["idiom"]) for one in images}
    for image in images:
        png = (folder / image["filename"]).read_bytes()
        width, height, _, colours = struct.unpack(">IIBB", png[16:26])
        side = int(image["size"].split("x")[0]) * int(image.get("scale", "1x")[0])
        assert (width, height) == (side, side) and colours == 2  # RGB without transparency
    assert {one["filename"] for one in images} == {path.name for path in folder.glob("*.png")}


def test_the_project_says_what_the_store_asks_for() -> None:
    project = (APP / "MLCChat.xcodeproj" / "project.pbxproj").read_text()
    for setting in (
        "ASSETCATALOG_COMPILER_APPICON_NAME = AppIcon",
        "INFOPLIST_KEY_ITSAppUsesNonExemptEncryption = NO",
        "INFOPLIST_KEY_LSApplicationCategoryType",
        "INFOPLIST_KEY_UISupportedInterfaceOrientations_iPhone",
    ):
        assert project.count(f"{setting};") + project.count(f"{setting} =") == 2, setting
    pad = re.findall(r'Orientations_iPad = "([^"]+)"', project)
    assert [len(one.split()) for one in pad] == [4, 4]  # which the windows of an iPad need

"""The APK of `./dev app android`, read by programs and packages that did not make it.

The build needs the AAR, whose C++ takes minutes: without `./dev app android` before, these tests
are skipped.
"""

from __future__ import annotations

import re
import shutil
import struct
import subprocess
import sys
import zipfile
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]
sys.path.append(str(ROOT))

from devtools.android import __main__ as android_command  # noqa: E402
from devtools.android import build as android  # noqa: E402
from devtools.android import publish  # noqa: E402
from devtools.apk import build, bundle  # noqa: E402

RESOURCES = ROOT / "apps" / "android" / "app" / "src" / "main" / "res"
LANGUAGES = ("values", "values-ar", "values-de", "values-zh")
PAGE = 16384


@pytest.fixture(scope="module")
def apk() -> Path:
    found = sorted((ROOT / "build" / "apk").glob("mlcchat-*.apk"))
    if not found:
        pytest.skip("no APK is here: ./dev app android")
    return found[-1]


def output_of(*command: str | Path) -> str:
    if shutil.which(str(command[0])) is None:
        pytest.skip(f"{command[0]} is not here: ./dev app android installs it")
    done = subprocess.run([str(c) for c in command], capture_output=True, text=True)
    assert done.returncode == 0, done.stdout[-2000:] + done.stderr[-2000:]
    return done.stdout


def test_apksigner_accepts_the_signature(apk: Path) -> None:
    said = output_of("apksigner", "verify", "--verbose", "--min-sdk-version", "26", apk)
    assert "Verified using v2 scheme (APK Signature Scheme v2): true" in said
    assert "Verified using v3 scheme (APK Signature Scheme v3): true" in said


def test_a_changed_byte_breaks_the_signature(apk: Path, tmp_path: Path) -> None:
    output_of("apksigner", "--version")
    data = bytearray(apk.read_bytes())
    with zipfile.ZipFile(apk) as archive:
        at = archive.getinfo("classes.dex").header_offset + 100
    data[at] ^= 1
    changed = tmp_path / "changed.apk"
    changed.write_bytes(data)
    done = subprocess.run(
        ["apksigner", "verify", "--min-sdk-version", "26", str(changed)], capture_output=True
    )
    assert done.returncode != 0


def test_libraries_begin_at_pages_of_16_kib(apk: Path) -> None:
    output_of("zipalign", "-c", str(PAGE), apk)
    data = apk.read_bytes()
    with zipfile.ZipFile(apk) as archive:
        libraries = [i for i in archive.infolist() if i.filename.startswith("lib/arm64-v8a/")]
        assert {i.filename.rpartition("/")[2] for i in libraries} >= {
            "libmlc_llm.so",
            "libmlc_llm_jni.so",
        }
        for info in libraries:
            name, extra = struct.unpack_from("<HH", data, info.header_offset + 26)
            begin = info.header_offset + 30 + name + extra
            assert info.compress_type == zipfile.ZIP_STORED and begin % PAGE == 0, info.filename
            assert data[begin : begin + 4] == b"\x7fELF"


def test_lief_finds_arm64_and_large_segments(apk: Path) -> None:
    lief = pytest.importorskip("lief")
    with zipfile.ZipFile(apk) as archive:
        for name in archive.namelist():
            if not name.endswith(".so"):
                continue
            library = lief.parse(list(archive.read(name)))
            assert library.header.machine_type == lief.ELF.ARCH.AARCH64, name
            loads = [s for s in library.segments if s.type == lief.ELF.Segment.TYPE.LOAD]
            assert loads and all(s.alignment >= PAGE for s in loads), name


def test_aapt2_reads_the_manifest(apk: Path) -> None:
    said = output_of("aapt2", "dump", "badging", apk)
    assert "package: name='ai.mlc.chat.app'" in said
    assert "sdkVersion:'26'" in said and "targetSdkVersion:'36'" in said
    assert "native-code: 'arm64-v8a'" in said
    assert "launchable-activity: name='ai.mlc.chat.ModelsActivity'" in said
    assert re.search(r"locales: '--_--' 'ar' 'de' 'zh'", said)
    tree = output_of("aapt2", "dump", "xmltree", "--file", "AndroidManifest.xml", apk)
    assert tree.count("E: uses-native-library") == 2 and "libOpenCL-pixel.so" in tree
    assert "foregroundServiceType" in tree


def test_androguard_finds_every_class_of_the_manifest(apk: Path) -> None:
    pytest.importorskip("androguard")
    from androguard.core.apk import APK
    from androguard.core.dex import DEX
    from loguru import logger

    logger.disable("androguard")
    read = APK(str(apk))
    assert read.is_signed_v2() and read.is_signed_v3()
    assert "android.permission.INTERNET" in read.get_permissions()
    classes = {c.get_name() for c in DEX(read.get_dex()).get_classes()}
    named = [*read.get_activities(), *read.get_services(), "ai.mlc.chat.ChatApp"]
    assert len(named) == 8  # five screens, a service, a download job, the app
    for name in [*named, "ai.mlc.mlcllm.MLCEngine", "ai.mlc.chatkit.ModelLibrary"]:
        assert f"L{name.replace('.', '/')};" in classes, name


def test_the_config_of_the_app_is_inside(apk: Path) -> None:
    with zipfile.ZipFile(apk) as archive:
        config = archive.read("assets/mlc-app-config.json")
    assert b'"model_list"' in config


def test_a_package_gives_its_config_and_its_libraries(tmp_path: Path) -> None:
    """Needs no APK."""
    with pytest.raises(SystemExit, match="mlc_llm package --output"):
        build.packaged(tmp_path)
    main = tmp_path / "lib" / "mlc4j" / "src" / "main"
    for name in ("assets/mlc-app-config.json", "jniLibs/arm64-v8a/libone.so", "jniLibs/x/no.so"):
        (main / name).parent.mkdir(parents=True, exist_ok=True)
        (main / name).write_bytes(name.encode())
    entries = build.packaged(tmp_path)
    assert entries == {
        "assets/mlc-app-config.json": b"assets/mlc-app-config.json",
        "lib/arm64-v8a/libone.so": b"jniLibs/arm64-v8a/libone.so",
    }
    assert b'"model_list"' in build.packaged(None)["assets/mlc-app-config.json"]


def test_the_bundle_is_read_by_aapt2(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Needs no APK. Its module, put together as bundletool does, has the APK's manifest."""
    if shutil.which("aapt2") is None or not build.RESOURCES.exists():
        pytest.skip("aapt2 is not here: ./dev app android installs it")
    monkeypatch.setattr(build, "FOLDER", tmp_path)
    made = build.entries_of(build.resources("--proto-format"))
    code = {"classes.dex": b"dex", "lib/arm64-v8a/libone.so": b"ELF", build.CONFIG: b"{}"}
    bundle.write(tmp_path / "app.aab", made, code)
    entries = build.entries_of(tmp_path / "app.aab")
    assert {"base/dex/classes.dex", "base/lib/arm64-v8a/libone.so"} <= entries.keys()
    assert entries["base/assets/mlc-app-config.json"] == b"{}"
    module = {n.removeprefix("base/").removeprefix("manifest/"): d for n, d in entries.items()}
    with zipfile.ZipFile(tmp_path / "proto.apk", "w") as archive:
        for name in made:
            archive.writestr(name, module[name])
    output_of("aapt2", "convert", "-o", tmp_path / "binary.apk", tmp_path / "proto.apk")
    said = output_of("aapt2", "dump", "badging", tmp_path / "binary.apk")
    assert "package: name='ai.mlc.chat.app'" in said and "targetSdkVersion:'36'" in said
    assert re.search(r"locales: '--_--' 'ar' 'de' 'zh'", said)


def test_the_messages_of_the_bundle_have_the_fields_of_bundletool() -> None:
    """Read by another reader of protocol buffers' wire format than the one that wrote them."""

    def read(data: bytes) -> list[tuple[int, object]]:
        fields: list[tuple[int, object]] = []
        while data:
            key, value, data = data[0], data[1], data[2:]
            assert key & 7 in (0, 2), "a number or a part"
            if key & 7 == 2:
                fields.append((key >> 3, data[:value]))
                data = data[value:]
            else:
                fields.append((key >> 3, value))
        return fields

    (_, tool), (_, optimizations) = read(bundle.config())
    assert read(tool) == [(2, bundle.BUNDLETOOL.encode())]
    assert read(read(optimizations)[0][1]) == [(1, 1), (2, 2)]  # enabled, pages of 16 KiB
    ((field, directory),) = read(bundle.native(["arm64-v8a"]))
    (_, path), (_, targeting) = read(directory)
    assert (field, path, read(read(targeting)[0][1])) == (1, b"lib/arm64-v8a", [(1, 3)])


def test_the_aar_stays_as_it_is(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """It may have the emulators' engine too. The APK takes that for phones, which was built now."""
    monkeypatch.setattr(android, "FOLDER", tmp_path)
    with pytest.raises(SystemExit, match=r"./dev build android"):
        build.native_libraries()
    for name in android.LIBRARIES:
        (tmp_path / "arm64-v8a" / "lib").mkdir(parents=True, exist_ok=True)
        (tmp_path / "arm64-v8a" / "lib" / name).write_bytes(name.encode())
    held = {f"lib/arm64-v8a/{name}": name.encode() for name in android.LIBRARIES}
    assert build.native_libraries() == held
    made: list[str] = []
    monkeypatch.setattr(android, "build", lambda abi: [made.append(abi), []][1])
    monkeypatch.setattr(publish, "publish", lambda abis: [made.append(" ".join(abis)), []][1])
    assert android_command.main(["--libraries", "arm64-v8a"]) == 0
    assert made == ["arm64-v8a"]
    assert android_command.main(["arm64-v8a", "x86_64"]) == 0
    assert made[1:] == ["arm64-v8a", "x86_64", "arm64-v8a x86_64"]


def test_every_language_has_every_text_with_the_same_places() -> None:
    """Needs no APK."""
    pattern = r'<string name="(\w+)">(.*?)</string>'
    texts = {
        language: dict(re.findall(pattern, (RESOURCES / language / "strings.xml").read_text()))
        for language in LANGUAGES
    }
    english = texts["values"]
    assert len(english) > 60
    for language, words in texts.items():
        assert words.keys() == english.keys(), language
        for name, text in words.items():
            places = sorted(re.findall(r"%(?:\d\$[sd]|%)", text))
            assert places == sorted(re.findall(r"%(?:\d\$[sd]|%)", english[name])), (language, name)


def test_the_app_lists_the_licences_of_the_documentation() -> None:
    """Needs no APK."""
    docs = (ROOT / "docs" / "apps-android.md").read_text(encoding="utf-8")
    rows = re.findall(r"^\| (.+?) \| (.+?) \|$", docs.partition("## Licences")[2], re.MULTILINE)[1:]
    listed = (ROOT / "apps/android/app/src/main/kotlin/ai/mlc/chat/Licences.kt").read_text()
    assert len(rows) == 5
    for part, licence in rows:
        assert f'"{part}" to "{licence}"' in listed, part


def test_every_text_is_used() -> None:
    sources = ROOT / "apps" / "android" / "app" / "src" / "main"
    code = "".join(path.read_text() for path in sources.rglob("*.kt"))
    code += (sources / "AndroidManifest.xml").read_text().replace("@string/", "R.string.")
    english = re.findall(
        r'<string name="(\w+)"', (RESOURCES / "values" / "strings.xml").read_text()
    )
    assert [n for n in english if not re.search(rf"R\.string\.{n}\b", code)] == []

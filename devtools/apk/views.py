"""python -m devtools.apk.views FOLDER: draws the screens of apps/android/app on the JVM.

Debian has no renderer of Android's layouts: android.jar has the names alone. So the app's own
sources are compiled against the stand-ins of tests/apps/android_views, which measure as Android
does and draw by Java2D, and each screen becomes a PNG file in FOLDER. Exit
status 77: something needed is not here; the last line says what.
"""

from __future__ import annotations

import re
import subprocess
import sys
from pathlib import Path

from devtools.apk import chatkit
from devtools.kotlin_parts import kotlin_build

ROOT = chatkit.ROOT
APP = ROOT / "apps" / "android" / "app" / "src" / "main"
STANDINS = ROOT / "tests" / "apps" / "android_views"
FAKE_MODEL = ROOT / "tests" / "fixtures" / "fake-model"
FOLDER = ROOT / "build" / "apps" / "views"


def identifiers() -> Path:
    """R as aapt2 makes it: a number for each text and each colour."""
    kinds = {"drawable": ["icon", "notice"]}
    for kind, file in (("string", "strings.xml"), ("color", "colors.xml")):
        text = (APP / "res" / "values" / file).read_text(encoding="utf-8")
        kinds[kind] = re.findall(rf'<{kind} name="(\w+)"', text)
    code = "package ai.mlc.chat.app\n\nobject R {\n"
    for kind, names in kinds.items():
        lines = [f"        const val {name} = {at}" for at, name in enumerate(names, 1)]
        code += f"    object {kind} {{\n" + "\n".join(lines) + "\n    }\n"
    code += "}\n"
    path = FOLDER / "R.kt"
    FOLDER.mkdir(parents=True, exist_ok=True)
    if not path.exists() or path.read_text() != code:
        path.write_text(code)
    return path


def compiled() -> list[Path]:
    """The class path of the screens. The caller holds the lock of the Kotlin build."""
    kotlin = kotlin_build()
    output, stamp = FOLDER / "classes", FOLDER / "classes.stamp"
    path = [chatkit.compiled(), kotlin.core_classes(), *kotlin.libraries(), *kotlin.junit()]
    files = [p for folder in (APP / "kotlin", STANDINS) for p in kotlin.sources(folder, ".kt")]
    files.append(identifiers())
    wanted = kotlin.digest(files, (chatkit.FOLDER / "classes.stamp").read_text())
    if not kotlin.is_current(stamp, wanted):
        stamp.unlink(missing_ok=True)
        kotlin.kotlinc(files, output, path)
        stamp.write_text(wanted)
    return [output, *path]


def command(pictures: Path) -> list[str]:
    kotlin = kotlin_build()
    with kotlin.exclusive():
        path = compiled()
        jni = kotlin.native_library()
    return [
        str(kotlin.jdk() / "bin" / "java"), "-XX:+UseSerialGC", *kotlin.QUICK,
        "-Djava.awt.headless=true",
        f"-Dmlc_llm.jni={jni}", f"-Dmlc_llm.core={kotlin.core_library()}", f"-Dapp.main={APP}",
        f"-Dpictures={pictures}", f"-Dfake.model={FAKE_MODEL}", "-cp", kotlin.class_path(path),
        "org.junit.runner.JUnitCore", "standin.ScreensTest",
    ]  # fmt: skip


def main(pictures: Path) -> int:
    try:
        words = command(pictures)
    except Exception as error:
        if type(error).__name__ != "UnavailableError":  # the class of a file that is no module
            raise
        print(error, file=sys.stderr)
        return chatkit.CANNOT_BUILD
    pictures.mkdir(parents=True, exist_ok=True)
    return subprocess.run(words, timeout=chatkit.TEST_SECONDS).returncode


if __name__ == "__main__":
    sys.exit(main(Path(sys.argv[1])))

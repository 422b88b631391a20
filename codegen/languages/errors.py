"""The reasons, statuses and kinds of errors, in the core and in every language."""

from __future__ import annotations

import json
from dataclasses import dataclass

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


@dataclass(frozen=True)
class StatusView:
    """`swift` and `kotlin`: the value of the generated `ErrorStatus`."""

    word: str
    number: int
    constant: str
    c_constant: str
    swift: str
    kotlin: str
    kind: KindView
    doc: str


@dataclass(frozen=True)
class KindView:
    """Its name in each language. `parent`: the class that it inherits in Python and TypeScript."""

    name: str
    python: str
    typescript: str
    kotlin: str
    swift: str
    parent: str
    reason: str
    reason_constant: str
    type: str
    doc: str


@dataclass(frozen=True)
class ReasonView:
    """`openai` is a literal of the `code` that the server sends, or None."""

    name: str
    source: str
    constant: str
    upper: str
    swift: str
    status: StatusView
    kind: KindView
    http: int
    type: str
    openai: str
    description: str
    advice: str
    doc: str


@dataclass(frozen=True)
class TypeView:
    """Of which kind an error is whose reason and status are not known."""

    type: str
    kind: KindView


def generate(protocol: ir.Protocol) -> dict[str, str]:
    """The files by their path in the repository, not yet formatted."""
    if protocol.errors is None:
        return {}
    errors = protocol.errors
    kinds = {kind.names.name: kind_view(kind) for kind in errors.kinds}
    statuses = {status.word: _status(status, kinds) for status in errors.statuses}
    reasons = [_reason(reason, statuses, kinds) for reason in errors.reasons]
    sources = list(dict.fromkeys(reason.source for reason in reasons))
    for language in (*ENDINGS, "swift"):
        common.check_distinct(language, [getattr(kind, language) for kind in kinds.values()])
    values = {
        "stamp": common.stamp(protocol),
        "kinds": list(kinds.values()),
        "last_kind": list(kinds.values())[-1],
        "statuses": list(statuses.values()),
        "reasons": reasons,
        "core_reasons": [reason for reason in reasons if reason.source == "core"],
        "groups": [(s, [r for r in reasons if r.source == s]) for s in sources],
        "types": [TypeView(t, kinds[kind]) for t, kind in errors.kind_of_type().items()],
    }
    return {path: common.render(f"errors/{template}", **values) for path, template in FILES.items()}


def kind_view(kind: ir.ErrorKind) -> KindView:
    classes = {
        language: kind.names.in_language(language) + ending for language, ending in ENDINGS.items()
    }
    parent = f"{kind.parent or 'MLC'}Error"
    return KindView(
        name=kind.names.name,
        swift=_lower(kind.names.in_language("swift")),
        parent=parent,
        reason=kind.reason,
        reason_constant="k" + common.pascal_case(kind.reason),
        type=kind.type,
        doc=kind.description,
        **classes,
    )


def c_constant(status: ir.ErrorStatus) -> str:
    return f"MLC_{status.word.upper()}"


def _status(status: ir.ErrorStatus, kinds: dict[str, KindView]) -> StatusView:
    return StatusView(
        word=status.word,
        number=status.number,
        constant="k" + common.pascal_case(status.word),
        c_constant=c_constant(status),
        swift=swift.case_name(status.word),
        kotlin=status.word,
        kind=kinds[status.kind],
        doc=status.description,
    )


def _reason(
    reason: ir.Reason, statuses: dict[str, StatusView], kinds: dict[str, KindView]
) -> ReasonView:
    return ReasonView(
        name=reason.name,
        source=reason.source,
        constant="k" + common.pascal_case(reason.name),
        upper=reason.name.upper(),
        swift=_lower(common.pascal_case(reason.name)),
        status=statuses[reason.status.word],
        kind=kinds[reason.kind],
        http=reason.http,
        type=reason.type,
        openai="None" if reason.openai is None else json.dumps(reason.openai),
        description=reason.description,
        advice=reason.advice,
        doc=f"{reason.description} {reason.advice}",
    )


def _lower(name: str) -> str:
    return name[0].lower() + name[1:]

"""The schema's errors to the IR: what a row does not say comes from its status and its kind."""

from __future__ import annotations

from collections.abc import Iterable

from codegen import ir
from codegen.schema.base import ErrorsModel, KindModel, ReasonModel, StatusModel


class SchemaError(Exception):
    """The schema says something that cannot be generated."""


def check_sentence(description: str, where: str) -> None:
    if not description.rstrip().endswith("."):
        raise SchemaError(f"{where}: needs a description that ends in a full stop")


def lower(errors: ErrorsModel) -> ir.Errors:
    """All errors; every name that a row uses exists, and no name is used twice."""
    statuses = {model.word: model for model in errors.statuses}
    kinds = {model.name: _kind(model) for model in errors.kinds}
    lowered = {
        word: ir.ErrorStatus(word.value, number, kinds[model.kind], word.description)
        for number, (word, model) in enumerate(statuses.items(), start=1)
    }
    reasons = tuple(
        _reason(row, source, lowered[row.status], statuses[row.status], kinds)
        for source, rows in errors.reasons.items()
        for row in rows
    )
    names = [reason.name for reason in reasons]
    _check_distinct(names)
    for kind in errors.kinds:
        check_sentence(kind.description, kind.name)
        if kind.reason not in names:
            raise SchemaError(f"{kind.name}: there is no reason {kind.reason}")
    return ir.Errors(statuses=tuple(lowered.values()), kinds=tuple(kinds.values()), reasons=reasons)


def _kind(model: KindModel) -> ir.ErrorKind:
    names = ir.Names(model.name, tuple(sorted(model.names.items())))
    return ir.ErrorKind(names, model.reason, model.type, model.parent, model.description)


def _reason(
    row: ReasonModel,
    source: str,
    status: ir.ErrorStatus,
    defaults: StatusModel,
    kinds: dict[str, ir.ErrorKind],
) -> ir.Reason:
    check_sentence(row.description, row.name)
    check_sentence(row.advice, row.name)
    kind = row.kind or defaults.kind
    if kind not in kinds:
        raise SchemaError(f"{row.name}: there is no kind {kind}")
    return ir.Reason(
        name=row.name,
        source=source,
        status=status,
        kind=kinds[kind],
        http=row.http or defaults.http,
        type=row.type or kinds[kind].type,
        openai=row.name if row.openai == "" else row.openai,
        description=row.description,
        advice=row.advice,
    )


def _check_distinct(names: Iterable[str]) -> None:
    seen: set[str] = set()
    for name in names:
        if name in seen:
            raise SchemaError(f"two rows describe the reason {name}")
        seen.add(name)

"""Writes the conformance vectors: from the schema, and from what is written in by_hand.py.

Usage: python tests/bindings/vectors/make.py [--check] [--record]

What must come out follows from the schema (expect.py, faults.py), not from a binding, and needs no
core; `./dev gen` writes it. Only `--record` asks the core: for the messages of the faults that are
written by hand (not their type, param and code) and for the fake model's answers.
"""

from __future__ import annotations

import json
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

HERE = Path(__file__).resolve().parent
ROOT = HERE.parents[2]
CASES = HERE / "cases"
sys.path[:0] = [str(HERE), str(ROOT)]

import by_hand  # noqa: E402
import classes  # noqa: E402
from codegen import ir  # noqa: E402
from codegen.lower import lower  # noqa: E402
from codegen.schema import PROTOCOL  # noqa: E402
from expect import expectation  # noqa: E402
from faults import WRONG, Fault, schema_faults  # noqa: E402
from samples import Samples  # noqa: E402
from tool_loops import TOOL_LOOPS  # noqa: E402

Case = dict[str, Any]


def value_case(protocol: ir.Protocol, name: str, type_name: str, use: str, value: Any) -> Case:
    expected = expectation(protocol, type_name, value)
    case = {"name": name, "kind": "value", "type": type_name, "use": use, "json": value}
    return {**case, **vars(expected)}


def schema_values(protocol: ir.Protocol, use: str) -> Iterator[Case]:
    roots = PROTOCOL.requests if use == "request" else PROTOCOL.responses
    for root in roots:
        samples = Samples(protocol, newer=use == "response" and not root.closed)
        for label, value in samples.of_root(root.__name__):
            name = f"{use}: {root.__name__}: {label}"
            yield value_case(protocol, name, root.__name__, use, value)


def invalid_values(protocol: ir.Protocol) -> Iterator[Case]:
    """Answers that lack a member, or have one of another JSON type."""
    for root in PROTOCOL.responses:
        struct = protocol.find(root.__name__)
        assert isinstance(struct, ir.Struct)
        whole = Samples(protocol, newer=False).minimal(struct)
        for item in struct.fields:
            if not item.required or isinstance(item.type, ir.Const):
                continue
            wrong = WRONG[item.type.kind] if isinstance(item.type, ir.Scalar) else "text"
            less = {key: value for key, value in whole.items() if key != item.name}
            for label, value in (("missing", less), ("wrong", {**whole, item.name: wrong})):
                name = f"invalid: {root.__name__}.{item.name} {label}"
                case = {"name": name, "kind": "invalid", "type": root.__name__}
                yield {**case, "use": "response", "json": value}


def schema_fault(fault: Fault) -> Case:
    case = {"name": f"fault: {fault.label}", "kind": "fault", "route": by_hand.BAD}
    expected = classes.expected(fault.code, fault.message, fault.param)
    return {**case, "body": json.dumps(fault.value), **expected}


def stream_case(protocol: ir.Protocol, name: str, chunks: list[Any]) -> Case:
    case: Case = {"name": f"stream: {name}", "kind": "stream", "type": by_hand.CHUNK}
    texts: dict[str, str] = {}
    reasons: dict[str, str] = {}
    roles: dict[str, str] = {}
    calls: dict[str, list[Case]] = {}
    fields: Case = {}
    usage = None
    for i, chunk in enumerate(chunks):
        expected = expectation(protocol, by_hand.CHUNK, chunk)
        fields.update({f"[{i}].{path}": value for path, value in expected.fields.items()})
        usage = expected.canonical.get("usage", usage)
        for choice in chunk["choices"]:
            at, delta = str(choice["index"]), choice["delta"]
            if delta.get("content") is not None:
                texts[at] = texts.get(at, "") + delta["content"]
            if choice.get("finish_reason") is not None:
                reasons[at] = choice["finish_reason"]
            if delta.get("role") is not None:
                roles.setdefault(at, delta["role"])
            for piece in delta.get("tool_calls") or []:
                _add_piece(calls.setdefault(at, []), piece)
    if len(chunks) > 50:
        fields = {}
    rest = {"tool_calls": calls, "usage": usage, "fields": fields}
    ends = {"texts": texts, "finish_reasons": reasons, "roles": roles}
    return {**case, "chunks": chunks, **ends, **rest}


def _add_piece(calls: list[Case], piece: Case) -> None:
    while len(calls) <= piece["index"]:
        calls.append({"id": "", "name": "", "arguments": ""})
    call, function = calls[piece["index"]], piece.get("function") or {}
    call["id"] += piece.get("id") or ""
    call["name"] += function.get("name") or ""
    call["arguments"] += function.get("arguments") or ""


def all_errors() -> Iterator[Case]:
    """One for each reason, and those that no reason describes."""
    for reason in classes.TABLE.reasons:
        expected = classes.expected(reason.name)
        case = {"name": f"error: {reason.name}", "kind": "error"}
        yield {**case, "json": {"error": expected["error"]}, **expected}
    kinds = {kind.names.name: kind for kind in classes.TABLE.kinds}
    for name, given, kind in by_hand.ERRORS:
        error = {"message": "", "param": None, "code": None, **given}
        case = {"name": f"error: {name}", "kind": "error", "json": {"error": error}}
        yield {**case, "error": {"status": None, **error}, "class": classes.class_of(kinds[kind])}


def build_case(protocol: ir.Protocol, name: str, type_name: str, value: Any) -> Case:
    case = {"name": name, "kind": "build", "type": type_name}
    expected = expectation(protocol, type_name, value)
    return {**case, "json": expected.canonical, "ignore": expected.ignore}


def all_files(record: bool) -> dict[str, list[Case]]:
    protocol = lower(PROTOCOL)
    files = {
        "gen_requests": list(schema_values(protocol, "request")),
        "gen_answers": list(schema_values(protocol, "response")),
        "gen_invalid": list(invalid_values(protocol)),
        "gen_faults": [schema_fault(f) for f in schema_faults(protocol, by_hand.REQUEST)],
        "values": [
            value_case(protocol, f"value: {name}", type_name, use, value)
            for name, type_name, use, value in by_hand.VALUES
        ],
        "streams": [stream_case(protocol, name, chunks) for name, chunks in by_hand.STREAMS],
        "errors": list(all_errors()),
        "tool_loops": TOOL_LOOPS,
        "builds": [build_case(protocol, *build) for build in by_hand.BUILDS],
    }
    if record:
        import recorded

        files |= recorded.files()
    return files


def main(arguments: list[str]) -> int:
    stale = []
    CASES.mkdir(exist_ok=True)
    for name, cases in all_files("--record" in arguments).items():
        path = CASES / f"{name}.json"
        lines = ",\n".join(json.dumps(case, ensure_ascii=True) for case in cases)
        text = f'{{"cases": [\n{lines}\n]}}\n'
        if not path.exists() or path.read_text(encoding="utf-8") != text:
            stale.append(path.name)
            if "--check" not in arguments:
                path.write_text(text, encoding="utf-8")
                print(f"wrote tests/bindings/vectors/cases/{path.name}")
    if stale and "--check" in arguments:
        print(f"vectors: stale: {', '.join(stale)}; run `./dev gen`", file=sys.stderr)
        return 1
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))

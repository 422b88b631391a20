"""Markdown: docs/api.md and docs/api, the reference of every type, and how each language spells
each field.

A type is on the page of the first routes that use it; what no route uses is on the last page.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from types import ModuleType

from codegen import ir
from codegen.languages import common, cpp, kotlin, python, swift, typescript

# A language module says by `member_name(wire_name)` how a field is called in it.
COLUMNS: Mapping[str, ModuleType] = {
    "C++": cpp,
    "Python": python,
    "Swift": swift,
    "Kotlin": kotlin,
    "TypeScript": typescript,
}


@dataclass(frozen=True)
class Group:
    """A page: its file in docs/api, its title, and the routes whose types it has."""

    file: str
    title: str
    routes: tuple[str, ...] = ()
    sides: tuple[str, ...] = ("request", "response", "chunk")


GROUPS = (
    Group("chat-requests", "Chats: requests", ("chat.completions",), ("request",)),
    Group("chat-answers", "Chats: answers", ("chat.completions",), ("response", "chunk")),
    Group("completions", "Completions", ("completions",)),
    Group("embeddings", "Embeddings", ("embeddings",)),
    Group("rerank", "Rerank", ("rerank",)),
    Group("tokens", "Tokens and prompts", ("tokenize", "detokenize", "render", "input_tokens")),
    Group("states", "States and memory",
          ("kv.save", "kv.load", "kv.held", "memory.trim", "prewarm", "thermal.set")),
    Group("adapters", "Adapters", ("adapters.load", "adapters.unload", "adapters.list")),
    Group("engine", "Engines, models and errors"),
)  # fmt: skip


@dataclass(frozen=True)
class TypeView:
    """`rows` are a struct's fields, an enum's words or a union's members, each as cells."""

    name: str
    doc: str
    note: str
    head: str
    rows: tuple[tuple[str, ...], ...]


def generate(protocol: ir.Protocol) -> dict[str, str]:
    """The files by their path in the repository."""
    pages = _pages(protocol)
    home = {name: group.file for group, names in pages for name in names}
    by_name = common.by_name(protocol)
    files = {
        "docs/api.md": common.render(
            "markdown/api.md.j2",
            stamp=common.stamp(protocol),
            routes=protocol.routes,
            calls=protocol.calls,
            groups=[group for group, _ in pages],
            link=lambda name: f"[{name}](api/{home[name]}.md#{name.lower()})",
        )
    }
    for group, names in pages:
        declarations = [by_name[name] for name in names]
        files[f"docs/api/{group.file}.md"] = common.render(
            "markdown/group.md.j2",
            stamp=common.stamp(protocol),
            group=group,
            types=[_type(d, _Links(home, group.file)) for d in declarations],
            languages=list(COLUMNS),
            parity=list(_parity(declarations)),
        )
    return files


def _pages(protocol: ir.Protocol) -> list[tuple[Group, list[str]]]:
    """Each page with the names of its types, in the schema's order."""
    by_name = common.by_name(protocol)
    free = dict.fromkeys(by_name)
    pages = []
    for group in GROUPS:
        used: set[str] = set()
        for route in (*protocol.routes, *protocol.calls):
            if route.name in group.routes:
                sides = (getattr(route, side, None) for side in group.sides)
                used.update(*(_reached(name, by_name) for name in sides if name))
        names = [name for name in free if name in used or not group.routes]
        for name in names:
            del free[name]
        if names:
            pages.append((group, names))
    return pages


def _reached(name: str, by_name: Mapping[str, ir.Declaration]) -> set[str]:
    """The type and all that it names, at any depth."""
    found: set[str] = set()
    open_names = [name]
    while open_names:
        one = open_names.pop()
        if one not in found:
            found.add(one)
            open_names += _named(by_name[one])
    return found


def _named(declaration: ir.Declaration) -> list[str]:
    if isinstance(declaration, ir.Enum):
        return []
    struct = isinstance(declaration, ir.Struct)
    parts = declaration.fields if struct else declaration.variants
    return [name for part in parts for name in common.types_in(part.type)]


@dataclass(frozen=True)
class _Links:
    """Links from a page to a type."""

    home: Mapping[str, str]
    page: str

    def to(self, name: str) -> str:
        file = "" if self.home[name] == self.page else f"{self.home[name]}.md"
        return f"[{name}]({file}#{name.lower()})"


def _type(declaration: ir.Declaration, links: _Links) -> TypeView:
    if isinstance(declaration, ir.Struct):
        head, rows = "| field | type | | |", [_field(f, links) for f in declaration.fields]
    elif isinstance(declaration, ir.Enum):
        head, rows = "| word | |", [(v.wire, _cell(v.description)) for v in declaration.values]
    else:
        members = [(v.name, _type_of(v.type, links)) for v in declaration.variants]
        head, rows = "| one of | |", members
    return TypeView(
        name=declaration.names.name,
        doc=declaration.description,
        note=_note(declaration),
        head=head,
        rows=tuple((f"`{name}`", *cells) for name, *cells in rows),
    )


def _note(declaration: ir.Declaration) -> str:
    """Who uses the type, what it is called elsewhere, and what is special about it."""
    usage = declaration.usage
    uses = [("requests", usage.in_requests), ("answers", usage.in_responses)]
    parts = ["In " + " and ".join(word for word, used in uses if used) + "."]
    parts += [f"In {language}: `{name}`." for language, name in declaration.names.overrides]
    if isinstance(declaration, ir.Struct) and declaration.closed:
        parts.append("A member that is not listed is an error.")
    if isinstance(declaration, ir.Enum):
        who = "Everybody keeps" if declaration.open else "Clients keep"
        parts.append(f"{who} a word that is not listed.")
    if isinstance(declaration, ir.Union) and declaration.discriminator:
        parts.append(f"`{declaration.discriminator}` tells which.")
    return " ".join(parts)


def _field(item: ir.Field, links: _Links) -> tuple[str, ...]:
    presence = "required"
    if item.default is not None:
        presence = "default"
    elif not item.required:
        presence = "or null" if item.always else "optional"
    return item.name, _type_of(item.type, links), presence, _cell(common.field_doc(item))


def _type_of(type_: ir.Type, links: _Links) -> str:
    if isinstance(type_, ir.Scalar):
        return {"bool": "boolean", "int": "integer", "float": "number"}.get(type_.kind, type_.kind)
    if isinstance(type_, ir.Const):
        return f'`"{type_.value}"`'
    if isinstance(type_, ir.ListOf):
        return f"array of {_type_of(type_.item, links)}"
    if isinstance(type_, ir.MapOf):
        return f"map from {type_.key} to {_type_of(type_.value, links)}"
    if isinstance(type_, ir.Raw):
        return "any object" if type_.object_only else "any JSON"
    return links.to(type_.name)


def _parity(declarations: Sequence[ir.Declaration]) -> Iterator[list[str]]:
    """Rows: a field, then its name in each of COLUMNS."""
    for declaration in declarations:
        if isinstance(declaration, ir.Struct):
            for item in declaration.fields:
                names = [m.member_name(item.name) for m in COLUMNS.values()]
                yield [f"`{name}`" for name in (f"{declaration.names.name}.{item.name}", *names)]


def _cell(text: str) -> str:
    """One line, in which a bar does not end the cell."""
    return re.sub(r"\s+", " ", text).replace("|", "\\|")

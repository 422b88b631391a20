"""The public declarations of a Swift or Kotlin source, with their comments.

Nothing is compiled: the sources are formatted, so the indentation shows where a declaration ends.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass, field

# A function with more lines of parameters shows the first ones.
LONGEST_HEAD = 16

TOKEN = re.compile(r'/\*.*?\*/|//[^\n]*|"(?:\\.|[^"\\\n])*"|[(\[{}\])]| =(?=\s)', re.DOTALL)
SWIFT_PUBLIC = re.compile(r"(?:@\w+(?:\([^)]*\))? )*(?:public|open) |extension ")
# What each type has because it crosses the wire, or because Swift's own protocols want it.
SWIFT_PLUMBING = re.compile(
    r"\b(?:var|let|func) (?:jsonValue|rawValue|allKnown|description|errorDescription|hash|encode)\b"
    r"|init\((?:from|jsonValue|rawValue|\w*Literal)\b| == "
)
KOTLIN_KEYWORD = re.compile(
    r"(?P<modifiers>(?:@\S+ |[a-z]+ )*?)"
    r"(?:fun interface|class|interface|object|fun|val|var|typealias|constructor)\b"
)
KOTLIN_BASES = re.compile(
    r"(?P<own>(?:[a-z]+ )*(?:class|object)\b[^(]*(?:\(\n.*\n\)|\([^\n]*?\))?)(?P<bases> :.*)",
    re.DOTALL,
)
KOTLIN_NOISE = re.compile(
    r" @JvmOverloads constructor|@JvmOverloads |\bprivate val |^ +@\w+(?:\(.*\))?\n"
    r"|^(?: +/\*\*.*\*/\n)? +internal val .*\n",
    re.MULTILINE,
)
# A constructor that a caller cannot use and that declares no property either.
HIDDEN_CONSTRUCTOR = re.compile(
    r" (?:private|internal) constructor\((?:(?!(?<!private )\bval ).)*?\n?\)(?= :|$)", re.DOTALL
)
CONTAINER = re.compile(r"\b(?:class|struct|enum|protocol|extension|interface|object)\b")
NAME = re.compile(
    r"\b(?P<kind>class|struct|enum|protocol|extension|interface|object|func|fun|typealias|let|var|val)"
    r" +(?:<[^>]*> +)?(?:[\w<>?]+\.)?(?P<name>(?!class\b|interface\b)\w+)"
)


@dataclass
class Declaration:
    """A declaration without its body, the lines of its comment, and what it contains."""

    head: str
    comment: list[str]
    members: list[Declaration] = field(default_factory=list)

    @property
    def title(self) -> str:
        found = NAME.search(self.head)
        assert found is not None, self.head
        return ("extension " if found["kind"] == "extension" else "") + found["name"]


def indent_of(line: str) -> int:
    return len(line) - len(line.lstrip())


def declarations(lines: list[str], language: str, around: str = "") -> Iterator[Declaration]:
    """The public declarations of a block; `around` is the head of what it belongs to."""
    comment: list[str] = []
    at = 0
    while at < len(lines):
        text, end = lines[at].strip(), at + 1
        if text.startswith("/**"):
            while "*/" not in lines[end - 1]:
                end += 1
            comment = [" " * (line.strip()[0] == "*") + line.strip() for line in lines[at:end]]
        elif text.startswith("///"):
            comment.append(text)
        elif not re.fullmatch(r"@[\w:]+(?:\(.*\))?", text):  # an attribute belongs to what follows
            end += continued(lines[end:], indent_of(lines[at])) if text else 0
            head, body = split(dedented(lines[at:end]), language)
            if text and is_public(head, language, around, bool(comment)):
                inner = list(declarations(body, language, head)) if CONTAINER.search(head) else []
                if inner or not head.startswith(("extension", "companion")):
                    yield Declaration(head, comment, inner)
            comment = []
        at = end


def continued(lines: list[str], indent: int) -> int:
    """How many lines continue a declaration that is indented by `indent`."""
    for number, line in enumerate(lines):
        if line.strip() and indent_of(line) <= indent and line.strip()[0] not in ")]}":
            return number
    return len(lines)


def dedented(lines: list[str]) -> list[str]:
    indent = indent_of(lines[0])
    return [line[indent:].rstrip() for line in lines]


def split(lines: list[str], language: str) -> tuple[str, list[str]]:
    """The head of a declaration, and the lines of its body."""
    text, depth = "\n".join(lines), 0
    keeps_value = language == "swift" and not re.search(r"\bfunc\b", lines[0])
    keeps_value = keeps_value or re.search(r"\btypealias |\bconst ", lines[0]) is not None
    for token in TOKEN.finditer(text):
        if depth == 0 and (token[0] == "{" or token[0] == " =" and not keeps_value):
            body = text[token.end() :].split("\n") if token[0] == "{" else []
            return tidy(text[: token.start()].rstrip(), language), body[1:-1]
        depth += {"(": 1, "[": 1, ")": -1, "]": -1}.get(token[0], 0)
    return tidy(text.rstrip(), language), []


def tidy(head: str, language: str) -> str:
    """Without what a caller cannot use, and not too long."""
    if language == "kotlin":
        head = HIDDEN_CONSTRUCTOR.sub("", head)
        head = re.sub(r"\) : this\(.*", ")", head, flags=re.S)
        head = KOTLIN_NOISE.sub("", head)
        bases = KOTLIN_BASES.match(head)
        head = bases["own"] + without_arguments(bases["bases"]) if bases else head
    lines = head.split("\n")
    if len(lines) > LONGEST_HEAD and not re.search(r"\b(?:class|enum|interface)\b", lines[0]):
        left_out = len(lines) - 4
        lines[3:-1] = [f"    // ... and {left_out} more"]
    return "\n".join(lines)


def without_arguments(bases: str) -> str:
    """The names of a class's bases on one line, without what their constructors get."""
    names = re.sub(r"\([^()]*(?:\([^()]*\)[^()]*)*\)", "", bases)
    return re.sub(r"\s+", " ", names)


def is_public(head: str, language: str, around: str, is_described: bool) -> bool:
    if language == "swift":
        inside = re.search(r"\b(?:enum|protocol)\b", around) is not None
        shown = SWIFT_PUBLIC.match(head) or inside and re.match(r"(?:indirect )?case ", head)
        shown = shown or "protocol " in around
        return bool(shown) and (is_described or not SWIFT_PLUMBING.search(head))
    if "enum class" in around and re.match(r"\w+[,;(]|\w+$", head):
        return True
    keyword = KOTLIN_KEYWORD.match(head)
    if keyword is None or re.search(r"\b(?:private|internal|protected)\b", keyword["modifiers"]):
        return False
    return is_described or "override" not in keyword["modifiers"]


def outline(one: Declaration, with_comment: bool = True) -> list[str]:
    """A declaration and its members as lines of code."""
    lines = [*(one.comment if with_comment else []), *one.head.split("\n")]
    if one.members:
        lines[-1] += " {"
        shown: list[list[str]] = []
        for member in map(outline, one.members):
            if member not in shown:  # functions that differ in what was left out
                lines += [""] if shown and member[0][0] == "/" else []
                lines += ["    " + line if line else "" for line in member]
                shown.append(member)
        lines.append("}")
    return lines

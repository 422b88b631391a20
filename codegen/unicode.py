"""Writes the Unicode tables of the tokenizer: core/src/text/unicode/unicode_tables.gen.{h,cc}.

Usage: pip install unicodedataplus==16.0.0.post1 && python codegen/unicode.py

The reference, the `tokenizers` package 0.23, is built of parts that follow different versions of
Unicode. Ids are equal only if we follow each part, so every table below says whose it is:

- split patterns (Oniguruma 6.9.9) and the `Whitespace` pre-tokenizer (Rust `regex`): 16.0
- `Digits`, `Lowercase` (Rust's standard library): 17.0
- `Punctuation`, `BertNormalizer` (`unicode_categories` 0.1.1): 8.0
- NFC, NFD, NFKC, NFKD, `StripAccents` (`unicode-normalization-alignments` 0.1.12): 9.0

An older version is the newest one restricted by age, with the few characters whose category changed
since then named one by one.
"""

from __future__ import annotations

import pathlib
import sys
from collections.abc import Callable, Iterable

import unicodedataplus as ucd

PINNED = "16.0.0"
COMMAND = "python codegen/unicode.py (unicodedataplus 16.0.0.post1)"
TARGET = pathlib.Path(__file__).resolve().parent.parent / "core" / "src" / "text" / "unicode"
CODE_POINTS = [c for c in range(0x110000) if not 0xD800 <= c < 0xE000]
CATEGORIES = (
    "Lu Ll Lt Lm Lo Mn Mc Me Nd Nl No Pc Pd Ps Pe Pi Pf Po Sm Sc Sk So Zs Zl Zp Cc Cf Cs Co Cn"
).split()
SCRIPTS = (
    "Arabic Armenian Bengali Cyrillic Devanagari Georgian Greek Han Hangul Hebrew Hiragana "
    "Katakana Khmer Lao Latin Myanmar Tamil Telugu Thai Tibetan"
).split()
BREAKS = (
    "Other CR LF Control Extend ZWJ Regional_Indicator Prepend SpacingMark L V T LV LVT"
).split()

# Lowercase pairs added by Unicode 16 and 17; the running Python may be older.
NEW_LOWER = {0x1C89: 0x1C8A, 0xA7CB: 0x264, 0xA7DC: 0x19B}
NEW_LOWER |= {c: c + 1 for c in (0xA7CC, 0xA7CE, 0xA7D2, 0xA7D4, 0xA7DA)}
NEW_LOWER |= {c: c + 0x20 for c in range(0x10D50, 0x10D66)}
NEW_LOWER |= {c: c + 0x1B for c in range(0x16EA0, 0x16EB9)}

Range = tuple[int, int]


def age(code_point: int) -> float:
    value = ucd.age(chr(code_point))
    return float(value) if value and value[0].isdigit() else 99.0


CATEGORY = {c: ucd.category(chr(c)) for c in CODE_POINTS}
AGE = {c: age(c) for c in CODE_POINTS}


def ranges_of(members: Iterable[int]) -> list[Range]:
    out: list[Range] = []
    for c in sorted(members):
        if out and out[-1][1] == c - 1:
            out[-1] = (out[-1][0], c)
        else:
            out.append((c, c))
    return out


def assigned(version: float, predicate: Callable[[str], bool]) -> set[int]:
    return {c for c in CODE_POINTS if AGE[c] <= version and predicate(CATEGORY[c])}


def properties() -> dict[str, set[int]]:
    """The code point sets that are not plain general categories."""
    circled = {
        c
        for first, last in (
            (0x24B6, 0x24E9),
            (0x1F130, 0x1F149),
            (0x1F150, 0x1F169),
            (0x1F170, 0x1F189),
        )
        for c in range(first, last + 1)
    }
    word = assigned(16, lambda k: k[0] in "LM" or k in ("Nd", "Nl", "Pc")) | circled
    spaces = assigned(16, lambda k: k[0] == "Z") | set(range(9, 14)) | {0x85}
    return {
        "WhiteSpace": spaces,
        # Oniguruma counts the superscript digits and fractions of Latin-1 as word characters.
        "OnigWord": word | {0xB2, 0xB3, 0xB9, 0xBC, 0xBD, 0xBE},
        "RustWord": word | {0x200C, 0x200D},
        "Numeric17": assigned(16, lambda k: k[0] == "N") | set(range(0x11DE0, 0x11DED)),
        "Punctuation8": assigned(8, lambda k: k[0] == "P") | {0x166D, 0x111C9},
        "Other8": assigned(8, lambda k: k in ("Cc", "Cf", "Co")),
        "NonspacingMark8": (assigned(8, lambda k: k == "Mn") | {0x1734, 0x1171E})
        - {0x1885, 0x1886, 0xA9BD, 0x111C9},
        "CombiningMark9": (assigned(9, lambda k: k[0] == "M") | {0x1CF2, 0x1CF3}) - {0x111C9},
    }


def hangul(code_point: int) -> bool:
    return 0xAC00 <= code_point <= 0xD7A3


def decompositions() -> tuple[list[tuple[int, int, int, bool]], list[int]]:
    """Full decompositions: (code point, offset, length, is compatibility) and the pool."""
    rows: list[tuple[int, int, int, bool]] = []
    pool: list[int] = []
    for c in CODE_POINTS:
        if hangul(c) or AGE[c] > 9:
            continue
        canonical, compat = (ucd.normalize(form, chr(c)) for form in ("NFD", "NFKD"))
        for text, kind in ((canonical, False), (compat, True)):
            if text == chr(c) or (kind and text == canonical):
                continue
            rows.append((c, len(pool), len(text), kind))
            pool += map(ord, text)
    return rows, pool


def compositions() -> list[tuple[int, int, int]]:
    """Primary composites: (first, second, composed), sorted."""
    out = []
    for c in CODE_POINTS:
        parts = ucd.decomposition(chr(c))
        if hangul(c) or AGE[c] > 9 or not parts or parts[0] == "<":
            continue
        pair = [int(p, 16) for p in parts.split()]
        if len(pair) == 2 and ucd.normalize("NFC", chr(c)) == chr(c):
            out.append((pair[0], pair[1], c))
    return sorted(out)


def case_map(convert: Callable[[str], str], extra: dict[int, int]) -> list[tuple[int, int]]:
    """(code point, single mapped code point), sorted; longer mappings are left out."""
    pairs = {c: ord(m) for c in CODE_POINTS if len(m := convert(chr(c))) == 1 and m != chr(c)}
    return sorted((pairs | extra).items())


def case_runs(pairs: list[tuple[int, int]]) -> list[tuple[int, int, int, int]]:
    """Runs (first, last, step, delta) of pairs with one delta."""
    runs: list[list[int]] = []
    for c, mapped in pairs:
        delta = mapped - c
        if runs and runs[-1][3] == delta:
            run = runs[-1]
            step = c - run[1]
            if step in (1, 2) and (run[0] == run[1] or step == run[2]):
                run[1], run[2] = c, step
                continue
        runs.append([c, c, 1, delta])
    return [(r[0], r[1], r[2], r[3]) for r in runs]


def category_starts() -> list[int]:
    """First code point of each run of one category, packed as code point << 5 | category."""
    out, last = [], ""
    for c in range(0x110000):
        category = CATEGORY.get(c, "Cs")
        if category != last:
            out.append(c << 5 | CATEGORIES.index(category))
            last = category
    return out


def property_starts(value_of: Callable[[int], int]) -> list[int]:
    """Like category_starts for any small number."""
    out, last = [], -1
    for c in range(0x110000):
        value = value_of(c)
        if value != last:
            out.append(c << 5 | value)
            last = value
    return out


def grapheme_break(code_point: int) -> int:
    """Grapheme_Cluster_Break in the low four bits; Extended_Pictographic is bit 4."""
    if 0xD800 <= code_point < 0xE000:
        return BREAKS.index("Control")
    if hangul(code_point):
        return BREAKS.index("LVT")  # the code tells LV from LVT by arithmetic
    index = BREAKS.index(ucd.grapheme_cluster_break(chr(code_point)))
    return index | (16 if ucd.is_extended_pictographic(chr(code_point)) else 0)


def conjunct_break(code_point: int) -> int:
    """Indic_Conjunct_Break: 0 none, 1 consonant, 2 linker, 3 extend."""
    if 0xD800 <= code_point < 0xE000:
        return 0
    return {"Consonant": 1, "Linker": 2, "Extend": 3}.get(
        ucd.indic_conjunct_break(chr(code_point)), 0
    )


def numbers(values: Iterable[int]) -> str:
    lines, line = [], "   "
    for value in values:
        text = f" {value},"
        if len(line) + len(text) > 100:
            lines.append(line)
            line = "   "
        line += text
    return "\n".join([*lines, line])


def array(name: str, kind: str, values: Iterable[int]) -> str:
    values = list(values)
    return (
        f"const {kind} k{name}[] = {{\n{numbers(values)}\n}};\n"
        f"const size_t k{name}Size = {len(values)};\n"
    )


def flat(rows: Iterable[tuple[int, ...]]) -> list[int]:
    return [value for row in rows for value in row]


def tables() -> list[tuple[str, str, list[int], str]]:
    """(name, element type, values, comment) of each array."""
    rows, pool = decompositions()
    out = [
        (
            "CategoryStarts",
            "uint32_t",
            category_starts(),
            "Unicode 16: code point << 5 | category, of each run.",
        )
    ]
    for name, members in properties().items():
        out.append((name, "uint32_t", flat(ranges_of(members)), "Pairs first, last."))
    for script in SCRIPTS:
        members = {c for c in CODE_POINTS if ucd.script(chr(c)) == script}
        out.append((f"Script{script}", "uint32_t", flat(ranges_of(members)), "Pairs first, last."))
    lower = case_map(str.lower, NEW_LOWER)
    fold = case_map(str.casefold, NEW_LOWER)
    run = "Rows first, last, step, delta."
    out += [
        ("LowerRuns", "int32_t", flat(case_runs(lower)), run),
        ("FoldRuns", "int32_t", flat(case_runs(fold)), run),
        (
            "CombiningClassStarts",
            "uint32_t",
            [c << 8 | v for c, v in combining_starts()],
            "Code point << 8 | class, of each run.",
        ),
        (
            "Decompositions",
            "uint32_t",
            flat((c, offset << 8 | length << 1 | kind) for c, offset, length, kind in rows),
            "Rows code point, offset << 8 | length << 1 | compatibility.",
        ),
        ("DecompositionPool", "uint32_t", pool, "Code points."),
        ("Compositions", "uint32_t", flat(compositions()), "Rows first, second, composed."),
        (
            "GraphemeBreakStarts",
            "uint32_t",
            property_starts(grapheme_break),
            "Code point << 5 | pictographic << 4 | break, of each run.",
        ),
        (
            "ConjunctBreakStarts",
            "uint32_t",
            property_starts(conjunct_break),
            "Code point << 5 | Indic_Conjunct_Break, of each run.",
        ),
    ]
    return out


def combining_starts() -> list[tuple[int, int]]:
    out: list[tuple[int, int]] = []
    last = -1
    for c in range(0x110000):
        value = ucd.combining(chr(c)) if c in AGE and AGE[c] <= 9 else 0
        if value != last:
            out.append((c, value))
            last = value
    return out


def main() -> None:
    if ucd.unidata_version != PINNED:
        sys.exit(f"needs unicodedataplus for Unicode {PINNED}, found {ucd.unidata_version}")
    head = f"// Generated from the Unicode Character Database. Never edit.\n// By: {COMMAND}\n"
    declarations, definitions = [], []
    for name, kind, values, comment in tables():
        declarations.append(
            f"// {comment}\nextern const {kind} k{name}[];\nextern const size_t k{name}Size;\n"
        )
        definitions.append(array(name, kind, values))
    opening = "namespace mlc {\nnamespace unicode_tables {\n\n"
    closing = "\n}  // namespace unicode_tables\n}  // namespace mlc\n"
    header = (
        f"{head}#pragma once\n\n#include <cstddef>\n#include <cstdint>\n\n"
        f"{opening}{''.join(declarations)}{closing}"
    )
    source = (
        f'{head}#include "text/unicode/unicode_tables.gen.h"\n\n// clang-format off\n{opening}'
        + "\n".join(definitions)
        + closing
    )
    (TARGET / "unicode_tables.gen.h").write_text(header)
    (TARGET / "unicode_tables.gen.cc").write_text(source)


if __name__ == "__main__":
    main()

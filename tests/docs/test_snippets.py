"""Every block of every page runs in a test or says why not; commands in sentences are known."""

from __future__ import annotations

import contextlib
import io
import json
import re
import shlex
from collections import Counter
from pathlib import Path

import pytest
import snippets

from mlc_llm.cli import COMMANDS, named, parser_of

FOUND = snippets.all_snippets()
# What pages write for something of the reader's.
ANY = re.compile(r"\[.*?\]|\b(?:COMMAND|FOLDER|NAME)\b|\.\.\.")


def test_the_pages_have_blocks_of_each_language() -> None:
    counts = {language: len(snippets.to_run(language)) for language in snippets.RUN}
    assert counts["sh"] >= 5 and counts["python"] >= 10, counts
    assert counts["swift"] >= 5 and counts["kotlin"] >= 5, counts
    assert counts["typescript"] >= 4, counts


# What no test can run: how many blocks of each page. A new one has to be let in here.
NOT_RUN = {
    "README.md": 2,  # they build the engine
    "docs/python.md": 1,  # the same
    "docs/new-model.md": 1,  # a family of the reader
    "docs/gpu.md": 3,  # a GPU's driver; tests and benchmarks
    "docs/mcp.md": 3,  # servers of others
    "docs/web.md": 1,  # 14 minutes
    "docs/packaging.md": 3,  # a download; three compilations; a model of the reader
    "docs/speculation.md": 2,  # downloads
    "docs/apps-android.md": 2,  # a phone
    "bindings/swift/README.md": 1,  # an app of the reader
    "examples/open-webui/README.md": 1,  # Docker
    "examples/scale-out/README.md": 2,  # Ray
    "examples/lora/README.md": 1,  # minutes of training
    "examples/web-chat/README.md": 1,  # it compiles the core for browsers
}


def test_no_other_blocks_are_left_out() -> None:
    assert Counter(snippet.page for snippet in FOUND if snippet.reason) == NOT_RUN


@pytest.mark.parametrize("snippet", [s for s in FOUND if s.test], ids=lambda s: s.place)
def test_a_block_that_another_test_runs_is_known_there(snippet: snippets.Snippet) -> None:
    text = (snippets.ROOT / str(snippet.test)).read_text(encoding="utf-8")
    assert snippet.page in text or Path(snippet.page).name in text


@pytest.mark.parametrize("snippet", FOUND, ids=lambda s: s.place)
def test_a_block_names_its_language(snippet: snippets.Snippet) -> None:
    assert snippet.language in snippets.LANGUAGES, f"{snippet.place}: ```{snippet.language}"
    if snippet.language == "json":
        json.loads(snippet.text)


def test_commands_stand_in_fences() -> None:
    """A block that is only indented would run nowhere."""
    bare = re.compile(r"^ {4,}(?:mlc_llm|\./dev|pip|java|swift|bindings/\S+\.py) ", re.MULTILINE)
    for page in snippets.PAGES:
        text = re.sub(r"^ *```.*?^ *```", "", page.read_text(encoding="utf-8"), flags=re.S | re.M)
        assert bare.findall(text) == [], page


def test_blocks_are_found_with_their_reasons() -> None:
    text = "a\n```sh\nls\n```\n<!-- not run: it is large -->\n```python\nx = 1\n\ny = 2\n```\n"
    text += "<!-- run by: tests/a.py -->\n```sh\nls\n```\n"
    assert snippets.snippets_of(text, "p") == [
        snippets.Snippet("p", 2, "sh", "ls\n"),
        snippets.Snippet("p", 6, "python", "x = 1\n\ny = 2\n", "it is large"),
        snippets.Snippet("p", 12, "sh", "ls\n", None, "tests/a.py"),
    ]
    with pytest.raises(AssertionError, match="p:1: this block has no end"):
        snippets.snippets_of("```sh\nls\n", "p")


def refusal(command: str) -> str:
    """What the command line says against a command; "" when it takes it."""
    words = named(shlex.split(command)[1:])
    if words[0] not in COMMANDS:
        return f"there is no command {words[0]}"
    if len(words) == 1:  # the name alone, which a sentence speaks of
        return ""
    errors = io.StringIO()
    try:
        with contextlib.redirect_stderr(errors), contextlib.redirect_stdout(io.StringIO()):
            parser_of(words[0]).parse_args(words)
    except SystemExit as ended:
        return errors.getvalue() if ended.code else ""
    return ""


INLINE = sorted(
    {
        command
        for page in snippets.PAGES
        for command in snippets.commands_in(page.read_text(encoding="utf-8"))
        if not ANY.search(command) and ", " not in command
    }
)


@pytest.mark.parametrize("command", [c for c in INLINE if c.startswith("mlc_llm")])
def test_the_command_line_takes_a_command_in_a_sentence(command: str) -> None:
    for piece in re.sub(r"\\?\|.*", "", command).split(" < "):  # a pipe and a file are the shell's
        if piece.startswith("mlc_llm"):
            assert refusal(piece) == ""


def test_a_wrong_command_is_refused() -> None:
    assert "no command sing" in refusal("mlc_llm sing")
    assert "--modell" in refusal("mlc_llm serve --modell x")


@pytest.mark.parametrize("command", [c for c in INLINE if c.startswith("./dev")])
def test_dev_has_what_a_sentence_names(command: str) -> None:
    words = shlex.split(command)[1:]
    text = (snippets.ROOT / "dev").read_text(encoding="utf-8")
    assert f'\n    "{words[0]}": ' in text
    if words[0] == "bench" and len(words) > 1:
        assert (snippets.ROOT / "tests" / "bench" / f"{words[1]}.py").is_file()
    if words[0] == "test":
        for folder in (w for w in words[1:] if re.fullmatch(r"[a-z]\w*(?:/[\w.]+)*", w)):
            if words[words.index(folder) - 1] != "-k":
                assert (snippets.ROOT / "tests" / folder).exists(), folder

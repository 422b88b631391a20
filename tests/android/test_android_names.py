"""The table of names that Android's libraries export, and the edits of musl's headers."""

from __future__ import annotations

import re
from pathlib import Path

import pytest
from devtools.android import headers, sysroot


def test_every_name_is_listed_once() -> None:
    names = sysroot.names()
    assert set(names) == {"c", "m", "dl", "log"}
    listed = [name.lstrip("*") for library in names.values() for name in library]
    assert len(listed) == len(set(listed))
    assert all(re.fullmatch(r"[A-Za-z_]\w*", name) for name in listed)


def test_what_came_after_api_26_is_not_in_the_table() -> None:
    """API 28 and later, by bionic's documentation: a library that needs one is not loaded."""
    later = {"aligned_alloc", "getrandom", "getentropy", "iconv", "glob", "posix_spawn", "fexecve"}
    later |= {"timespec_get", "pthread_cond_clockwait", "memfd_create", "strerrorname_np"}
    listed = {name for library in sysroot.names().values() for name in library}
    assert listed & later == set()


@pytest.mark.parametrize(
    ("name", "text", "expected"),
    [
        ("errno.h", "#define errno (*__errno_location())", "#define errno (*__errno())"),
        ("locale.h", "#define LC_ALL_MASK   0x7fffffff", "#define LC_ALL_MASK   0x1fbf"),
        ("unistd.h", "#define _SC_PAGE_SIZE 30\n", "#define _SC_PAGE_SIZE 40\n"),
        ("unistd.h", "#define _SC_PAGESIZE 30 /* !! */\n", "#define _SC_PAGESIZE 39\n"),
        ("unistd.h", "#define _SC_TRACE 181\n", ""),
    ],
)
def test_an_edit_of_a_header(name: str, text: str, expected: str) -> None:
    assert headers.EDITS[name](text) == expected


def test_a_signals_action_begins_with_its_flags() -> None:
    text = "struct sigaction {\n\tvoid (*handler)(int);\n\tsigset_t sa_mask;\n\tint sa_flags;\n};\n"
    lines = headers.EDITS["signal.h"](text).splitlines()
    assert lines[1] == "\tint sa_flags;" and lines[2] == "\tvoid (*handler)(int);"


def test_a_header_that_musl_changed_is_an_error() -> None:
    with pytest.raises(SystemExit, match="musl's headers have changed"):
        headers.EDITS["errno.h"]("int errno;")


def test_headers_of_another_libc_are_left_out(tmp_path: Path) -> None:
    """A type that differs, as `struct addrinfo` does, must not be there to be used."""
    assert not {"netdb", "regex", "termios", "glob", "langinfo"} & set(headers.ALLOWED)

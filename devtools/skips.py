"""Skips as failures: `./dev test --no-skips LIST` fails for a skip that LIST does not allow.

A line of LIST has three parts. The first two are patterns: of the test's file (`core/SUITE.TEST` in
C++), and of the reason with which it is skipped. The third one says why that is allowed.

    tests/*  |  *--long*  |  takes long: ./dev test --long runs it

What is not allowed is printed as lines of such a list, so an empty LIST (/dev/null) prints all
skips.
"""

from __future__ import annotations

import os
from collections.abc import Iterable
from dataclasses import dataclass, field
from fnmatch import fnmatchcase
from pathlib import Path
from typing import Any
from xml.etree import ElementTree


@dataclass(frozen=True, order=True)
class Skip:
    """A test, or a file of tests, that was skipped."""

    test: str
    reason: str


@dataclass(frozen=True)
class SkipList:
    """The patterns of a LIST: of tests and of reasons."""

    path: Path
    patterns: tuple[tuple[str, str], ...]

    @classmethod
    def read(cls, path: Path) -> SkipList:
        patterns = []
        for number, line in enumerate(path.read_text(encoding="utf-8").splitlines(), start=1):
            if not line.strip() or line.startswith("#"):
                continue
            parts = [part.strip() for part in line.split("|")]
            if len(parts) != 3 or not all(parts):
                raise SystemExit(f"{path}:{number}: it must be: test | reason | why it is allowed")
            patterns.append((parts[0], parts[1]))
        return cls(path, tuple(patterns))

    def allows(self, skip: Skip) -> bool:
        return any(
            fnmatchcase(skip.test, test) and fnmatchcase(skip.reason, reason)
            for test, reason in self.patterns
        )

    def complaint(self, skips: Iterable[Skip]) -> list[str]:
        """The lines to print about what is not allowed; none if all is."""
        forbidden = sorted({skip for skip in skips if not self.allows(skip)})
        if not forbidden:
            return []
        return [
            f"{len(forbidden)} skips are not in {self.path}. Install what is missing, or add them:",
            *(f"{skip.test} | {_pattern(skip.reason)} | WHY" for skip in forbidden),
        ]


def skips_of_gtest(report: Path) -> list[Skip]:
    """What GoogleTest's XML report says."""
    return [
        Skip(f"core/{case.get('classname')}.{case.get('name')}", _one_line(skipped.get("message")))
        for case in ElementTree.parse(report).iter("testcase")
        for skipped in case.iter("skipped")
    ]


def _pattern(reason: str) -> str:
    """A pattern of this reason alone, without what has a meaning in the list."""
    return reason.translate(str.maketrans("[]|*", "????"))


def _one_line(message: str | None) -> str:
    """Without the place in the source, which comes first."""
    lines = (message or "").strip().splitlines()
    return " ".join(lines[1:] or lines)


def add_option(parser: Any) -> None:
    """For pytest's hook of that kind."""
    parser.addoption("--no-skips", metavar="LIST", help="fail for skips that LIST does not allow")


def install(config: Any) -> None:
    """For pytest_configure. Only the process that hears of all tests judges them."""
    path = config.getoption("--no-skips")
    if path is not None and "PYTEST_XDIST_WORKER" not in os.environ:
        config.pluginmanager.register(_Plugin(SkipList.read(Path(path))))


@dataclass(eq=False)  # pytest keeps plugins in sets
class _Plugin:
    allowed: SkipList
    skips: list[Skip] = field(default_factory=list)

    def pytest_runtest_logreport(self, report: Any) -> None:
        if report.skipped and not hasattr(report, "wasxfail"):
            reason = str(report.longrepr[2]).removeprefix("Skipped: ").replace("\n", " ")
            self.skips.append(Skip(report.nodeid.partition("::")[0], reason))

    def pytest_collectreport(self, report: Any) -> None:
        self.pytest_runtest_logreport(report)

    def pytest_sessionfinish(self, session: Any) -> None:
        if session.exitstatus == 0 and self.allowed.complaint(self.skips):
            session.exitstatus = 1

    def pytest_terminal_summary(self, terminalreporter: Any) -> None:
        for line in self.allowed.complaint(self.skips):
            terminalreporter.write_line(line, red=True)

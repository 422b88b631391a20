"""`./dev test --no-skips LIST`: a skip is a failure unless LIST allows it."""

from __future__ import annotations

import os
import runpy
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
from devtools.skips import Skip, SkipList, skips_of_gtest

ROOT = Path(__file__).parents[2]
CONFTEST = """
from devtools import skips
pytest_addoption, pytest_configure = skips.add_option, skips.install
"""
TESTS = """
import pytest
def test_passes(): pass
def test_long(): pytest.skip("an hour: --long")
@pytest.mark.skipif(True, reason="no [swift] | kotlin")
def test_language(): pass
@pytest.mark.xfail(reason="known")
def test_known(): assert False
"""
REPORT = """<testsuites><testsuite name="A">
<testcase name="B" classname="A"><skipped message="/a.cc:2&#x0A;no device"/></testcase>
<testcase name="C" classname="A"/></testsuite></testsuites>"""
LONG = "test_*.py | *--long | takes long"
LANGUAGE = "test_small.py | no ?swift? ? kotlin | WHY"


def run_pytest(folder: Path, listed: str, *options: str) -> subprocess.CompletedProcess[str]:
    (folder / "conftest.py").write_text(CONFTEST)
    (folder / "test_small.py").write_text(TESTS)
    (folder / "test_module.py").write_text('import pytest\npytest.importorskip("no_such_package")')
    (folder / "list.txt").write_text(listed)
    below = folder / "below"  # with hooks of its own, as many folders of tests have
    below.mkdir(exist_ok=True)
    (below / "conftest.py").write_text("def pytest_collectreport(report): pass")
    (below / "test_below.py").write_text("def test_passes(): pass")
    (folder / "pytest.ini").write_text("[pytest]")  # not the one of this project
    command = [sys.executable, "-m", "pytest", "-c", folder / "pytest.ini", folder]
    words = ["-p", "no:cacheprovider", "--no-skips", folder / "list.txt", *options]
    alone = {k: v for k, v in os.environ.items() if not k.startswith("PYTEST_XDIST")}
    alone["PYTEST_DISABLE_PLUGIN_AUTOLOAD"] = "1"  # those that are installed take seconds
    words += ["-p", "xdist"] if options else []
    return subprocess.run([*command, *words], cwd=ROOT, env=alone, capture_output=True, text=True)


@pytest.mark.parametrize("options", [(), ("-n2",)])
def test_what_is_not_allowed_fails_the_run(tmp_path: Path, options: tuple[str, ...]) -> None:
    done = run_pytest(tmp_path, LONG, *options)
    assert done.returncode == 1 and "2 skips are not in" in done.stdout
    printed = [line for line in done.stdout.splitlines() if line.endswith(" | WHY")]
    assert printed[0].startswith("test_module.py | could not import 'no_such_package': ")
    assert printed[1:] == [LANGUAGE]
    whole = "\n".join(["# a comment", "", LONG, *printed])
    assert run_pytest(tmp_path, whole, *options).returncode == 0


def test_each_line_says_why(tmp_path: Path) -> None:
    (tmp_path / "list.txt").write_text(f"{LONG}\ntests/* | no compiler |\n")
    with pytest.raises(SystemExit, match=r"list\.txt:2: it must be: test \| reason \| why"):
        SkipList.read(tmp_path / "list.txt")


def test_skips_of_the_core(tmp_path: Path) -> None:
    (tmp_path / "report.xml").write_text(REPORT)
    skips = skips_of_gtest(tmp_path / "report.xml")
    assert skips == [Skip("core/A.B", "no device")]
    assert SkipList(Path("list"), (("core/A.*", "no *"),)).complaint(skips) == []


@pytest.mark.parametrize(("listed", "status"), [("core/A.B | no device | x", None), ("", 1)])
def test_the_core_s_tests_are_judged(tmp_path: Path, listed: str, status: int | None) -> None:
    program = tmp_path / "core" / "mlc_core_test"
    program.parent.mkdir()
    program.write_text(f"#!/bin/sh\ncat > \"${{GTEST_OUTPUT#xml:}}\" <<'X'\n{REPORT}\nX\n")
    program.chmod(0o755)
    (tmp_path / "list.txt").write_text(listed)
    dev: dict[str, Any] = runpy.run_path(str(ROOT / "dev"))
    run = dev["run_core_tests"]
    run.__globals__["BUILD"] = tmp_path
    allowed = SkipList.read(tmp_path / "list.txt")
    if status is None:
        run([], {}, allowed=allowed)
    else:
        with pytest.raises(SystemExit, match=r"core/A\.B \| no device \| WHY"):
            run([], {}, allowed=allowed)


def test_the_list_of_continuous_integration_can_be_read() -> None:
    listed = ROOT / ".ci" / "allowed-skips.txt"
    assert SkipList.read(listed).patterns
    assert f"--no-skips {listed.relative_to(ROOT)}" in (ROOT / ".ci" / "run").read_text()

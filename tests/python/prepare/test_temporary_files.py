"""Scratch folders and locks: what is in use stays, what a killed process left goes."""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import pytest

from mlc_llm.prepare.progress import Steps
from mlc_llm.prepare.temporary_files import locked, remove_leftovers, scratch_folder

# Takes a scratch folder and a lock, says so, and waits to be killed.
_HOLDER = """
import sys, time
from pathlib import Path
from mlc_llm.prepare.temporary_files import locked, scratch_folder
from mlc_llm.prepare.progress import Steps
target = Path(sys.argv[1])
with locked(target, Steps()), scratch_folder(target) as folder:
    (folder / "half").write_text("x")
    print("ready", flush=True)
    time.sleep(600)
"""


@pytest.fixture
def holder(tmp_path: Path):
    command = [sys.executable, "-c", _HOLDER, str(tmp_path / "thing")]
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True) as child:
        assert child.stdout is not None and child.stdout.readline() == "ready\n"
        yield child
        child.kill()


def names(folder: Path) -> list[str]:
    return sorted(os.listdir(folder))


def test_leftovers_of_a_killed_process_go(holder, tmp_path: Path) -> None:
    before = names(tmp_path)
    assert len(before) == 2  # the folder and the lock
    remove_leftovers(tmp_path)
    assert names(tmp_path) == before  # in use
    holder.kill()
    holder.wait()
    (tmp_path / ".other.tmp-dir").mkdir()
    (tmp_path / "model.so").write_text("kept")
    (tmp_path / ".hidden").write_text("kept: not ours")
    remove_leftovers(tmp_path, "thing")
    assert ".other.tmp-dir" in names(tmp_path) and len(names(tmp_path)) == 4
    remove_leftovers(tmp_path)
    assert names(tmp_path) == [".hidden", "model.so"]
    remove_leftovers(tmp_path / "nowhere")


def test_nothing_stays_behind_a_success_or_an_error(tmp_path: Path) -> None:
    with locked(tmp_path / "x", Steps()), scratch_folder(tmp_path / "x") as folder:
        assert folder.is_dir() and folder.name.startswith(".x.tmp-")
    with pytest.raises(KeyboardInterrupt), scratch_folder(tmp_path / "x"):
        raise KeyboardInterrupt
    assert names(tmp_path) == []


class Told(Steps):
    """Remembers the titles of steps, and acts when one begins."""

    def __init__(self, act: Callable[[], object] = lambda: None) -> None:
        self.titles: list[str] = []
        self.act = act

    def step(self, title, measure=None):
        self.titles.append(title)
        self.act()
        return super().step(title, measure)


def test_a_waiting_process_says_so_and_goes_on(holder, tmp_path: Path) -> None:
    told = Told(holder.kill)  # it waits until the other one has ended
    with locked(tmp_path / "thing", told):
        assert holder.wait(timeout=60) != 0
    assert told.titles == ["Waiting for another process that makes thing"]
    with locked(tmp_path / "other", told):
        pass
    assert len(told.titles) == 1

"""The conformance vectors are what the schema and by_hand.py make of them."""

from __future__ import annotations

import subprocess
import sys

from programs import HERE


def test_the_vectors_are_current() -> None:
    command = [sys.executable, HERE / "vectors" / "make.py", "--check"]
    done = subprocess.run(command, capture_output=True, text=True)
    assert done.returncode == 0, done.stdout + done.stderr


def test_what_is_recorded_is_current() -> None:
    """The words of faults and the fake model's answers; after a change that is meant: --record."""
    command = [sys.executable, HERE / "vectors" / "make.py", "--check", "--record"]
    done = subprocess.run(command, capture_output=True, text=True)
    hint = "when the change is meant: `python tests/bindings/vectors/make.py --record`"
    assert done.returncode == 0, f"{done.stdout}{done.stderr}\n{hint}"

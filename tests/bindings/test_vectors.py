"""The conformance vectors are what the schema and by_hand.py make of them."""

from __future__ import annotations

import subprocess
import sys

from programs import HERE


def test_the_vectors_are_current() -> None:
    make = HERE / "vectors" / "make.py"
    done = subprocess.run([sys.executable, make, "--check"], capture_output=True, text=True)
    hint = f"run `python tests/bindings/vectors/{make.name}`"
    assert done.returncode == 0, f"{done.stdout}{done.stderr}\n{hint}"
    assert "differs from the core" not in done.stdout, done.stdout

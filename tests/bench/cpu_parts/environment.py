"""Environments of other programs, under build/ and never in the project's own environment."""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path

ROOT = Path(__file__).resolve().parents[3]


@dataclass(frozen=True)
class Environment:
    """A package of PyPI in an environment of its own. With `from_source` it is built for this
    machine, which takes minutes the first time."""

    folder: str  # below build/
    package: str
    module: str
    variables: Mapping[str, str] = field(default_factory=dict)  # while it is installed
    from_source: bool = False

    @property
    def home(self) -> Path:
        return ROOT / "build" / self.folder

    @property
    def python(self) -> Path:
        return self.home / "venv" / "bin" / "python"

    def install(self) -> Path | None:
        """Its Python, or None (with a word on standard error) where it cannot be had."""
        if not self._works():
            print(f"installing {self.package} in {self.home}", file=sys.stderr, flush=True)
            self.home.mkdir(parents=True, exist_ok=True)
            source = ["--no-binary", self.package] if self.from_source else []
            command = [self.python, "-m", "pip", "install", "-q", *source, self.package, "numpy"]
            try:
                subprocess.run([sys.executable, "-m", "venv", self.home / "venv"], check=True)
                subprocess.run(command, check=True, env={**os.environ, **self.variables})
            except (OSError, subprocess.CalledProcessError) as error:
                print(f"{self.package} cannot be installed: {error}", file=sys.stderr, flush=True)
                return None
        return self.python if self._works() else None

    def _works(self) -> bool:
        return self.python.is_file() and self._run(f"import {self.module}").returncode == 0

    def version(self) -> str:
        code = f"from importlib.metadata import version; print(version({self.package!r}))"
        return self._run(code).stdout.strip()

    def _run(self, code: str) -> subprocess.CompletedProcess[str]:
        return subprocess.run([self.python, "-c", code], capture_output=True, text=True)

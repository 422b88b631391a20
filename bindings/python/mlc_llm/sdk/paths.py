"""Paths that callers give."""

from __future__ import annotations

import os
from pathlib import Path


def absolute(path: str | Path) -> str:
    """As the core takes it: it does not read `~`."""
    return str(Path(os.path.expanduser(path)).absolute())

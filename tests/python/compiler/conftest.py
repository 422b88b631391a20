"""What several files of these tests use lies in `support`, whose modules go by their bare names."""

from __future__ import annotations

import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parent / "support"))

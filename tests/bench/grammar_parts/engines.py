"""Programs that compile a schema and follow texts, one line each; none takes the bench with it."""

from __future__ import annotations

import json
import select
import subprocess
import sys
from pathlib import Path
from typing import Any

from grammar_parts.packages import PEER, unpacked

ROOT = Path(__file__).resolve().parents[3]
PROGRAM = ROOT / "build" / "dev" / "core" / "mlc_grammars_bench"
PATIENCE_S = 60

Answer = dict[str, Any]


class Engine:
    """`ours`, `xgrammar` or `llguidance`, strict or lenient (xgrammar knows no difference)."""

    def __init__(self, name: str, tokenizer: Path, *, strict: bool = True) -> None:
        self.name, self.strict = name, strict
        if name == "llguidance":
            peer = Path(__file__).with_name("peer.py")
            self.command = [sys.executable, str(peer), str(unpacked(PEER)), str(tokenizer)]
        else:
            self.command = [str(PROGRAM), str(tokenizer)]
        self.process: subprocess.Popen[str] | None = None

    def ask(self, schema: Any, texts: list[str]) -> Answer:
        if self.process is None:
            self.process = subprocess.Popen(
                self.command, stdin=subprocess.PIPE, stdout=subprocess.PIPE,
                stderr=subprocess.DEVNULL, text=True,
            )  # fmt: skip
        assert self.process.stdin and self.process.stdout
        source = json.dumps(schema, ensure_ascii=False)
        task = {"engine": self.name, "source": source, "strict": self.strict, "texts": texts}
        self.process.stdin.write(json.dumps(task) + "\n")
        self.process.stdin.flush()
        ready = select.select([self.process.stdout], [], [], PATIENCE_S)[0]
        line = self.process.stdout.readline() if ready else ""
        if not line:
            self.close()
            return {"error": "it crashed" if ready else f"it took over {PATIENCE_S} s"}
        found: Answer = json.loads(line)
        return found

    def close(self) -> None:
        if self.process is not None:
            self.process.kill()
            self.process.wait()
        self.process = None

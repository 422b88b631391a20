"""What differs between devices is behind one interface: layers do not ask which kind they have."""

from __future__ import annotations

import re
from pathlib import Path

COMPILER = Path(__file__).parents[2] / "bindings/python/mlc_llm/compiler"
ASKS = re.compile(r"isinstance\([^()]*(\([^()]*\))?[^()]*,\s*\(?[^()]*\b(GPU|Device)\b")


def asking(folder: Path) -> list[str]:
    return [
        f"{path.relative_to(folder)}: {found.group()}"
        for path in sorted(folder.rglob("*.py"))
        for found in ASKS.finditer(path.read_text(encoding="utf-8"))
    ]


def test_only_the_builder_chooses_between_the_kinds_of_devices() -> None:
    assert [line.split(":")[0] for line in asking(COMPILER / "nn")] == ["builder.py"]
    assert asking(COMPILER / "layers") == []


def test_a_question_is_seen(tmp_path: Path) -> None:
    for line in ("isinstance(nn.device, GPU)", "isinstance(of(nn), (GPU, int))"):
        (tmp_path / "mlp.py").write_text(f"if not {line}:\n    pass\n")
        assert asking(tmp_path), line
    (tmp_path / "mlp.py").write_text("isinstance(x, Deferred)\nkernels = nn.of(on_cpu, GPU)\n")
    assert asking(tmp_path) == []

"""docs/status.md is the page of docs/status.json. Its cells are short, and some can be checked."""

from __future__ import annotations

import json
import re
import sys

import pytest
from snippets import ROOT

sys.path.append(str(ROOT))
from devtools import status  # noqa: E402

from mlc_llm.compiler.models import FAMILIES  # noqa: E402

DATA = status.read()
PAGE = status.PAGE.read_text(encoding="utf-8")
ENGINES = ROOT / "tests" / "python" / "engine"
FIXTURES = ROOT / "tests" / "fixtures" / "families"
STATES = {"yes", "long", "layers", "compiled", "no"}


def test_the_page_is_current() -> None:
    assert status.page(DATA) == PAGE, "python -m devtools.status"


def test_a_cell_is_short() -> None:
    cells = [cell for line in PAGE.splitlines() if line.startswith("|") for cell in line.split("|")]
    assert len(cells) > 500
    assert [cell for cell in cells if len(cell.strip()) > status.LONGEST_CELL] == []


@pytest.mark.parametrize("table", ["real weights", "OpenCL", "Vulkan", "encoders"])
def test_the_data_names_families(table: str) -> None:
    assert set(DATA[table]) <= FAMILIES.keys()
    if table != "encoders":
        assert set(DATA[table].values()) <= STATES


def families_on_gpus() -> set[str]:
    """The `model_type` of each fixture that an engine runs on OpenCL and Vulkan with `--long`."""
    sources = [ENGINES / "test_gpu_families.py", ENGINES / "test_gpu_recurrent.py"]
    text = "".join(path.read_text(encoding="utf-8") for path in sources)
    names = re.findall(r'FixtureModel\(\s*"(\w+)"', text)
    assert len(names) >= 10
    fixtures = (FIXTURES / f"{name}.json" for name in names)
    return {
        json.loads(path.read_text(encoding="utf-8"))["config"]["model_type"] for path in fixtures
    }


@pytest.mark.parametrize("device", ["OpenCL", "Vulkan"])
def test_what_an_engine_runs_on_a_gpu_is_said_to_run(device: str) -> None:
    elsewhere = {"llama", "glm4_moe", "bert", "modernbert", "nomic_bert", "gemma-embedding"}
    assert families_on_gpus() | elsewhere == set(DATA[device])

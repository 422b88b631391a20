"""A library for several processors, packed here and opened by the engine."""

from __future__ import annotations

import json
from pathlib import Path

import mlc_core_parts
import pytest

from mlc_llm import _core
from mlc_llm.compiler import targets
from mlc_llm.compiler.trailer import trailer
from mlc_llm.compiler.variants import Variant, by_speed, pack
from mlc_llm.errors import InvalidRequestError
from mlc_llm.prepare.model_source import ResolvedModel

# No processor has both.
ABSENT = ["dotprod", "avx512f"]
TOKENS = [28, 216, 33]


def write(path: Path, *variants: Variant) -> Path:
    data = pack(variants)
    path.write_bytes(data + trailer(data))
    return path


def test_the_index_says_where_the_variants_are():
    variants = [Variant("a", ["avx2"], b"first"), Variant("b", [], b"second")]
    data = pack(variants)
    assert data[:8] == b"MLCFAT01"
    index = json.loads(data[16 : 16 + int.from_bytes(data[8:16], "little")])
    found = [data[v["offset"] : v["offset"] + v["size"]] for v in index["variants"]]
    assert found == [b"first", b"second"]
    assert [v["offset"] % 4096 for v in index["variants"]] == [0, 0]
    assert [v.device for v in by_speed([variants[1], variants[0]])] == ["a", "b"]


def test_the_engine_takes_the_one_that_runs(default_model: ResolvedModel, tmp_path: Path):
    whole = Path(default_model.model_lib)
    code = whole.read_bytes()[:-24]
    unfit = Variant("other", ABSENT, b"no shared object")
    library = write(tmp_path / "many.so", unfit, Variant("cpu", [], code))
    logits = [
        mlc_core_parts.ModelRunner(str(default_model.folder), str(path), 8).forward(TOKENS)
        for path in (whole, library)
    ]
    assert logits[0] == logits[1]

    none = write(tmp_path / "none.so", unfit)
    with pytest.raises(_core.CoreError, match="none of the library's variants; 'other' needs"):
        mlc_core_parts.ModelRunner(str(default_model.folder), str(none), 8)


def test_several_devices_are_presets():
    names = [device.name for device in targets.resolve_all("x86-64-v2,x86-64-v4,x86-64-v2")]
    assert names == ["x86-64-v2", "x86-64-v4"]
    assert [device.name for device in targets.resolve_all("cpu")] == ["cpu"]
    with pytest.raises(InvalidRequestError, match='not "cpu"'):
        targets.resolve_all("x86-64-v2,cpu")


@pytest.mark.parametrize(
    ("preset", "needed", "not_needed"),
    [
        ("x86-64-v2", "sse4.2", "avx"),
        ("x86-64-v3", "avx2", "avx512f"),
        ("x86-64-v4", "avx512bw", "avx512vnni"),
        ("x86-64-v4-vnni", "avx512vnni", "avx512vbmi"),
        ("aarch64-dotprod", "dotprod", "i8mm"),
        ("aarch64-i8mm", "i8mm", "sve"),
    ],
)
def test_presets_need_what_they_are_compiled_with(preset, needed, not_needed):
    features = targets.PRESETS[preset].cpu_features()
    assert needed in features and not_needed not in features

"""The file of a tower that belongs to a GGUF model."""

from __future__ import annotations

from pathlib import Path

import pytest

from mlc_llm.errors import InvalidRequestError, NotFoundError
from mlc_llm.prepare.local_model import projector_beside, projector_of


@pytest.mark.parametrize(
    ("files", "expected"),
    [
        (["m-Q4_K_M.gguf", "mmproj-m-f16.gguf"], "mmproj-m-f16.gguf"),
        (["m-Q4_K_M.gguf", "m-Q8_0.gguf", "mmproj-F16.gguf"], "mmproj-F16.gguf"),
        (["m-Q4_K_M.gguf", "mmproj-m-Q8_0.gguf", "mmproj-m-bf16.gguf"], "mmproj-m-bf16.gguf"),
        (["m-Q4_K_M.gguf", "other-Q8_0.gguf", "mmproj-F16.gguf"], None),
        (["m-Q4_K_M.gguf", "other-Q8_0.gguf", "mmproj-M-F16.gguf"], "mmproj-M-F16.gguf"),
        (["m-00001-of-00002.gguf", "m-00002-of-00002.gguf", "mmproj.gguf"], "mmproj.gguf"),
        (["m-q4_0.gguf", "other-Q8_0.gguf", "M-mmproj-fp16.gguf"], "M-mmproj-fp16.gguf"),
        (["m.gguf"], None),
    ],
)
def test_the_file_beside_a_model(tmp_path: Path, files: list[str], expected: str | None) -> None:
    for name in files:
        (tmp_path / name).touch()
    found = projector_beside(tmp_path / files[0])
    assert (found and found.name) == expected


def test_the_file_that_is_named(tmp_path: Path) -> None:
    model, beside, other = (tmp_path / name for name in ("m.gguf", "mmproj.gguf", "x/tower.gguf"))
    other.parent.mkdir()
    for path in (model, beside, other):
        path.touch()
    assert projector_of(model, None) == beside
    assert projector_of(model, "none") is None
    assert projector_of(model, str(other)) == other
    cases = ((model, "y.gguf", NotFoundError), (tmp_path, str(other), InvalidRequestError))
    for path, asked, kind in (*cases, (model, 5, InvalidRequestError)):
        with pytest.raises(kind) as refused:
            projector_of(path, asked)  # type: ignore[arg-type]
        assert refused.value.param == "mmproj"

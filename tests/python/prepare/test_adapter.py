"""From an adapter in any format to the file that the core loads."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from mlc_llm.prepare import adapter as module
from mlc_llm.prepare.adapter import run_time_adapter

pytestmark = pytest.mark.usefixtures("own_home")


def test_a_file_is_taken_as_it_is_and_a_folder_of_that_name_is_converted(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    jobs: list[dict[str, Any]] = []
    monkeypatch.setattr(module, "run_job", lambda job, *_: jobs.append(job))
    file, folder, model = (tmp_path / name for name in ("a.mlc-adapter", "b.mlc-adapter", "m"))
    assert run_time_adapter(file, model) == file and jobs == []
    for made in (folder, model):
        made.mkdir()
    (folder / "adapter_config.json").write_text("{}")
    (model / "mlc-chat-config.json").write_text("{}")
    assert run_time_adapter(folder, model) not in (file, folder)
    assert [job["source"] for job in jobs] == [str(folder)]

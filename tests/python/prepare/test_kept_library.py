"""The libraries of the cache: who uses one, and the strips of each folder's weights."""

from __future__ import annotations

import json
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest
from progress_lines import Lines

from mlc_llm.prepare import kept_library
from mlc_llm.prepare.kept_library import (
    is_whole_library,
    mark_library,
    mark_of,
    names_of,
    release,
    users,
)
from mlc_llm.prepare.model_source import ResolvedModel, resolve_model

pytestmark = pytest.mark.usefixtures("own_home")


def keep_strips(model: ResolvedModel) -> Path:
    """As the core does."""
    path = Path(f"{model.strips}-0123456789abcdef.strips")
    path.write_bytes(b"weights")
    return path


def test_each_folder_of_a_shared_library_is_a_user(prepared, compiler):
    first = resolve_model(prepared, progress=Lines())
    other = prepared.rename(prepared.with_name("other-MLC"))
    second = resolve_model(other, progress=Lines())
    assert first.model_lib == second.model_lib and len(compiler.runs) == 1
    assert users(first.model_lib) == [prepared.as_posix(), other.as_posix()]
    assert first.strips != second.strips


def test_a_folder_has_one_name_however_it_is_reached(prepared, compiler):
    link = prepared.with_name("link")
    link.symlink_to(prepared)
    found = [
        resolve_model(folder, progress=Lines())
        for folder in (prepared, link, prepared / ".." / prepared.name)
    ]
    assert len({model.strips for model in found}) == 1
    assert users(found[0].model_lib) == [prepared.resolve().as_posix()]


def test_users_that_come_together_are_all_recorded(tmp_path):
    library = tmp_path / "model_lib" / "l.so"
    folders = [tmp_path / f"m{i}" for i in range(8)]
    library.parent.mkdir()
    with ThreadPoolExecutor(len(folders)) as pool:
        list(pool.map(lambda folder: mark_library(library, folder, "cpu"), folders))
    assert sorted(users(library)) == sorted(f.resolve().as_posix() for f in folders)
    folders[0].mkdir()  # the last that is there
    assert all(release(library, folder) for folder in folders[1:])
    assert not release(library, folders[0])


def test_the_mark_of_an_older_version_is_read(prepared, compiler):
    library = resolve_model(prepared, progress=Lines()).model_lib
    mark_of(library).write_text(json.dumps({"folder": prepared.name, "device": "cpu"}))
    assert users(library)[0] in names_of(library, prepared)
    resolve_model(prepared, progress=Lines())
    assert users(library) == [prepared.as_posix()]


def test_strips_of_weights_that_changed_are_removed(prepared, compiler):
    model = resolve_model(prepared, progress=Lines())
    stale, library = keep_strips(model), model.model_lib
    without_owner = library.with_name(f"{library.stem}-0123456789abcdef.strips")
    others = library.with_name(f"{library.stem}-0123456789ab-01234567-0123456789abcdef.strips")
    drafts = library.with_name(f"{library.stem}draft--0123456789abcdef.strips")
    without_owner.touch(), others.touch(), drafts.touch()
    resolve_model(prepared, progress=Lines())
    assert stale.exists() and others.exists() and not without_owner.exists()
    assert not drafts.exists()
    index = prepared / "tensor-cache.json"
    index.write_text(index.read_text() + " ")
    now = keep_strips(resolve_model(prepared, progress=Lines()))
    assert not stale.exists() and now.exists() and others.exists()


def test_a_whole_library_is_hashed_slowly_once(prepared, compiler, monkeypatch):
    library = resolve_model(prepared, progress=Lines()).model_lib
    monkeypatch.setattr("mlc_llm.compiler.trailer.fnv1a", lambda data: pytest.fail("again"))
    assert is_whole_library(library)


def test_a_home_that_cannot_be_written(prepared, compiler, monkeypatch):
    model = resolve_model(prepared, progress=Lines())

    def refuse(*_: object) -> None:
        raise PermissionError

    mark_of(model.model_lib).unlink()
    monkeypatch.setattr(kept_library, "locked", refuse)
    assert resolve_model(prepared, progress=Lines()) == model and len(compiler.runs) == 1

"""The cache of compiled libraries, with a stand-in for the compiler."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from progress_lines import Lines

from mlc_llm.compiler import library as compiler_module
from mlc_llm.errors import (
    InternalError,
    NotFoundError,
)
from mlc_llm.prepare import jit_cache
from mlc_llm.prepare.jit_cache import Policies
from mlc_llm.prepare.model_source import resolve_model

pytestmark = pytest.mark.usefixtures("own_home")


def test_a_library_is_compiled_once(prepared, compiler):
    lines = Lines()
    first = resolve_model(prepared, progress=lines)
    second = resolve_model(prepared, progress=lines)
    assert first.model_lib == second.model_lib and len(compiler.runs) == 1
    assert first.model_lib.read_bytes() == compiler.body
    assert first.quantization == "q4f32_1" and first.name == "tiny-MLC"
    assert lines[-1] == f"Using cached model lib: {first.model_lib}"
    assert (
        compiler.runs[0]["config"]["quantization"] == "q4f32_1" and compiler.runs[0]["opt"] == "O2"
    )


def test_what_matters_makes_another_library(prepared, compiler):
    base = resolve_model(prepared, progress=Lines()).model_lib
    others = [
        resolve_model(prepared, progress=Lines(), opt="O0").model_lib,
        resolve_model(prepared, progress=Lines(), device="cuda").model_lib,
        resolve_model(prepared, progress=Lines(), overrides={"prefill_chunk_size": 7}).model_lib,
    ]
    path = prepared / "mlc-chat-config.json"
    config = json.loads(path.read_text())
    path.write_text(json.dumps(config | {"temperature": 0.5}))
    assert resolve_model(prepared, progress=Lines()).model_lib == base
    path.write_text(json.dumps(config | {"context_window_size": 100}))
    others.append(resolve_model(prepared, progress=Lines()).model_lib)
    assert len({base, *others}) == 5
    assert compiler.runs[3]["overrides"] == "prefill_chunk_size=7"


def test_a_damaged_library_is_compiled_again(prepared, compiler):
    library = resolve_model(prepared, progress=Lines()).model_lib
    changed = compiler.body.replace(b"lib", b"lob", 1)  # the length is right
    for damaged in (compiler.body[:-1], b"", b"x" + compiler.body, b"no trailer" * 9, changed):
        library.write_bytes(damaged)
        resolve_model(prepared, progress=Lines())
        assert library.read_bytes() == compiler.body
    assert len(compiler.runs) == 6


def test_a_failed_compilation_says_why_and_leaves_nothing(prepared, compiler, tmp_path):
    compiler.body = b""
    with pytest.raises(InternalError, match="nothing works"):
        resolve_model(prepared, progress=Lines())
    assert list((tmp_path / "home" / "model_lib").iterdir()) == []


def test_jit_policies(prepared, compiler):
    def resolve(jit):
        return resolve_model(prepared, policies=Policies(jit=jit), progress=Lines())

    with pytest.raises(NotFoundError, match="READONLY"):
        resolve("READONLY")
    with pytest.raises(NotFoundError, match="OFF"):
        resolve("OFF")
    resolve("ON")
    resolve("READONLY")
    assert len(compiler.runs) == 1
    resolve("REDO")
    assert len(compiler.runs) == 2
    with pytest.raises(NotFoundError, match="OFF"):
        resolve("OFF")


def test_a_given_library_is_used(prepared, compiler, tmp_path):
    library = tmp_path / "mine.so"
    library.write_bytes(b"x")
    off = Policies(jit="OFF")
    found = resolve_model(prepared, model_lib=library, policies=off, progress=Lines())
    assert found.model_lib == library and compiler.runs == []
    with pytest.raises(NotFoundError, match="gone.so"):
        resolve_model(prepared, model_lib=tmp_path / "gone.so", progress=Lines())


def test_a_change_of_the_compiler_makes_another_library(monkeypatch):
    """Also where files were moved: the sources are those of the compiler that runs."""
    read_bytes = Path.read_bytes

    def changed(path):
        return read_bytes(path) + b"#" * (path.samefile(compiler_module.__file__))

    before = jit_cache._toolchain.__wrapped__()
    monkeypatch.setattr(Path, "read_bytes", changed)
    after = jit_cache._toolchain.__wrapped__()
    assert before[0] != after[0] and before[1:] == after[1:]

"""One file with a model's libraries for several devices, as `mlc_llm package` makes for Android.
The engine takes the one for its device and CPU."""

from __future__ import annotations

import json
import platform
import re
import shutil
import subprocess
import sys
from pathlib import Path

import pytest
import tvm
import tvm_ffi

from mlc_llm import _core, set_directories
from mlc_llm.compiler.compile import compile_model, read_chat_config
from mlc_llm.compiler.seal import seal_object, sealed
from mlc_llm.compiler.targets import PRESETS
from mlc_llm.package.ar import read_members
from mlc_llm.package.libraries import c_name
from mlc_llm.prepare.model_source import ResolvedModel

ROOT = Path(__file__).parents[3]
# What tells them apart. The first one has no CPU in its name, as that for a GPU.
CONTEXTS = {"": 128, "x86-64-v3": 64}
SENTENCE = {"prompt": "Hello", "temperature": 0, "max_tokens": 8, "seed": 1}


@pytest.fixture(scope="module")
def library(tiny_model: ResolvedModel, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """libtiny-one.so, with CPU kernels of two context windows."""
    if sys.platform != "linux" or platform.machine() != "x86_64" or not shutil.which("g++"):
        pytest.skip("needs x86-64 Linux and g++")
    folder = tmp_path_factory.mktemp("variants")
    config = read_chat_config(tiny_model.folder)
    objects: dict[str, bytes] = {}
    for cpu, context in CONTEXTS.items():
        archive = folder / f"one{cpu}.a"
        prefix = f"tiny_one_{c_name(cpu)}_" if cpu else "tiny_one_"
        compile_model(
            config, output=archive, device=cpu or "x86-64-v2", system_lib_prefix=prefix,
            overrides=f"context_window_size={context};prefill_chunk_size=32",
        )  # fmt: skip
        objects |= read_members(archive)
    objects["seal.o"] = seal_object(next(iter(objects.values()))) or b""
    for name, data in objects.items():
        (folder / name).write_bytes(data)
    core = Path(_core.__file__).parent
    folders = [core, Path(tvm.__file__).parent / "lib", Path(tvm_ffi.__file__).parent / "lib"]
    output = folder / "libtiny-one.so"
    command = ["g++", "-shared", *(folder / name for name in objects), "-o", output]
    command += [word for f in folders for word in (f"-L{f}", f"-Wl,-rpath,{f}")]
    subprocess.run([*command, "-lmlc_llm", "-ltvm_ffi", "-lm"], check=True)
    output.write_bytes(sealed(output.read_bytes()))
    return output


def on_cpu(model: ResolvedModel, model_lib: str | Path) -> str:
    return json.dumps(model.core_json("cpu") | {"model_lib": str(model_lib)})


def best() -> int:
    """The context window of the library for this machine's CPU."""
    flags = re.findall(r"^flags\s*:(.*)$", Path("/proc/cpuinfo").read_text(), re.MULTILINE)
    wanted = {"avx2", "bmi1", "bmi2", "f16c", "fma"}
    return CONTEXTS["x86-64-v3" if wanted <= set(flags[0].split()) else ""]


def test_the_best_variant_for_this_cpu(library: Path, tiny_model: ResolvedModel) -> None:
    """By its path, and by its name in the program's folders."""
    engine = _core.Engine("{}")
    plan = json.loads(engine.plan(on_cpu(tiny_model, library)))
    assert plan["context_window_size"] == best()
    try:
        set_directories(libraries=[library.parent])
        for name in ("tiny-one", "tiny_one"):
            if name == "tiny_one":  # as `mlc_llm package` names the file
                (library.parent / "libtiny_one.so").symlink_to(library)
            plan = json.loads(engine.plan(on_cpu(tiny_model, name)))
            assert plan["context_window_size"] == best(), name
        engine.load(on_cpu(tiny_model, "tiny-one"))
    finally:
        set_directories()
    _, events = engine.stream("completions", json.dumps(SENTENCE))
    answer = json.loads(events.next()[1])["choices"][0]["text"]
    engine.close()
    whole = _core.Engine("{}")
    whole.load(on_cpu(tiny_model, tiny_model.model_lib))
    _, events = whole.stream("completions", json.dumps(SENTENCE))
    assert answer == json.loads(events.next()[1])["choices"][0]["text"]
    whole.close()


def test_damage_is_seen_before_the_loader_sees_the_file(
    library: Path, tiny_model: ResolvedModel, tmp_path: Path
) -> None:
    data = bytearray(library.read_bytes())
    data[data.index(b'{"schema_version"') + 20] ^= 1
    damaged = tmp_path / "libtiny-one.so"
    damaged.write_bytes(bytes(data))
    with pytest.raises(Exception, match="damaged"):
        _core.Engine("{}").plan(on_cpu(tiny_model, damaged))


def test_a_file_of_another_name(library: Path, tiny_model: ResolvedModel, tmp_path: Path) -> None:
    """It may lie in the model's folder as lib.so."""
    for name in ("libother.so", "lib.so"):
        other = tmp_path / name
        other.write_bytes(library.read_bytes())
        plan = json.loads(_core.Engine("{}").plan(on_cpu(tiny_model, other)))
        assert plan["context_window_size"] == best()


def test_another_file_with_the_same_library(
    library: Path, tiny_model: ResolvedModel, tmp_path: Path
) -> None:
    """Its kernels would replace those of the first one, which engines may run."""
    engine = _core.Engine("{}")
    engine.plan(on_cpu(tiny_model, library))
    other = tmp_path / library.name
    data = library.read_bytes().replace(b"context_window_size", b"context_window_sizf")
    other.write_bytes(sealed(data))
    with pytest.raises(Exception, match=r"another file with the library 'tiny-one' was opened"):
        engine.plan(on_cpu(tiny_model, other))


def test_a_library_that_was_asked_for_too_early(library: Path, tiny_model: ResolvedModel) -> None:
    """TVM keeps the answer that it is not there."""
    script = (
        "import sys\n"
        "from mlc_llm import _core, set_directories\n"
        "for folders in ([], [sys.argv[2]]):\n"
        "    set_directories(libraries=folders)\n"
        "    try:\n"
        "        _core.Engine('{}').plan(sys.argv[1])\n"
        "    except Exception as error:\n"
        "        print(error)\n"
    )
    command = [sys.executable, "-c", script, on_cpu(tiny_model, "tiny-one"), str(library.parent)]
    ended = subprocess.run(command, capture_output=True, text=True)
    first, second = ended.stdout.splitlines()
    assert "no model library with the prefix 'tiny-one'" in first, ended
    assert "asked for before this file was opened" in second, ended


def test_the_engine_knows_what_each_preset_needs() -> None:
    """Its list is that of the compiler, but for features that it never asks about."""
    sources = ROOT / "core/src"
    lists = ("platform/cpu_features.cc", "base/x86_features.cc")
    rows = "".join((sources / name).read_text() for name in lists)
    known = set(re.findall(r'\{"([\w.]+)",', rows))
    text = (sources / "runtime/library_names.cc").read_text()
    listed = dict(re.findall(r'\{"_(\w+)",\s*\{([^}]*)\}\}', text))
    assert set(listed) == {
        c_name(name) for name in ("aarch64", "aarch64-dotprod", "aarch64-i8mm")
    } | {c_name(name) for name in ("x86-64-v2", "x86-64-v3", "x86-64-v4")}
    presets = {c_name(name): preset for name, preset in PRESETS.items()}
    for name, features in listed.items():
        needed = set(presets[name].cpu_features()) & known
        assert set(re.findall(r'"([\w.]+)"', features)) == needed, name

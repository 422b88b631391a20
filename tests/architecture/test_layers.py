"""The layer law: who may include or import whom (ARCHITECTURE.md)."""

from __future__ import annotations

import ast
import re
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]
CORE = ROOT / "core" / "src"
PACKAGE = ROOT / "bindings" / "python" / "mlc_llm"

# Each directory of core/src and what it may include besides itself. Those of kv, sampling, grammar,
# text, jinja and media know no tensor and no device.
ALLOWED = {
    "base": set(),
    "platform": {"base"},
    "runtime": {"base", "platform"},
    "text": {"base"},
    "jinja": {"base"},
    "media": {"base"},
    "kv": {"base"},
    "grammar": {"base", "text"},
    "sampling": {"base", "grammar"},
    "model": {"base", "platform", "runtime", "media", "sampling"},
    "engine": {"base", "platform", "runtime", "model", "kv", "sampling", "grammar", "text"},
    "chat": {
        "base", "platform", "runtime", "model", "kv", "sampling", "grammar", "text", "jinja",
        "media", "engine",
    },
    "capi": {"base", "platform", "runtime", "chat"},
}  # fmt: skip
# Files of a layer that know more of what is below than the others need to: who asks for a step, or
# for pages, knows no device and no library. A runner owns devices, and descriptions name types.
NARROW = {
    r"model/(?!runner/|model_config|function_specs|param_specs|adapter_).*": {"runtime"},
    r"engine/(?!(engine|commit|scoring)\.cc).*": {"runtime"},
}
# Third-party headers, and the one place that may include each.
GUARDED = {
    # tvm_runtime/ belongs to TVM's own sources: the headers that their package leaves out.
    r"tvm/|dlpack/": re.compile(r"core/(tvm_runtime/.*|src/(runtime/.*|grammar/grammar\.cc))"),
    r"nlohmann/": re.compile(r"core/src/base/json\.cc"),
    r"xgrammar/": re.compile(r"core/(src/grammar|xgrammar)/.*"),
    r"(stb_image|jpeglib|jerror)\.h|webp/": re.compile(r"core/src/media/.*"),
    r"pybind11/": re.compile(r"bindings/python/src/.*"),
    # What a browser or a phone has otherwise.
    r"(dlfcn|sched|malloc|windows|sys/(mman|resource|sysinfo|auxv))\.h": re.compile(
        r"(core/src/platform|bindings)/.*"
    ),
}


def sources(folder: Path) -> list[Path]:
    return sorted(p for p in folder.rglob("*") if p.suffix in {".h", ".cc"})


def includes(path: Path) -> list[tuple[str, str]]:
    return re.findall(r'^\s*#\s*include\s*([<"])([^>"]+)[>"]', path.read_text(), re.MULTILINE)


def test_every_directory_of_the_core_has_a_layer() -> None:
    assert {p.name for p in CORE.iterdir() if p.is_dir()} == set(ALLOWED)


def upward_includes(core: Path, layer: str) -> list[str]:
    """Includes of what the layer, or the file, may not know."""
    found = []
    for path in sources(core / layer):
        name = str(path.relative_to(core))
        hidden = {
            room
            for pattern, rooms in NARROW.items()
            if re.fullmatch(pattern, name)
            for room in rooms
        }
        allowed = (ALLOWED[layer] | {layer}) - hidden
        found += [
            f"{name} includes {included}"
            for quote, included in includes(path)
            if quote == '"' and included != "mlc_llm.h" and included.split("/")[0] not in allowed
        ]
    return found


def strays(root: Path) -> list[str]:
    """Guarded headers outside of their rooms."""
    return [
        f"{path.relative_to(root)} includes {name}"
        for path in sources(root / "core") + sources(root / "bindings")
        for _, name in includes(path)
        for pattern, room in GUARDED.items()
        if re.match(pattern, name) and not room.match(str(path.relative_to(root)))
    ]


@pytest.mark.parametrize("layer", sorted(ALLOWED))
def test_core_includes_downwards_only(layer: str) -> None:
    assert upward_includes(CORE, layer) == []


def test_guarded_headers_stay_in_their_rooms() -> None:
    assert strays(ROOT) == []


@pytest.mark.parametrize(
    ("file", "included"),
    [
        ("kv/kv_cache.h", "runtime/tensor.h"),
        ("kv/kv_cache.cc", "model/model.h"),
        ("sampling/logits.cc", "runtime/parallel.h"),
        ("grammar/grammar.cc", "runtime/device.h"),
        ("platform/file.cc", "runtime/device.h"),
        ("base/json.cc", "platform/file.h"),
        ("model/model.h", "runtime/device.h"),
        ("model/fake_model.cc", "runtime/tensor.h"),
        ("engine/scheduler.cc", "runtime/device.h"),
        ("engine/speculation/draft_model.cc", "runtime/device.h"),
    ],
)
def test_the_layer_law_sees_a_broken_law(tmp_path: Path, file: str, included: str) -> None:
    path = tmp_path / file
    path.parent.mkdir(parents=True)
    path.write_text('#include "base/status.h"\n' if not file.startswith("base") else "")
    layer = file.split("/")[0]
    assert upward_includes(tmp_path, layer) == []
    path.write_text(f'#include "{included}"\n')
    assert upward_includes(tmp_path, layer) == [f"{file} includes {included}"]


@pytest.mark.parametrize(
    ("file", "included"),
    [
        ("core/src/runtime/device.cc", "dlfcn.h"),
        ("core/src/base/json.cc", "sys/mman.h"),
        ("core/src/engine/engine_loop.cc", "sched.h"),
        ("core/src/runtime/device/opencl/opencl_api.cc", "dlfcn.h"),
        ("core/src/model/runner/vm_executor.cc", "tvm/ffi/function.h"),
        ("core/src/chat/chat_engine.cc", "nlohmann/json.hpp"),
    ],
)
def test_the_guard_sees_a_stray_header(tmp_path: Path, file: str, included: str) -> None:
    for place in (file, "core/src/platform/shared_library.h"):
        path = tmp_path / place
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(f"#include <{included if place == file else 'dlfcn.h'}>\n")
    assert strays(tmp_path) == [f"{file} includes {included}"]


def imports(path: Path) -> set[str]:
    found = set()
    for node in ast.walk(ast.parse(path.read_text())):
        if isinstance(node, ast.Import):
            found.update(alias.name for alias in node.names)
        elif isinstance(node, ast.ImportFrom) and node.module and node.level == 0:
            found.add(node.module)
    return found


def top_level_imports(path: Path) -> set[str]:
    """What importing the module imports: not what its functions do later."""
    body = ast.Module(ast.parse(path.read_text()).body, [])
    return {
        name
        for node in body.body
        for name in (
            [a.name for a in node.names]
            if isinstance(node, ast.Import)
            else [node.module or ""]
            if isinstance(node, ast.ImportFrom)
            else []
        )
    }


def test_only_the_compiler_imports_tvm() -> None:
    found = [
        str(path.relative_to(ROOT))
        for path in PACKAGE.rglob("*.py")
        if PACKAGE / "compiler" not in path.parents
        and any(name.split(".")[0] in {"tvm", "tvm_ffi"} for name in imports(path))
    ]
    assert found == []


def test_the_sdk_imports_the_compiler_only_inside_functions() -> None:
    found = [
        str(path.relative_to(ROOT))
        for path in PACKAGE.rglob("*.py")
        if PACKAGE / "compiler" not in path.parents
        and any(name.startswith("mlc_llm.compiler") for name in top_level_imports(path))
    ]
    assert found == []


COMPILER = PACKAGE / "compiler"
# A scheme supplies what its weights need: nobody asks what kind of scheme, matrix or reader it has.
SCHEME_ROOMS = (
    COMPILER / "quantization",
    COMPILER / "kernels" / "cpu" / "matrices.py",
    COMPILER / "kernels" / "cpu" / "strips.py",
    COMPILER / "kernels" / "cpu" / "weights.py",
    COMPILER / "kernels" / "gpu" / "packs.py",
)
ASKING = {"isinstance", "issubclass", "hasattr", "getattr", "type"}


def scheme_classes() -> set[str]:
    files = [f for room in SCHEME_ROOMS for f in ([room] if room.is_file() else room.rglob("*.py"))]
    trees = [ast.parse(file.read_text()) for file in files]
    return {n.name for tree in trees for n in ast.walk(tree) if isinstance(n, ast.ClassDef)}


def questions_about_schemes(code: str, classes: set[str]) -> list[str]:
    """Calls such as `isinstance(scheme, GroupScheme)`, and patterns of `match`."""
    words = re.compile(r"\b(\w*scheme|matrix|matrices|packs|reader|piece)\b(?!\.\w)")
    found = []
    for node in ast.walk(ast.parse(code)):
        if isinstance(node, ast.MatchClass):
            found += [ast.unparse(node)] if classes & names_in(node.cls) else []
        if not isinstance(node, ast.Call) or not isinstance(node.func, ast.Name):
            continue
        if node.func.id not in ASKING or not node.args:
            continue
        about = ast.unparse(node.args[0])
        named = any(classes & names_in(argument) for argument in node.args[1:])
        if node.func.id == "hasattr" or named or words.search(about):
            found.append(ast.unparse(node))
    return found


def names_in(node: ast.AST) -> set[str]:
    names = {n.id for n in ast.walk(node) if isinstance(n, ast.Name)}
    return names | {n.attr for n in ast.walk(node) if isinstance(n, ast.Attribute)}


def test_nobody_asks_which_scheme_it_has() -> None:
    classes = scheme_classes()
    assert {"GroupScheme", "GGUFScheme", "StripMatrix", "BlockType", "PlainPacks"} <= classes
    asked = [
        f"{path.relative_to(ROOT)}: {question}"
        for path in sorted(COMPILER.rglob("*.py"))
        for question in questions_about_schemes(path.read_text(), classes)
    ]
    assert asked == []


@pytest.mark.parametrize(
    "code",
    [
        "isinstance(scheme, GroupScheme)", "hasattr(source, 'read_blocks')", "type(spec.scheme)",
        "isinstance(part.kind, (str, types.BlockType))", "getattr(self.scheme, 'bits', 0)",
        "match kind:\n    case BlockType(): pass",
    ],
)  # fmt: skip
def test_questions_about_schemes_are_found(code: str) -> None:
    assert questions_about_schemes(code, scheme_classes())


def test_questions_about_other_things_are_allowed() -> None:
    code = "isinstance(device, GPU), isinstance(scheme_name, str), type(scheme.bits), len(matrix)"
    assert questions_about_schemes(code, scheme_classes()) == []


def test_no_machine_paths_or_hosts() -> None:
    """The repository means the same on every machine."""
    pattern = re.compile(
        r"(?<![\w.])/(?:work|root|home/\w+)/|https?://(?!(?:127\.0\.0\.1|localhost|[\w.]+\.test|json-schema\.org|www\.w3\.org/2000/svg))"
    )
    # An app's config has the hub's address; JSON Schema and SVG have addresses as names.
    hub = r"bindings/python/mlc_llm/package/bundle\.py"
    allowed = re.compile(rf"LICENSE|tests/architecture/test_layers\.py|{hub}")
    found = []
    for folder in ("core", "bindings", "codegen", "cmake", "tests"):
        for path in (ROOT / folder).rglob("*"):
            name = str(path.relative_to(ROOT))
            if path.suffix not in {".h", ".cc", ".py", ".j2", ".cmake", ".md", ".txt"}:
                continue
            if not allowed.search(name):
                found += [
                    f"{name}: {line.strip()}"
                    for line in path.read_text().splitlines()
                    if pattern.search(line)
                ]
    assert found == []


# Each package of the compiler and which others it may import.
COMPILER_ALLOWED = {
    "quantization": set(),
    "spec": {"quantization"},
    "layers": {"spec"},
    "drafts": {"spec", "layers"},
    "models": {"spec", "layers", "drafts"},
    "kernels": {"quantization"},
    "nn": {"spec", "layers", "kernels", "quantization"},
    "convert": {"models", "drafts", "spec", "quantization"},
}


def strays_of(package: str, path: Path) -> list[str]:
    """The packages of the compiler that a file of `package` imports against the law."""
    allowed = COMPILER_ALLOWED[package] | {package}
    named = set()
    for node in nodes_of(ast.parse(path.read_text()), package):
        if isinstance(node, ast.ImportFrom) and node.module == "mlc_llm.compiler":
            named.update(alias.name for alias in node.names)
        names = [node.module or ""] if isinstance(node, ast.ImportFrom) else []
        names += [alias.name for alias in node.names] if isinstance(node, ast.Import) else []
        named.update(n.split(".")[2] for n in names if n.startswith("mlc_llm.compiler."))
    return sorted((named & set(COMPILER_ALLOWED)) - allowed)


def nodes_of(tree: ast.AST, package: str) -> list[ast.AST]:
    """Without what may import upwards: names of types, the readers that a scheme gives its matrices
    (they lie with the kernels), and functions in which a kind of layer is built."""
    if package in {"quantization", "spec", "layers", "drafts"}:
        if isinstance(tree, ast.If) and ast.unparse(tree.test) == "TYPE_CHECKING":
            return []
    if isinstance(tree, ast.FunctionDef):
        if package == "quantization" and tree.name in {"on_cpu", "on_gpu"}:
            return []
        if package in {"layers", "drafts"} and tree.name not in {"parameters", "reference"}:
            return []
    children = (nodes_of(child, package) for child in ast.iter_child_nodes(tree))
    return [tree, *(node for nodes in children for node in nodes)]


@pytest.mark.parametrize("package", sorted(COMPILER_ALLOWED))
def test_compiler_packages_import_downwards_only(package: str) -> None:
    folder = PACKAGE / "compiler" / package
    found = {str(p.relative_to(ROOT)): strays_of(package, p) for p in folder.rglob("*.py")}
    assert {path: names for path, names in found.items() if names} == {}


def test_every_package_of_the_compiler_has_a_layer() -> None:
    folders = {p.parent.name for p in (PACKAGE / "compiler").glob("*/__init__.py")}
    assert folders == set(COMPILER_ALLOWED)


def test_an_import_against_the_law_is_found(tmp_path: Path) -> None:
    file = tmp_path / "family.py"
    lines = [
        "from mlc_llm.compiler import kernels",
        "from mlc_llm.compiler.nn.builder import Builder",
    ]
    file.write_text("def f():\n" + "".join(f"    {line}\n" for line in lines))
    assert strays_of("models", file) == ["kernels", "nn"]
    assert strays_of("quantization", file) == ["kernels", "nn"]
    file.write_text(file.read_text().replace("def f", "def on_cpu"))
    assert strays_of("quantization", file) == []


def imports_of_sibling(path: Path, sibling: str) -> list[str]:
    """What a file imports of `kernels.<sibling>`."""
    return sorted(n for n in imports(path) if n.startswith(f"mlc_llm.compiler.kernels.{sibling}"))


@pytest.mark.parametrize(("kind", "sibling"), [("cpu", "gpu"), ("gpu", "cpu")])
def test_kernels_of_cpus_and_gpus_do_not_know_each_other(kind: str, sibling: str) -> None:
    folders = [PACKAGE / "compiler" / "kernels" / name for name in (kind, "common")]
    files = [path for folder in folders for path in folder.rglob("*.py")]
    assert {
        str(p): imports_of_sibling(p, sibling) for p in files if imports_of_sibling(p, sibling)
    } == {}


def test_an_import_of_a_sibling_is_found(tmp_path: Path) -> None:
    file = tmp_path / "attention.py"
    file.write_text("from mlc_llm.compiler.kernels.cpu.vector import at\n")
    assert imports_of_sibling(file, "cpu") == ["mlc_llm.compiler.kernels.cpu.vector"]
    assert imports_of_sibling(file, "gpu") == []

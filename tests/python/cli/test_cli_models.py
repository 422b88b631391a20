"""`mlc_llm list`, `rm`, `pull`, `show` and completion, on a home whose models hold nothing."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path

import pytest

from mlc_llm.cli import COMMANDS, main
from mlc_llm.cli.completion import candidates
from mlc_llm.cli.show import generation_fields
from mlc_llm.prepare.kept_library import mark_library, strips_prefix
from mlc_llm.prepare.model_source import ResolvedModel, resolve_source

Run = Callable[..., "subprocess.CompletedProcess[str]"]
FAKE = Path(__file__).parents[2] / "fixtures" / "fake-model"


def write(path: Path, text: str, age: float = 0.0) -> Path:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(text)
    os.utime(path, (time.time() - age,) * 2)
    return path


@pytest.fixture
def home(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A download, two conversions of it, a conversion of a file, and libraries."""
    home = tmp_path / "home"
    monkeypatch.setenv("MLC_LLM_HOME", str(home))
    weights, libraries = home / "model_weights", home / "model_lib"
    write(weights / "hf/org/model/.mlc-downloaded.json", '{"repo": "org/model", "commit": "1"}')
    write(weights / "hf/org/model/model.safetensors", "x" * 5000, age=90_000)
    converted = weights / "converted"
    for name, quantization, origin, age in (
        ("model-q4f32_1-0123456789ab-MLC", "q4f32_1", "HF://org/model", 7300),
        ("model-q0f32-0123456789ac-MLC", "q0f32", "HF://org/model", 3700),
        ("file-auto-0123456789ad-MLC", "gguf_q4_1", "/some/file.gguf", 200),
    ):
        config = json.dumps({"quantization": quantization})
        write(converted / name / "mlc-chat-config.json", config, age)
        os.utime(converted / name, (time.time() - age,) * 2)
        write(converted / name / ".last-use", json.dumps({"model": origin}), age)
    write(libraries / "aa.so", "x" * 1000, 9000)
    write(libraries / "aa.json", json.dumps({"folder": "model-q0f32-0123456789ac-MLC"}), 9000)
    write(libraries / "bb.so", "x" * 10, 9e5)
    write(libraries / "bb.json", json.dumps({"folder": "mine-MLC"}), 9e5)
    return home


def listed(capsys: pytest.CaptureFixture) -> list[list[str]]:
    assert main(["list"]) == 0
    lines = capsys.readouterr().out.splitlines()
    return [[cell.strip() for cell in line.split("  ") if cell.strip()] for line in lines]


def test_a_hostile_config_can_be_listed_and_removed(
    home: Path, capsys: pytest.CaptureFixture
) -> None:
    folder = home / "model_weights/hf/org/model"
    (folder / "mlc-chat-config.json").write_text("[" * 100_000)
    assert ["HF://org/model", "-"] in [row[:2] for row in listed(capsys)]
    assert main(["rm", "HF://org/model"]) == 0 and not folder.exists()


def test_list(home: Path, capsys: pytest.CaptureFixture) -> None:
    rows = listed(capsys)
    assert rows[0] == ["NAME", "QUANTIZATION", "SIZE", "LAST USE"]
    assert [(row[0], row[1], row[3]) for row in rows[1:]] == [
        ("HF://org/model", "-", "just now"),
        ("file", "gguf_q4_1", "3 minutes ago"),
        ("HF://org/model", "q0f32", "1 hour ago"),
        ("HF://org/model", "q4f32_1", "2 hours ago"),
        ("library of mine-MLC", "-", "10 days ago"),
    ]
    assert main(["list", "--json"]) == 0
    entries = json.loads(capsys.readouterr().out)
    sizes = {entry["quantization"]: entry["size_bytes"] for entry in entries[:-1]}
    assert sizes["q0f32"] > 1000 > sizes["q4f32_1"]  # its library counts to it
    shutil.rmtree(home)
    assert main(["list"]) == 0 and "mlc_llm pull" in capsys.readouterr().out


def test_rm(home: Path, capsys: pytest.CaptureFixture) -> None:
    assert main(["rm", "file", "nothing"]) == 1
    assert "no model 'nothing' is kept here" in capsys.readouterr().err
    assert len(listed(capsys)) == 6  # an unknown name removes nothing
    assert main(["rm", "model-q0f32-0123456789ac-MLC"]) == 0
    assert "Removed HF://org/model (q0f32)" in capsys.readouterr().out
    assert not (home / "model_lib" / "aa.so").exists()
    assert main(["rm", "hf.co/org/model"]) == 0  # as it may be pulled
    assert capsys.readouterr().out.count("Removed HF://org/model") == 2
    assert [row[0] for row in listed(capsys)[1:]] == ["file", "library of mine-MLC"]
    left = [path for path in home.rglob("*") if path.name.endswith(".lock")]
    assert left == []


def test_rm_leaves_a_library_that_another_model_uses(
    home: Path, capsys: pytest.CaptureFixture
) -> None:
    """Models of one shape share a library; each has its own strips."""
    library, converted = home / "model_lib/aa.so", home / "model_weights/converted"
    first = converted / "model-q0f32-0123456789ac-MLC"
    second = converted / "model-q4f32_1-0123456789ab-MLC"
    mark_library(library, second, "cpu")
    mark_library(library, home.parent / "gone-MLC", "cpu")  # a folder that is no more keeps nothing
    strips = [write(Path(f"{strips_prefix(library, f)}-ff.strips"), "x") for f in (first, second)]
    assert main(["rm", first.name]) == 0
    assert library.exists() and library.with_suffix(".json").exists()
    assert [file.exists() for file in strips] == [False, True]
    assert main(["rm", second.name]) == 0
    assert [path.name for path in sorted(library.parent.iterdir())] == ["bb.json", "bb.so"]


def test_a_kept_model_is_found_by_its_name(home: Path) -> None:
    from mlc_llm.prepare.model_source import resolve_folder

    assert resolve_folder("file").name == "file-auto-0123456789ad-MLC"
    assert resolve_folder("model").name == "model-q0f32-0123456789ac-MLC"  # the last used
    assert resolve_folder("model-q4f32_1").name == "model-q4f32_1-0123456789ab-MLC"


@pytest.mark.parametrize(
    ("words", "wanted"),
    [
        (["ch"], ["chat"]),
        (["", ], sorted([*COMMANDS, "--help", "--version"])),
        (["chat", "--promp"], ["--prompt"]),
        (["chat", "--device", "c"], ["cpu", "cuda"]),
        (["serve", "--device", "w"], ["webgpu"]),
        (["chat", "HF"], ["HF://org/model"]),
        (["rm", "f"], ["file"]),
        (["chat", ""], ["HF://org/model", "default", "file"]),
        (["doctor", "--mode", "s"], ["server"]),
        (["convert-weight", "d"], ["default"]),
        (["completion", ""], ["bash", "fish", "zsh"]),
        (["nonsense", ""], []),
    ],
)  # fmt: skip
def test_candidates(home: Path, words: list[str], wanted: list[str]) -> None:
    assert candidates(words) == wanted


@pytest.mark.parametrize(
    ("shell", "program"),
    [
        ("bash", 'COMP_LINE="mlc_llm {0}"; COMP_POINT=${{#COMP_LINE}}; _mlc_llm; '
                 'printf "%s\\n" "${{COMPREPLY[@]}}"'),
        ("zsh", "compadd() {{ shift; print -l -- $@; }}; _files() {{ :; }}; "
                "words=(mlc_llm {0}); CURRENT=$#words; _mlc_llm"),
        ("fish", 'complete -C "mlc_llm {0}"'),
    ],
)  # fmt: skip
def test_scripts_of_shells(home: Path, tmp_path: Path, shell: str, program: str) -> None:
    if shutil.which(shell) is None:
        pytest.skip(f"no {shell} here")
    command = tmp_path / "mlc_llm"
    command.write_text(f'#!/bin/sh\nexec "{sys.executable}" -m mlc_llm "$@"\n')
    command.chmod(0o755)
    script = subprocess.run(
        [command, "completion", shell], capture_output=True, text=True, check=True
    ).stdout
    path = {**os.environ, "PATH": f"{tmp_path}:{os.environ['PATH']}"}
    for line, wanted in (("chat --promp", ["--prompt"]), ("rm HF://o", ["HF://org/model"])):
        code = f"{script}\n{program.format(line)}"
        done = subprocess.run([shell, "-c", code], capture_output=True, text=True, env=path)
        found = [word.partition("\t")[0] for word in done.stdout.split()]
        if shell == "bash" and ":" in line:  # bash's words end at a colon
            wanted = [word.partition(":")[2] for word in wanted]
        assert found == wanted, done


def test_show(mlc_llm: Run, tiny_model: ResolvedModel) -> None:
    shown = mlc_llm("show", tiny_model.folder, "--model-lib", tiny_model.model_lib)
    assert shown.returncode == 0, shown.stderr
    for words in (
        "model_type: llama",
        "quantization: q4f32_1",
        "hidden_size: 64",
        "takes: text\n",
        "temperature: ",
        "Chat template:",
        '"interactive"',
        "It fits.",
    ):
        assert words in shown.stdout, shown.stdout
    options = ("--json", "--model-lib", tiny_model.model_lib)
    answer = json.loads(mlc_llm("show", tiny_model.folder, *options).stdout)
    assert [plan["fits"] for plan in answer["plans"]] == [True] * 3
    assert answer["input_modalities"] == ["text"]


def test_generation_fields_without_effect_are_named(tmp_path: Path) -> None:
    original = {"temperature": 0.2, "top_k": 40, "num_beams": 4, "eos_token_id": 2}
    write(tmp_path / "generation_config.json", json.dumps(original))
    config = {"temperature": 0.2, "top_k": 40, "top_p": 0.95, "eos_token_id": 2, "version": "1"}
    fields = generation_fields(tmp_path, config)
    assert fields["without_effect"] == {"num_beams": 4}
    assert fields["applies"] == {name: value for name, value in config.items() if name != "version"}


HEAVY = ("pydantic", "rich", "prompt_toolkit", "numpy", "tvm", "huggingface_hub", "asyncio")


@pytest.mark.parametrize(
    "code",
    [
        "import mlc_llm",
        "from mlc_llm.cli import main; main(['complete', 'chat', ''])",
        "from mlc_llm.cli import main; main(['chat', FAKE, '--device', 'fake', '--prompt', 'x'])",
    ],
)
def test_a_start_loads_nothing_heavy(code: str) -> None:
    """What `import mlc_llm`, completion and a chat take is what they import."""
    program = f"FAKE = {str(FAKE)!r}\n{code}\nimport sys\n"
    program += f"print('loaded:', [name for name in {HEAVY!r} if name in sys.modules])"
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    assert done.stdout.splitlines()[-1] == "loaded: []"


def test_a_help_that_waits_for_nothing(mlc_llm: Run) -> None:
    shown = mlc_llm("--help")
    assert all(name in shown.stdout for name in COMMANDS)
    help_of = {
        name: mlc_llm(name.replace("_", "-"), "--help").stdout for name in ("rm", "gen_config")
    }
    assert "kept models" in help_of["rm"] and "--conv-template" in help_of["gen_config"]


SMALL_LLAMA = {"model_type": "llama", "architectures": ["LlamaForCausalLM"], "hidden_act": "silu",
               "hidden_size": 256, "intermediate_size": 512, "num_hidden_layers": 2,
               "num_attention_heads": 4, "num_key_value_heads": 2, "vocab_size": 320,
               "max_position_embeddings": 128, "rms_norm_eps": 1e-5}  # fmt: skip


def test_a_plan_for_devices_reads_the_config_alone(
    tmp_path: Path, capsys: pytest.CaptureFixture
) -> None:
    """docs/shards.md"""
    (tmp_path / "config.json").write_text(json.dumps(SMALL_LLAMA))
    plan = ["doctor", str(tmp_path), "--quantization", "q4f16_1", "--device-memory", "1GB"]
    assert main([*plan, "--tensor-parallel-shards", "2", "--json"]) == 0
    found = json.loads(capsys.readouterr().out)
    assert found["kv_bytes_per_token"] == 2 * 2 * 1 * 64 * 2  # layers, k and v, heads, 16 bits
    assert main([*plan, "--tensor-parallel-shards", "3"]) == 1
    assert "this model can have 2 shards, or one" in capsys.readouterr().err
    assert main(plan[:2] + plan[4:]) == 1
    assert "--quantization" in capsys.readouterr().err
    assert main(["doctor", str(tmp_path / "no"), *plan[2:]]) == 1
    assert "config.json" in capsys.readouterr().err


def test_a_plan_for_devices_reads_gguf_files(capsys: pytest.CaptureFixture) -> None:
    for model in ("default", str(resolve_source("default"))):
        plan = ["doctor", model, "--device-memory", "1GB"]
        assert main([*plan, "--quantization", "q4f16_1"]) == 0
        assert "KV cache: 23040 bytes a token" in capsys.readouterr().out
        assert main(plan) == 1
        assert "needs a --quantization" in capsys.readouterr().err

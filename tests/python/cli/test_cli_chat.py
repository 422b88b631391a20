"""The command `mlc_llm chat` as a user meets it: options, pipes, commands and refusals."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import pytest

from mlc_llm import cli
from mlc_llm.cli.chat import _sort_words
from mlc_llm.prepare.hub_download import HOSTS
from mlc_llm.prepare.model_source import ResolvedModel

Run = Callable[..., "subprocess.CompletedProcess[str]"]
COMMANDS = ("/help", "/exit", "/stats", "/metrics", "/reset", "/set", "/system", "/save", "/load")


@pytest.fixture
def chat(mlc_llm: Run, tiny_model: ResolvedModel) -> Run:
    """`mlc_llm chat` with the tiny model on the CPU, and short answers that repeat."""

    def run(*arguments: str, **options: str) -> subprocess.CompletedProcess[str]:
        return mlc_llm(*tiny_chat(tiny_model), *arguments, **options)

    return run


def tiny_chat(model: ResolvedModel) -> tuple[str, ...]:
    library = str(model.model_lib)
    settings = "temperature=0;max_tokens=5"
    chosen = ("--model-lib", library, "--device", "cpu", "--set", settings)
    return ("chat", str(model.folder), *chosen)


def default_chat(model: ResolvedModel, *, max_tokens: int = 30) -> tuple[str, ...]:
    settings = f"temperature=0;max_tokens={max_tokens}"
    return ("chat", str(model.folder), "--model-lib", str(model.model_lib), "--set", settings)


def fails_with(
    result: subprocess.CompletedProcess[str], *words: str, status: int = 1
) -> subprocess.CompletedProcess[str]:
    """One error, as one line, and no traceback."""
    assert result.returncode == status, result
    errors = [line for line in result.stderr.splitlines() if "rror: " in line]
    assert len(errors) == 1 and "Traceback" not in result.stderr, result.stderr
    assert "internal error" not in errors[0]
    for word in words:
        assert word in errors[0], errors[0]
    return result


def test_the_second_turn_sees_the_first(mlc_llm: Run, default_model: ResolvedModel) -> None:
    """Until /reset."""
    lines = ("What is the capital of France?", "Name that city again.")
    piped = "\n".join((*lines, "/reset", lines[1])) + "\n"
    result = mlc_llm(*default_chat(default_model, max_tokens=24), "--lines", stdin=piped)
    assert result.returncode == 0, result.stderr
    first, _, rest = result.stdout.partition("\n")
    again, _, forgotten = rest.partition("The chat is reset.\n")
    assert "Paris" in first
    assert "Paris" in again
    assert forgotten.strip() and "Paris" not in forgotten


def test_devices_are_said_as_mlc_llm_says_them(mlc_llm: Run, default_model: ResolvedModel) -> None:
    chosen = ("--prompt", "Hi", "--device=auto", "-v")
    result = mlc_llm(*default_chat(default_model, max_tokens=1), *chosen)
    assert result.returncode == 0, result.stderr
    lines = result.stderr.splitlines()
    assert lines[0] in ("Not found device: cuda:0", "Found device: cuda:0")
    assert "Found device: cpu:0" in lines or "Found device: cuda:0" in lines
    assert sum(line.startswith("Using device: ") for line in lines) == 1


@pytest.mark.parametrize(
    "line", ["m hi", "m --device cpu hi", "--device cpu m hi", "-m m hi", "-m m --device cpu hi"]
)
def test_options_may_stand_between_the_model_and_the_prompt(line: str) -> None:
    args = cli._parse(["chat", *line.split()])
    _sort_words(args)
    assert (args.model, args.prompt) == ("m", "hi")


@pytest.mark.parametrize(
    "repository", ["org/repo", "hf://org/repo", "HF://org/repo", "https:" + f"//{HOSTS[0]}org/repo"]
)
def test_a_repository_of_the_hub_may_be_written_in_any_form(repository: str) -> None:
    args = cli._parse(["chat", "-hf", repository, "hi"])
    _sort_words(args)
    assert (args.model, args.prompt) == ("HF://org/repo", "hi")


def test_a_prompt_is_answered_on_standard_output_alone(chat: Run) -> None:
    """Details come with -v, and on standard error."""
    first, second, third = (chat("--prompt", "hi", *more) for more in ((), ("-v",), ("-q",)))
    assert first.returncode == 0 and third.stderr == ""
    assert not [line for line in first.stderr.splitlines() if not line.endswith(" ...")]
    lines = [line for line in second.stderr.splitlines() if not line.endswith(" ...")]
    assert lines[:2] == ["Found device: cpu:0", "Using device: cpu:0"]
    assert lines[2].startswith('The actual engine mode is "interactive".')
    assert lines[3].startswith("Estimated total memory usage:")
    assert lines[4].startswith("Tables of ")
    assert lines[5].startswith("A chat may have ") and len(lines) == 6
    assert first.stdout.endswith("\n") and first.stdout.strip()
    assert first.stdout == second.stdout == third.stdout


def test_piped_lines_are_turns_of_one_chat(chat: Run) -> None:
    alone = chat("--prompt", "x").stdout
    twice = chat("--lines", stdin="x\r\n\n   \nx\n/reset\nx").stdout
    assert twice.startswith(alone) and twice.endswith("The chat is reset.\n" + alone)
    between = twice[len(alone) : -len("The chat is reset.\n" + alone)]
    assert between.strip() and between != alone  # it answers "x" behind another turn


def test_piped_text_is_one_turn(chat: Run) -> None:
    """As it is, or behind the prompt."""
    text = "/stats\nis no command\n"
    whole = chat(stdin=text)
    assert whole.returncode == 0 and whole.stdout == chat("--prompt", text.rstrip()).stdout
    behind = chat("--prompt", "Sum up:", stdin="first\nsecond\n").stdout
    assert behind == chat("--prompt", "Sum up:\n\nfirst\nsecond").stdout
    assert behind != chat("--prompt", "Sum up:").stdout


def test_the_commands(chat: Run) -> None:
    result = chat(
        "--lines",
        stdin="/stats\n/help\nhi\n/stats\n/metrics\n"
        "/set temperature=0;seed=23;max_tokens=3;stop=a,b\n/nonsense\n/set stop=\nhi\n"
        "/reset\n/exit\nhi\n",
    )
    assert result.returncode == 0, result.stderr
    out = result.stdout
    assert out.startswith("No request has finished yet.\n")
    assert out.count("print the special commands") == 1
    assert all(f"  {command} " in out for command in COMMANDS)
    assert "prefill: " in out and " tok/s, decode: " in out
    assert "num_finished_requests: 1\n" in out
    assert "Settings: temperature=0.0;max_tokens=3;seed=23;stop=a,b\n" in out
    assert "Unknown command /nonsense." in out
    assert out.endswith("The chat is reset.\n")  # nothing is answered behind /exit


def test_settings_reach_the_model(chat: Run) -> None:
    whole = chat("--prompt", "hi").stdout.rstrip("\n")
    letter = whole[-1]
    cut = chat("--prompt", "hi", "--set", f"temperature=0;max_tokens=5;stop={letter},zz").stdout
    assert cut.rstrip("\n") == whole[: whole.index(letter)]
    seeds = {
        chat("--prompt", "hi", "--set", f"temperature=1.5;seed={s};max_tokens=9").stdout
        for s in (1, 1, 2)
    }
    assert len(seeds) == 2


@pytest.mark.parametrize(
    ("options", "words"),
    [
        (("--device", "rocm"), ("'rocm'", "this machine has no AMD ROCm")),
        (("--device", "nonsense"), ("unknown device 'nonsense'", "auto", "cpu")),
        (("--device", "cpu:1"), ("cpu:1", "cpu:0")),
        (("--device", "cpu:x"), ("cpu:x",)),
        (("--model-lib", "nowhere.so"), ("nowhere.so: no such model library",)),
        (("--set", "nonsense"), ("'nonsense'", "name=value", "temperature")),
        (("--set", "temperature=hot"), ("'temperature' must be a number", "hot")),
        (("--set", "temperature=nan"), ("'temperature' must be a number",)),
        (("--set", "max_tokens=1.5"), ("'max_tokens' must be an integer",)),
        (("--set", "max_tokens=0"), ("'max_tokens'", ">= 1")),
        (("--overrides", "nonsense=1"), ("'nonsense=1'", "context_window_size")),
        (("--overrides", "context_window_size=0"), ("'context_window_size'", ">= 1")),
        (("--overrides", "tensor_parallel_shards=2"), ("tensor_parallel_shards is 2",)),
        (("--overrides", "context_window_size=64", "--prompt", "a" * 99), ("64 tokens", "reduce")),
        (("--quantization", "q0f32"), ("q4f32_1", "q0f32", "convert it anew")),
        (("--prompt", "\udcff"), ("not valid Unicode",)),
    ],
)  # fmt: skip
def test_what_is_refused(chat: Run, options: tuple[str, ...], words: tuple[str, ...]) -> None:
    assert fails_with(chat("--prompt", "hi", *options), *words).stdout == ""


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        (("chta",), ("'chta'", "chat")),
        (("chat", "--nonsense"), ("--nonsense",)),
        (("list", "another"), ("another",)),
    ],
)
def test_mistyped_commands_and_options(
    mlc_llm: Run, arguments: tuple[str, ...], words: tuple[str, ...]
) -> None:
    fails_with(mlc_llm(*arguments), *words, status=2)


def test_without_a_command_the_commands_are_shown(mlc_llm: Run) -> None:
    done = mlc_llm()
    assert done.returncode == 2 and done.stdout == ""
    assert "chat with a model" in done.stderr and "serve models over HTTP" in done.stderr


def test_help_and_version(mlc_llm: Run) -> None:
    help_text = mlc_llm("chat", "--help").stdout
    options = ("--device", "--model-lib", "--overrides", "--prompt", "--quantization", "HF://")
    assert all(option in help_text for option in options)
    assert mlc_llm("--version").stdout.startswith("mlc_llm 0.")
    assert "convert_weight" in mlc_llm("--help").stdout


def test_a_turn_that_fails_ends_a_pipe(chat: Run) -> None:
    piped = f"hi\n{'a' * 99}\nhi\n"
    small = ("--overrides", "context_window_size=64", "--lines")
    result = fails_with(chat(*small, stdin=piped), "64 tokens", "/reset", "when_full=drop")
    assert result.stdout.strip()  # the first turn was answered
    hot = chat("--lines", stdin="/set temperature=hot\nhi\n")
    fails_with(hot, "'temperature' must be a number")
    fails_with(chat("--lines", stdin="/set temperature=9\nhi\n"), "'temperature'", "<= 2")


def test_a_pipe_may_be_empty_or_not_text(chat: Run, tiny_model: ResolvedModel) -> None:
    assert chat(stdin="").stdout == ""
    command = [sys.executable, "-m", "mlc_llm", *tiny_chat(tiny_model)]
    binary = subprocess.run(command, input=b"hi\n\xff\xfe\n", capture_output=True, timeout=300)
    text = [stream.decode(errors="replace") for stream in (binary.stdout, binary.stderr)]
    fails_with(subprocess.CompletedProcess(command, binary.returncode, *text), "UTF-8")


def test_a_terminal_without_unicode_shows_question_marks(chat: Run) -> None:
    result = chat("--prompt", "hi", "--set", "max_tokens=40;seed=1", PYTHONIOENCODING="ascii")
    assert result.returncode == 0 and "?" in result.stdout


def in_shell(line: str, model: ResolvedModel) -> subprocess.CompletedProcess[str]:
    """A shell line in which "$@" is the chat's command."""
    command = ["bash", "-c", f"set -o pipefail; {line}", "-", sys.executable, "-m", "mlc_llm"]
    return subprocess.run(
        [*command, *tiny_chat(model)],
        stdin=subprocess.DEVNULL,
        capture_output=True,
        text=True,
        errors="replace",
        timeout=300,
    )


def test_closed_and_full_outputs(tiny_model: ResolvedModel) -> None:
    fails_with(in_shell('yes hi | "$@"', tiny_model), "longer than 16 MB", "--lines")
    early = in_shell(
        'yes hi | "$@" --lines --set when_full=drop | head -n 1; exit ${PIPESTATUS[1]}', tiny_model
    )
    assert early.returncode == 0 and "rror" not in early.stderr
    closed = in_shell('"$@" --prompt hi >&-', tiny_model)
    assert closed.returncode == 0 and "rror" not in closed.stderr
    assert in_shell('"$@" <&-', tiny_model).returncode == 0
    if os.path.exists("/dev/full"):
        fails_with(in_shell('"$@" --prompt hi >/dev/full', tiny_model), "No space left")


def test_ctrl_c_ends_a_script(default_model: ResolvedModel) -> None:
    command = [sys.executable, "-m", "mlc_llm", *default_chat(default_model, max_tokens=2000)]
    command += ["--prompt", "Describe the history of Rome in detail."]
    pipes = {name: subprocess.PIPE for name in ("stdout", "stderr")}
    with subprocess.Popen(command, stdin=subprocess.DEVNULL, **pipes) as child:
        assert child.stdout is not None
        child.stdout.read(20)
        child.send_signal(signal.SIGINT)
        rest, errors = child.communicate(timeout=300)
    assert child.returncode == 130
    assert rest.decode().endswith(" [stopped]\n") and b"Traceback" not in errors


def test_a_missing_model_says_what_a_model_may_be(mlc_llm: Run, tmp_path: Path) -> None:
    fails_with(mlc_llm("chat", "nowhere", "--prompt", "x"), "nowhere", "HF://org/repo")
    fails_with(mlc_llm("chat", tmp_path, "--prompt", "x"), "config.json")
    fails_with(mlc_llm("chat", "HF://only", "--prompt", "x"), "HF://org/repo")

"""`mlc_llm completion`: prints the script that makes Tab complete commands, options and models.

bash: source <(mlc_llm completion bash)      zsh: source <(mlc_llm completion zsh)
fish: mlc_llm completion fish | source

The scripts call `mlc_llm complete WORD...`, so they know the models that are kept on this machine.
"""

from __future__ import annotations

import argparse
from collections.abc import Iterable
from typing import Any

_SCRIPTS = {
    "bash": """\
_mlc_llm() {
    local IFS=$'\\n'
    # A colon parts words for bash, and not for us: HF://org/repo.
    local line=${COMP_LINE:0:COMP_POINT} words current
    IFS=' ' read -r -a words <<< "$line"
    [[ $line == *' ' ]] && words+=('')
    current=${words[-1]}
    COMPREPLY=($(compgen -W "$(mlc_llm complete "${words[@]:1}" 2>/dev/null)" -- "$current"))
    if [[ $current == *:* ]]; then
        COMPREPLY=("${COMPREPLY[@]#"${current%"${current##*:}"}"}")
    fi
}
complete -o default -F _mlc_llm mlc_llm
""",
    "zsh": """\
_mlc_llm() {
    local -a found
    found=("${(@f)$(mlc_llm complete "${(@)words[2,CURRENT]}" 2>/dev/null)}")
    [[ -n $found[1] ]] && compadd -- $found
    _files
}
(( $+functions[compdef] )) || { autoload -Uz compinit && compinit; }
compdef _mlc_llm mlc_llm
""",
    "fish": """\
function __mlc_llm_complete
    set -l words (commandline -opc) (commandline -ct)
    mlc_llm complete $words[2..-1] 2>/dev/null
end
complete -c mlc_llm -a '(__mlc_llm_complete)'
""",
}
_TAKE_MODELS = (
    "chat",
    "serve",
    "show",
    "doctor",
    "pull",
    "compile",
    "convert_weight",
    "convert_adapter",
    "gen_config",
)


def register(subparsers: Any) -> None:
    """Adds the command to the `mlc_llm` parser."""
    parser = subparsers.add_parser(
        "completion",
        help="print a shell's completion script",
        description=__doc__,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    parser.add_argument("shell", choices=tuple(_SCRIPTS))
    parser.set_defaults(run=run)


def run(args: argparse.Namespace) -> None:
    """Runs the command."""
    print(_SCRIPTS[args.shell], end="")


def candidates(words: list[str]) -> list[str]:
    """The possible replacements for the last word of `words`, which follow `mlc_llm`."""
    from mlc_llm.cli import COMMANDS

    start = words[-1] if words else ""
    if len(words) < 2:
        return _beginning(start, [*COMMANDS, "--help", "--version"])
    command = words[0].replace("-", "_")
    if command not in COMMANDS:
        return []
    return _beginning(start, _after(command, words[-2], start))


def _after(command: str, previous: str, start: str) -> Iterable[str]:
    from mlc_llm.cli import parser_of

    options = _options(parser_of(command), command)
    if (action := options.get(previous)) is not None and action.nargs != 0:
        if previous == "--device":
            return _devices()
        return map(str, action.choices or ())
    if start.startswith("-"):
        return options
    if command == "rm":
        return _kept()
    if command == "completion":
        return _SCRIPTS
    return ("default", *_kept()) if command in _TAKE_MODELS else ()


def _devices() -> list[str]:
    from mlc_llm.compiler import targets

    return ["auto", "cpu", *targets.gpu_kinds()]


def _options(parser: argparse.ArgumentParser, command: str) -> dict[str, argparse.Action]:
    subparsers = next(a for a in parser._actions if isinstance(a, argparse._SubParsersAction))
    actions = subparsers.choices[command]._actions
    return {name: action for action in actions for name in action.option_strings}


def _kept() -> list[str]:
    from mlc_llm.prepare.kept import kept_models

    return [model.name for model in kept_models() if " " not in model.name]


def _beginning(start: str, words: Iterable[str]) -> list[str]:
    return sorted({word for word in words if word.startswith(start)})

"""`mlc_llm chat`: a conversation with a model in the terminal, or through a pipe.

Piped text is one message (with `--lines` each line is a message or a command). With --prompt, the
piped text is added behind the prompt.
"""

from __future__ import annotations

import argparse
import sys
from typing import Any

from mlc_llm.cli.output import add_output_options, steps_for
from mlc_llm.cli.settings import add_model_options, parse_chat_settings, parse_overrides
from mlc_llm.errors import InvalidRequestError
from mlc_llm.pictures import expanded

_MAX_PIPED = 16 << 20  # most characters in one message

# The embedded model is small: its longer answers may repeat themselves.
_EMBEDDED_MAX_TOKENS = 1024


def register(subparsers: Any) -> None:
    """Adds the command to the `mlc_llm` parser."""
    parser = subparsers.add_parser("chat", help="chat with a model", description=__doc__)
    parser.add_argument(
        "words",
        nargs="*",
        metavar="MODEL [PROMPT]",
        help="HF://org/repo, a model folder, a .gguf file, or 'default' (the embedded model); "
        "what follows it is answered, and the command exits",
    )
    model = parser.add_mutually_exclusive_group()
    model.add_argument("-m", "--model", help="the model, as MODEL")
    model.add_argument(
        "-hf", "--hf-repo", metavar="ORG/REPO", help="the model, a repository: HF://ORG/REPO"
    )
    parser.add_argument("--device", default="auto", help="auto, cpu, ... (default: %(default)s)")
    parser.add_argument("--model-lib", help="a compiled model library (default: found or compiled)")
    parser.add_argument("--quantization", help="for a model that is not prepared yet")
    parser.add_argument(
        "--overrides", default="", help='engine settings, "context_window_size=2048;..."'
    )
    add_model_options(parser)
    parser.add_argument("-p", "--prompt", help="answer this and exit; piped text goes behind it")
    parser.add_argument(
        "--image", action="append", default=[], metavar="FILE",
        help="a picture that goes with the first message; may be given several times",
    )  # fmt: skip
    parser.add_argument(
        "--lora", action="append", default=[], metavar="[NAME=]PATH[:SCALE]",
        help="a LoRA adapter that changes the answers; may be given several times",
    )  # fmt: skip
    parser.add_argument("--lines", action="store_true", help="each piped line is a message")
    parser.add_argument("--system", help="a system message for the conversation")
    parser.add_argument(
        "--settings",
        metavar="FILE",
        help="a TOML file; the model may call the tools of its [mcp.NAME]",
    )
    parser.add_argument("--set", default="", help="generation settings, as /set takes them")
    add_output_options(parser)
    parser.set_defaults(run=run)


def run(args: argparse.Namespace) -> None:
    """Runs the command; raises MLCError."""
    _sort_words(args)
    settings = parse_chat_settings(args.set)
    overrides = parse_overrides(args.overrides, args)
    from mlc_llm.cli.chat_adapters import DEFAULT_RANKS, ChatAdapters
    from mlc_llm.cli.chat_session import DEFAULT_MAX_TOKENS, ChatSession
    from mlc_llm.cli.mcp import mcp_tools
    from mlc_llm.prepare.model_source import plain_model
    from mlc_llm.sdk.core_engine import CoreEngine

    if args.lora:
        overrides = {"lora_ranks": DEFAULT_RANKS, **overrides}
    steps, adapters = steps_for(args), ChatAdapters()
    is_embedded = plain_model(args.model) is None
    engine = CoreEngine(
        args.model,
        model_lib=args.model_lib,
        device=args.device,
        mode="interactive",
        quantization=args.quantization,
        engine_config=overrides,
        log=steps,
    )
    plan = engine.plan()
    if plan.get("context_limit"):
        steps.note(plan["summary"][-1])
    try:
        adapters.load(engine, args.lora)
        with mcp_tools(args.settings) as tools:
            session = ChatSession(
                engine,
                system=args.system,
                settings=settings,
                quiet=args.quiet,
                max_tokens=_EMBEDDED_MAX_TOKENS if is_embedded else DEFAULT_MAX_TOKENS,
                steps=steps,
                tools=tools,
                adapters=adapters,
            )
            _converse(session, args, steps)
    finally:
        engine.close()


def _sort_words(args: argparse.Namespace) -> None:
    """`chat MODEL PROMPT` and `chat -m MODEL PROMPT` mean `chat --model MODEL --prompt PROMPT`."""
    if args.hf_repo is not None:
        from mlc_llm.prepare.hub_download import PREFIX, repository

        args.model = repository(args.hf_repo) or f"{PREFIX}{args.hf_repo}"
    first, *rest = args.words or [None]
    if args.model is None:
        args.model = first
    elif first is not None:
        rest = [first, *rest]
    if rest and args.prompt is not None:
        raise InvalidRequestError(
            f"a prompt is given twice: {rest[0]!r} and --prompt", param="prompt"
        )
    if rest:
        args.prompt = " ".join(rest)


def _converse(session: Any, args: argparse.Namespace, steps: Any) -> None:
    if args.image:
        session.add_pictures([expanded(path) for path in args.image])
    is_terminal = sys.stdin is not None and sys.stdin.isatty()
    if args.prompt is not None:
        piped = "" if is_terminal else _read_all(steps)
        session.answer(f"{args.prompt}\n\n{piped}" if piped else args.prompt)
    elif is_terminal:
        from mlc_llm.cli.chat_terminal import interact, suggest_once
        from mlc_llm.prepare.model_source import plain_model

        if plain_model(args.model) is None and not args.quiet:
            suggest_once()
        interact(session)
    elif args.lines:
        _read_lines(session)
    elif text := _read_all(steps):
        session.answer(text)


def _read_all(steps: Any) -> str:
    """Reads all piped text, without the newline at its end."""
    if sys.stdin is None:
        return ""
    with steps.step("Reading standard input (close it, or add < /dev/null)"):
        text = sys.stdin.read(_MAX_PIPED + 1)
    if len(text) > _MAX_PIPED:
        raise InvalidRequestError(
            f"standard input is longer than {_MAX_PIPED >> 20} MB, which no context holds; "
            "for a message a line add --lines",
            param="stdin",
        )
    return text.rstrip("\r\n") if text.strip() else ""


def _read_lines(session: Any) -> None:
    """Each line is a turn or a command. A turn that fails ends the program with its error."""
    from mlc_llm.cli.chat_words import whole_messages

    for message in whole_messages(line.rstrip("\r\n") for line in sys.stdin or ()):
        session.take(message)
        if session.done:
            return

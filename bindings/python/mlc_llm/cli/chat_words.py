"""The words of a chat: its commands, other programs' names for them, and messages of many lines."""

from __future__ import annotations

from collections.abc import Iterable, Iterator

from mlc_llm.errors import InvalidRequestError

COMMANDS = {
    "/help": ("", "print the special commands"),
    "/exit": ("", "quit the chat"),
    "/reset": ("", "forget the conversation"),
    "/system": ("[TEXT]", "set the system message; without a text, take it away"),
    "/image": ("FILE...", "send pictures with the next message; a file that is dropped is one too"),
    "/lora": ("[NAME...]", "use these adapters, or none; NAME:0.5 is half of one"),
    "/set": ("[SETTINGS]", "change settings, or show them"),
    "/show": ("[WHAT]", "show the model (info), the settings (parameters) or the system message"),
    "/save": ("FILE", "save the conversation"),
    "/load": ("FILE", "go on with a saved conversation"),
    "/stats": ("", "print the speed of the last answer"),
    "/metrics": ("", "print the engine's counters"),
}
# What other programs call them: Ollama first.
ALIASES = {"/?": "/help", "/bye": "/exit", "/quit": "/exit", "/clear": "/reset"}
# The names of settings elsewhere (Ollama's).
_SETTINGS = {"num_predict": "max_tokens", "repeat_penalty": "repetition_penalty"}

QUOTES = '"""'


def help_text() -> str:
    """Describes the commands, and the form of settings."""
    lines = [f"  {f'{name} {argument}':<18} {text}" for name, (argument, text) in COMMANDS.items()]
    aliases = ", ".join(f"{alias} is {name}" for alias, name in ALIASES.items())
    return "\n".join(
        [
            "Commands:",
            *lines,
            f"  {aliases}",
            "Settings: /set temperature=0.5;top_p=0.8;seed=23;max_tokens=100;stop=str1,str2",
            "  `name=` with nothing behind it goes back to the model's own value.",
            f"Text between {QUOTES} is one message, whatever its lines are.",
            "Keys: Esc+Enter starts a new line, Tab completes, Ctrl-C stops the answer.",
            "",
        ]
    )


def command_of(line: str) -> tuple[str, str] | None:
    """The command of a line, and what follows it. None: the line is a message."""
    words = line.split(None, 1)
    if not words or not words[0].startswith("/"):
        return None
    return ALIASES.get(words[0], words[0]), words[1].strip() if len(words) > 1 else ""


def unknown(word: str) -> str:
    """What to say about a word that is no command."""
    return (
        f"Unknown command {word}. /help shows the commands; to send the line as a message, write "
        f"{QUOTES} before and behind it."
    )


def settings_of(text: str) -> str:
    """What follows `/set`, as `name=value`: also `temperature 0.5` and `parameter temperature 0.5`
    are `temperature=0.5`."""
    first, _, rest = text.partition(" ")
    if first == "parameter":
        first, _, rest = rest.strip().partition(" ")
    if not first or "=" in first or not rest:
        return _SETTINGS.get(first, first) + (f" {rest}" if rest else "")
    if first == "num_ctx":
        raise InvalidRequestError(
            "the context is chosen where the chat begins: "
            f"mlc_llm chat --overrides context_window_size={rest.strip()}",
            param="num_ctx",
        )
    return f"{_SETTINGS.get(first, first)}={rest.strip()}"


def opens_quotes(line: str) -> bool:
    """Whether a line begins a message that goes on until the next quotes."""
    text = line.strip()
    return text.startswith(QUOTES) and not (text.endswith(QUOTES) and len(text) > len(QUOTES))


def quoted(line: str) -> str | None:
    """The text between the quotes; None if there are none."""
    text = line.strip()
    if not text.startswith(QUOTES):
        return None
    return text.removeprefix(QUOTES).removesuffix(QUOTES).strip("\r\n")


def whole_messages(lines: Iterable[str]) -> Iterator[str]:
    """Joins the lines between quotes."""
    found = ""
    for line in lines:
        found = f"{found}\n{line}" if found else line
        if not opens_quotes(found):
            yield found
            found = ""
    if found:
        yield found

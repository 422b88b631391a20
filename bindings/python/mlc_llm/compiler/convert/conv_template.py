"""Derives MLC-LLM's `conv_template` object from a model's Jinja chat template.

It may fail. It is for tools that know only the object: our engine runs the Jinja template itself.
The template is rendered with marker texts; the texts between the markers are the members of the
object. The result is kept only if it gives the same text as the template.
"""

from __future__ import annotations

import json
import time
from dataclasses import dataclass
from typing import Any

_SYSTEM, _USER, _ANSWER, _NEXT = "[[system]]", "[[user]]", "[[answer]]", "[[next]]"
_MAX_TEXT = 1 << 20
_MAX_SECONDS = 5.0
_NAMES = {"<|im_start|>": "chatml", "<|start_header_id|>": "llama-3", "[INST]": "mistral_default"}


def conversation_template(
    tokenizer_config: dict[str, Any], eos: int | list[int], *, name: str | None = None
) -> dict[str, Any]:
    """The object for the model's default chat template; otherwise a plain one named `custom`."""
    parts = None
    template = default_template(tokenizer_config.get("chat_template"))
    if template is not None:
        special = {
            key: token_text(tokenizer_config.get(key))
            for key in ("bos_token", "eos_token", "unk_token", "pad_token")
        }
        parts = _derive(template, special)
    stops = eos if isinstance(eos, list) else [eos]
    found = parts.to_json() if parts else _PLAIN.to_json()
    found["name"] = name or (_name_of(template or "") if parts else "custom")
    return found | {"stop_str": [], "stop_token_ids": stops}


def default_template(value: Any) -> str | None:
    """The template text in `chat_template`, which is a text or a list of named texts."""
    if isinstance(value, list):
        named = {e.get("name"): e.get("template") for e in value if isinstance(e, dict)}
        value = named.get("default", next(iter(named.values()), None))
    return value if isinstance(value, str) else None


def token_text(value: Any) -> str:
    """The text of a special token; tokenizer_config.json has it as a text or in an object."""
    if isinstance(value, dict):
        value = value.get("content")
    return value if isinstance(value, str) else ""


@dataclass(frozen=True)
class _TemplateTexts:
    """The texts of MLC-LLM's object that the template decides."""

    system_template: str
    system_message: str
    user: str
    assistant: str
    seps: tuple[str, str]
    role_content_sep: str
    role_empty_sep: str
    add_role_after_system: bool = True

    def to_json(self) -> dict[str, Any]:
        seps = [self.seps[0]] if self.seps[0] == self.seps[1] else list(self.seps)
        return {
            "name": "custom",
            "system_template": self.system_template,
            "system_message": self.system_message,
            "add_role_after_system_message": self.add_role_after_system,
            "roles": {"user": self.user, "assistant": self.assistant, "tool": self.user},
            "role_templates": {
                "user": "{user_message}",
                "assistant": "{assistant_message}",
                "tool": "{tool_message}",
            },
            "seps": seps,
            "role_content_sep": self.role_content_sep,
            "role_empty_sep": self.role_empty_sep,
            "function_string": "",
            "use_function_calling": False,
        }

    def render(self, system: str, user: str, answer: str, next_user: str) -> str:
        """The conversation as an engine with only this object would write it."""
        head = self.system_template.replace("{system_message}", system)
        first = self.user + self.role_content_sep if self.add_role_after_system else ""
        turns = first + user + self.seps[0] + self.assistant + self.role_content_sep + answer
        again = self.seps[1] + self.user + self.role_content_sep + next_user + self.seps[0]
        return head + turns + again + self.assistant + self.role_empty_sep


_PLAIN = _TemplateTexts("{system_message}", "", "", "", ("\n", "\n"), "", "")


def _name_of(template: str) -> str:
    return next((name for mark, name in _NAMES.items() if mark in template), "custom")


def _derive(template: str, special: dict[str, str]) -> _TemplateTexts | None:
    try:
        return _derive_from(_Renderer(template, special))
    except Exception:  # a template may fail in any way; the object is optional
        return None


def _derive_from(render: _Renderer) -> _TemplateTexts | None:
    system, user = ("system", _SYSTEM), ("user", _USER)
    answer, next_user = ("assistant", _ANSWER), ("user", _NEXT)
    full = render(system, user, answer, next_user, prompt=True)
    head, after_system, after_user, after_answer, tail = _between(full)
    sep_user = render(system, user, prompt=False).partition(_USER)[2]
    sep_answer = render(system, user, answer, prompt=False).partition(_ANSWER)[2]
    to_user = after_answer.removeprefix(sep_answer)
    to_answer = after_user.removeprefix(sep_user)
    role_sep = _common_suffix(to_user, to_answer)
    assistant = to_answer.removesuffix(role_sep)
    after_role = after_system.endswith(to_user)
    parts = _TemplateTexts(
        system_template=head
        + "{system_message}"
        + (after_system.removesuffix(to_user) if after_role else after_system),
        system_message="",
        user=to_user.removesuffix(role_sep),
        assistant=assistant,
        seps=(sep_user, sep_answer),
        role_content_sep=role_sep,
        role_empty_sep=tail.removeprefix(sep_user).removeprefix(assistant),
        add_role_after_system=after_role,
    )
    if parts.render(_SYSTEM, _USER, _ANSWER, _NEXT) != full:
        return None
    message = _default_system(render(user, prompt=True), parts, to_user)
    return _TemplateTexts(**{**vars(parts), "system_message": message})


def _between(text: str) -> list[str]:
    """The texts before, between and behind the four markers."""
    pieces = []
    for marker in (_SYSTEM, _USER, _ANSWER, _NEXT):
        before, found, text = text.partition(marker)
        if not found:
            raise ValueError(f"the template drops {marker}")
        pieces.append(before)
    return [*pieces, text]


def _default_system(text: str, parts: _TemplateTexts, user_header: str) -> str:
    """The system message that the template adds by itself, or ""."""
    head = text.partition(_USER)[0].removesuffix(user_header)
    before, _, after = parts.system_template.partition("{system_message}")
    if after and head.startswith(before) and head.endswith(after):
        return head[len(before) : len(head) - len(after)]
    return ""


def _common_suffix(left: str, right: str) -> str:
    length = 0
    while length < min(len(left), len(right)) and left[-1 - length] == right[-1 - length]:
        length += 1
    return left[len(left) - length :]


class _Renderer:
    """A chat template in jinja2, with the settings of transformers. Output and time are limited."""

    def __init__(self, template: str, special: dict[str, str]) -> None:
        from jinja2.sandbox import ImmutableSandboxedEnvironment

        environment = ImmutableSandboxedEnvironment(
            trim_blocks=True, lstrip_blocks=True, extensions=["jinja2.ext.loopcontrols"]
        )
        environment.filters["tojson"] = _tojson
        environment.globals["raise_exception"] = _raise
        environment.globals["strftime_now"] = time.strftime
        self._template = environment.from_string(template)
        self._special = special

    def __call__(self, *messages: tuple[str, str], prompt: bool) -> str:
        deadline = time.monotonic() + _MAX_SECONDS
        pieces, length = [], 0
        for piece in self._template.generate(
            messages=[{"role": role, "content": content} for role, content in messages],
            add_generation_prompt=prompt,
            **self._special,
        ):
            pieces.append(piece)
            length += len(piece)
            if length > _MAX_TEXT or time.monotonic() > deadline:
                raise ValueError("the template does not end")
        return "".join(pieces)


def _tojson(value: Any, indent: int | None = None, **_: Any) -> str:
    return json.dumps(value, ensure_ascii=False, indent=indent)


def _raise(message: str) -> None:
    raise ValueError(message)

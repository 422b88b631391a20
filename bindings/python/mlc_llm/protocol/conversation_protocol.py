"""Compatibility names: the conversation template of `mlc-chat-config.json`."""

from __future__ import annotations

from enum import Enum
from typing import Any, cast

from pydantic import BaseModel, Field, field_validator

from mlc_llm.errors import UnsupportedError

_Content = str | list[dict[str, Any]] | None


class MessagePlaceholders(Enum):
    """What a template has in the place of a message."""

    SYSTEM = "{system_message}"
    USER = "{user_message}"
    ASSISTANT = "{assistant_message}"
    TOOL = "{tool_message}"
    FUNCTION = "{function_string}"


_TEMPLATES = {
    "user": MessagePlaceholders.USER.value,
    "assistant": MessagePlaceholders.ASSISTANT.value,
    "tool": MessagePlaceholders.TOOL.value,
}


class Conversation(BaseModel):
    """A template, and the messages so far as pairs of role and content."""

    name: str | None = None
    system_template: str = MessagePlaceholders.SYSTEM.value
    system_message: str = ""
    system_prefix_token_ids: list[int] | None = None
    add_role_after_system_message: bool = True
    roles: dict[str, str]
    role_templates: dict[str, str] = Field(default_factory=dict[str, str], validate_default=True)
    messages: list[tuple[str, _Content]] = Field(default_factory=list[tuple[str, _Content]])
    seps: list[str]
    role_content_sep: str = ""
    role_empty_sep: str = ""
    stop_str: list[str] = Field(default_factory=list[str])
    stop_token_ids: list[int] = Field(default_factory=list[int])
    function_string: str = ""
    use_function_calling: bool = False

    @field_validator("role_templates")
    @classmethod
    def _with_defaults(cls, templates: dict[str, str]) -> dict[str, str]:
        return _TEMPLATES | templates

    @field_validator("seps")
    @classmethod
    def _one_or_two(cls, seps: list[str]) -> list[str]:
        if len(seps) not in (1, 2):
            raise ValueError("seps: give one separator, or one behind users and one behind answers")
        return seps

    def to_json_dict(self) -> dict[str, Any]:
        return self.model_dump(by_alias=True, exclude_none=True)

    @classmethod
    def from_json_dict(cls, json_dict: dict[str, Any]) -> Conversation:
        return cls.model_validate(json_dict)

    def as_prompt(self, config: object = None) -> list[Any]:
        """The prompt, in a list; a content of `None` is the answer that is to come."""
        del config  # of images, which are refused
        system = self.system_template.replace(MessagePlaceholders.SYSTEM.value, self.system_message)
        texts = [self._text(i, bool(system)) for i in range(len(self.messages))]
        before, placeholder, after = "".join([system, *texts]).rpartition(
            MessagePlaceholders.FUNCTION.value
        )
        before = before.replace(MessagePlaceholders.FUNCTION.value, "")
        return [before + (self.function_string if placeholder else "") + after]

    def _text(self, index: int, has_system: bool) -> str:
        role, content = self.messages[index]
        if role not in self.roles:
            raise ValueError(f"messages[{index}]: no role {role!r}; there are {list(self.roles)}")
        if content is None:
            return self.roles[role] + self.role_empty_sep
        head = self.roles[role] + self.role_content_sep
        if index == 0 and has_system and not self.add_role_after_system_message:
            head = ""
        placeholder = MessagePlaceholders[role.upper()].value
        said = "".join(
            self.role_templates[role].replace(placeholder, text) for text in _texts(content)
        )
        return head + said + self.seps[-1 if role == "assistant" else 0]


def _texts(content: str | list[dict[str, Any]]) -> list[str]:
    if isinstance(content, str):
        return [content]
    for part in content:
        if part.get("type") != "text":
            raise UnsupportedError(f"a part of the type {part.get('type')!r}", param="messages")
    return [cast("str", part["text"]) for part in content]

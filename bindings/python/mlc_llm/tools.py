"""Functions that a model may call, and the loop that calls them.

    def population(city: str) -> int:
        \"\"\"How many people live in a city.

        Args:
            city: The city's name.
        \"\"\"
        return 2_100_000

    run = engine.chat.completions.run_tools(
        messages=[{"role": "user", "content": "How many people live in Paris?"}],
        tools=[population],
    )
    print(run.content)

The model's calls are run, and their results are sent back, until it answers with text. If a call
fails (arguments that do not fit, a function that raises), the error goes back to the model as the
call's result, so that the model may try again. `approve` is asked before each call. `max_calls`
limits all calls together. `stream_tools` is the same, but yields events while it runs.
"""

from __future__ import annotations

import inspect
import re
from collections.abc import Awaitable, Callable, Mapping
from dataclasses import dataclass
from typing import Annotated, Any, get_type_hints

from pydantic import BaseModel, ConfigDict, Field, create_model

from mlc_llm.sdk.tools_gen import (
    MAX_TOOL_CALLS,
    ToolOutcome,
    ToolResult,
    ToolRun,
    ToolRunCall,
    ToolRunChunk,
    ToolRunEnd,
    ToolRunEvent,
    ToolRunResult,
    ToolRunText,
)
from mlc_llm.structured import close_schema
from mlc_llm.types_gen import ChatCompletionToolParam, FunctionDefinitionParam

__all__ = [
    "MAX_TOOL_CALLS",
    "Tool",
    "ToolOutcome",
    "ToolResult",
    "ToolRun",
    "ToolRunCall",
    "ToolRunChunk",
    "ToolRunEnd",
    "ToolRunEvent",
    "ToolRunResult",
    "ToolRunText",
]


@dataclass(frozen=True)
class Tool:
    """A function, and its description for the model. `arguments` reads the model's JSON. `strict`:
    whether the arguments are held to `parameters`; None: as the engine does by itself.
    `function_async`: the same function for asyncio, where `function` would block. `read_only`: an
    MCP server's word that a call changes nothing."""

    name: str
    description: str | None
    parameters: Mapping[str, Any]
    function: Callable[..., Any]
    arguments: Callable[[str], dict[str, Any]]
    strict: bool | None = True
    function_async: Callable[..., Awaitable[Any]] | None = None
    read_only: bool = False

    @classmethod
    def of(cls, function: Callable[..., Any], *, name: str | None = None) -> Tool:
        """Makes a tool from a function with typed parameters. Its docstring describes it and
        them."""
        what, of_parameters = _read_docstring(inspect.getdoc(function) or "")
        model = _arguments_model(function, of_parameters)
        schema = model.model_json_schema()
        schema.pop("title", None)
        close_schema(schema)
        return cls(name or function.__name__, what or None, schema, function, _reader(model))

    def definition(self) -> ChatCompletionToolParam:
        """The tool in the form of a request."""
        function: FunctionDefinitionParam = {"name": self.name}
        if self.strict is not None:
            function["strict"] = self.strict
        if self.description is not None:
            function["description"] = self.description
        function["parameters"] = self.parameters
        return {"type": "function", "function": function}


def _reader(model: type[BaseModel]) -> Callable[[str], dict[str, Any]]:
    def read(text: str) -> dict[str, Any]:
        values = model.model_validate_json(text or "{}")
        return {name: getattr(values, name) for name in type(values).model_fields}

    return read


def _arguments_model(
    function: Callable[..., Any], descriptions: Mapping[str, str]
) -> type[BaseModel]:
    hints = get_type_hints(function, include_extras=True)
    fields: dict[str, Any] = {}
    for parameter in inspect.signature(function).parameters.values():
        name = parameter.name
        if parameter.kind in (parameter.VAR_POSITIONAL, parameter.VAR_KEYWORD):
            raise TypeError(f"{function.__name__}: *{name} cannot be described to a model")
        if parameter.kind is parameter.POSITIONAL_ONLY or name.startswith("_"):
            raise TypeError(f"{function.__name__}: {name} cannot be given by name")
        hint, default = hints.get(name, Any), parameter.default
        if name in descriptions:
            hint = Annotated[hint, Field(description=descriptions[name])]
        fields[name] = (hint, ... if default is parameter.empty else default)
    config = ConfigDict(extra="forbid", protected_namespaces=())
    return create_model(function.__name__, __config__=config, **fields)


_SECTION = re.compile(r"^(args|arguments|parameters):\s*$", re.IGNORECASE)
_END = re.compile(r"^\w[\w ]*:\s*$")
_ITEM = re.compile(r"^(\s+)\*{0,2}(\w+)\s*(?:\([^)]*\))?:\s*(.*)$")
_FIELD = re.compile(r"^:param\s+(?:[\w\[\], .]+\s)?(\w+):\s*(.*)$")


def _read_docstring(text: str) -> tuple[str, dict[str, str]]:
    """The text before the parameters, and the text of each: from an `Args:` section or `:param
    x:`."""
    what: list[str] = []
    parameters: dict[str, str] = {}
    in_section, last, indent = False, "", 0
    for line in text.splitlines():
        item, field = _ITEM.match(line), _FIELD.match(line)
        if field:
            last = field[1]
            parameters[last] = field[2]
        elif _SECTION.match(line):
            in_section, last = True, ""
        elif in_section and item and (not last or len(item[1]) <= indent):
            last, indent = item[2], len(item[1])
            parameters[last] = item[3]
        elif last and line.startswith(" "):
            parameters[last] = f"{parameters[last]} {line.strip()}".strip()
        elif _END.match(line) or line.startswith(":"):
            break
        elif not in_section and not last:
            what.append(line)
    return "\n".join(what).strip(), parameters

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

The model's calls are run, in their order, and their results sent back until it answers with text.
What goes wrong in a call (arguments that do not fit, a function that raises) goes back to the model
as the call's result, so that it may try again. `approve` is asked before each call; `max_calls`
bounds them all together.
"""

from __future__ import annotations

import inspect
import json
import re
from collections.abc import Awaitable, Callable, Iterable, Mapping
from dataclasses import dataclass
from typing import Any, get_type_hints

from pydantic import BaseModel, ConfigDict, Field, ValidationError, create_model
from pydantic_core import to_json

from mlc_llm.structured import close_schema
from mlc_llm.types_gen import (
    ChatCompletion,
    ChatCompletionMessage,
    ChatCompletionMessageToolCall,
    ChatCompletionToolParam,
    FunctionDefinitionParam,
)

MAX_CALLS = 16
# What the model reads in place of a result.
DENIED = "error: the call was denied"
LIMIT = "error: the call was not made: the limit of calls is reached; answer without it"

Approve = Callable[[ChatCompletionMessageToolCall], bool]
AsyncApprove = Callable[[ChatCompletionMessageToolCall], "bool | Awaitable[bool]"]


@dataclass(frozen=True)
class Tool:
    """A function, with what the model is told of it. `arguments` reads the model's JSON."""

    name: str
    description: str | None
    parameters: Mapping[str, Any]
    function: Callable[..., Any]
    arguments: Callable[[str], dict[str, Any]]

    @classmethod
    def of(cls, function: Callable[..., Any], *, name: str | None = None) -> Tool:
        """Of a function with typed parameters; its docstring describes it and them."""
        what, of_parameters = _read_docstring(inspect.getdoc(function) or "")
        model = _arguments_model(function, of_parameters)
        schema = model.model_json_schema()
        schema.pop("title", None)
        close_schema(schema)
        return cls(name or function.__name__, what or None, schema, function, _reader(model))

    def definition(self) -> ChatCompletionToolParam:
        """As a request offers it."""
        function: FunctionDefinitionParam = {"name": self.name, "strict": True}
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
        default = ... if parameter.default is parameter.empty else parameter.default
        fields[name] = (
            hints.get(name, Any),
            Field(default, description=descriptions.get(name)),
        )
    config = ConfigDict(extra="forbid", protected_namespaces=())
    return create_model(function.__name__, __config__=config, **fields)


_SECTION = re.compile(r"^(args|arguments|parameters):\s*$", re.IGNORECASE)
_END = re.compile(r"^\w[\w ]*:\s*$")
_ITEM = re.compile(r"^(\s+)\*{0,2}(\w+)\s*(?:\([^)]*\))?:\s*(.*)$")
_FIELD = re.compile(r"^:param\s+(?:[\w\[\], .]+\s)?(\w+):\s*(.*)$")


def _read_docstring(text: str) -> tuple[str, dict[str, str]]:
    """What comes before the parameters, and each of them: of an `Args:` section or `:param x:`."""
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


@dataclass(frozen=True)
class ToolRun:
    """How a loop ended."""

    completion: ChatCompletion
    """The last answer."""

    messages: list[dict[str, Any]]
    """The whole conversation, the last answer included: to be continued with the next request."""

    num_calls: int
    """The calls that the model made, the denied and failed ones too."""

    limit_reached: bool
    """Whether there would have been more."""

    @property
    def message(self) -> ChatCompletionMessage:
        return self.completion.choices[0].message

    @property
    def content(self) -> str | None:
        """The answer's text."""
        return self.message.content


@dataclass(frozen=True)
class PlannedCall:
    """A call of the model's: its function and arguments, or why there is nothing to be called."""

    call: ChatCompletionMessageToolCall
    tool: Tool | None
    arguments: Mapping[str, Any]
    refusal: str | None

    def result(self, outcome: object) -> str:
        return result_text(outcome)


def result_text(outcome: object) -> str:
    """What the model reads of a result: a text as it is, else JSON."""
    return outcome if isinstance(outcome, str) else to_json(outcome, fallback=str).decode()


def failure_text(error: Exception) -> str:
    return f"error: {error}" if str(error) else f"error: {type(error).__name__}"


class ToolLoop:
    """The loop without its waiting: what to ask, what to call, when it has ended.

    loop = ToolLoop(tools, params, max_calls=16)
    while calls := loop.take(complete(loop.request())):
        for call in calls:
            loop.answer(call, "...")
    """

    def __init__(
        self,
        tools: Iterable[Callable[..., Any] | Tool],
        params: Mapping[str, Any],
        *,
        max_calls: int,
    ) -> None:
        if max_calls < 1:
            raise ValueError("max_calls must be at least 1")
        if params.get("n") not in (None, 1):
            raise ValueError("a loop follows one answer: leave n out")
        listed = [tool if isinstance(tool, Tool) else Tool.of(tool) for tool in tools]
        self._tools = {tool.name: tool for tool in listed}
        if not listed or len(self._tools) < len(listed):
            raise ValueError("tools: at least one, each of another name")
        self._params = dict(params)
        self._max_calls = max_calls
        self._messages = [_as_dict(message) for message in params["messages"]]
        self._num_calls, self._limit_reached = 0, False
        self._completion: ChatCompletion | None = None

    def request(self) -> dict[str, Any]:
        """The next request: `tool_choice` binds the first one alone, or the loop would not end."""
        request = {**self._params, "messages": list(self._messages)}
        request["tools"] = [tool.definition() for tool in self._tools.values()]
        if self._limit_reached:
            request["tool_choice"] = "none"
        elif self._completion is not None and request.get("tool_choice") is not None:
            request["tool_choice"] = "auto"
        return request

    def take(self, completion: ChatCompletion) -> list[PlannedCall]:
        """The calls of an answer; none when it is the last one."""
        self._completion = completion
        message = completion.choices[0].message
        self._messages.append(_as_dict(message))
        was_limited, calls = self._limit_reached, message.tool_calls or []
        return [] if was_limited else [self._plan(call) for call in calls]

    def answer(self, planned: PlannedCall, result: str) -> None:
        """The result of a call; to be given in the order of the calls."""
        message = {"role": "tool", "tool_call_id": planned.call.id, "content": result}
        self._messages.append(message)

    def ended(self) -> ToolRun:
        assert self._completion is not None
        return ToolRun(self._completion, self._messages, self._num_calls, self._limit_reached)

    def _plan(self, call: ChatCompletionMessageToolCall) -> PlannedCall:
        if self._num_calls == self._max_calls:
            self._limit_reached = True
            return PlannedCall(call, None, {}, LIMIT)
        self._num_calls += 1
        tool = self._tools.get(call.function.name)
        if tool is None:
            names = ", ".join(self._tools)
            why = f"error: there is no tool {call.function.name}; there are: {names}"
            return PlannedCall(call, None, {}, why)
        try:
            return PlannedCall(call, tool, tool.arguments(call.function.arguments), None)
        except ValidationError as error:
            return PlannedCall(call, None, {}, f"error: the arguments do not fit: {_words(error)}")


def _words(error: ValidationError) -> str:
    return "; ".join(
        ": ".join(filter(None, (".".join(map(str, item["loc"])), item["msg"])))
        for item in error.errors()
    )


def _as_dict(message: Any) -> dict[str, Any]:
    if isinstance(message, BaseModel):
        return json.loads(message.model_dump_json(exclude_none=True))  # type: ignore[no-any-return]
    return dict(message)


def run_loop(
    complete: Callable[[dict[str, Any]], ChatCompletion], loop: ToolLoop, approve: Approve | None
) -> ToolRun:
    while calls := loop.take(complete(loop.request())):
        for planned in calls:
            loop.answer(planned, _call(planned, approve))
    return loop.ended()


def _call(planned: PlannedCall, approve: Approve | None) -> str:
    if planned.tool is None:
        return planned.refusal or ""
    if approve is not None and not approve(planned.call):
        return DENIED
    try:
        return result_text(planned.tool.function(**planned.arguments))
    except Exception as error:
        return failure_text(error)


async def run_loop_async(
    complete: Callable[[dict[str, Any]], Awaitable[ChatCompletion]],
    loop: ToolLoop,
    approve: AsyncApprove | None,
) -> ToolRun:
    """The calls of one answer run at the same time; `approve` is asked for one after the other."""
    import asyncio

    while calls := loop.take(await complete(loop.request())):
        approved = [await _is_approved(planned, approve) for planned in calls]
        work = [_call_async(p, yes) for p, yes in zip(calls, approved, strict=True)]
        for planned, result in zip(calls, await asyncio.gather(*work), strict=True):
            loop.answer(planned, result)
    return loop.ended()


async def _is_approved(planned: PlannedCall, approve: AsyncApprove | None) -> bool:
    if approve is None or planned.tool is None:
        return True
    answer = approve(planned.call)
    return await answer if inspect.isawaitable(answer) else answer


async def _call_async(planned: PlannedCall, approved: bool) -> str:
    if planned.tool is None:
        return planned.refusal or ""
    if not approved:
        return DENIED
    try:
        outcome = planned.tool.function(**planned.arguments)
        return result_text(await outcome if inspect.isawaitable(outcome) else outcome)
    except Exception as error:
        return failure_text(error)

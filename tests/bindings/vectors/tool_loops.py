"""Loops of tool calls over scripted answers: what is asked, told and given, the same everywhere.

The tools are `weather(city: string, days: integer = 1)`, which gives its arguments back as
JSON and fails for the city Nowhere, and `noon()`, which says "at 12".
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import by_hand
import classes

Case = dict[str, Any]
OSLO = ("weather", '{"city": "Oslo"}')
NOON = ("noon", "{}")
REPORT = '{"city":"Oslo","days":1}'
UNFIT = "error: the arguments do not fit: *"  # then words of the language's own
LIMIT = "error: the call was not made: the limit of calls is reached; answer without it"
DENIED = "error: the call was denied"
AUTO, NONE, REQUIRED = "auto", "none", "required"


def says(content: str | None, *calls: tuple[str, str], thoughts: str | None = None) -> list[Case]:
    """An answer's chunks: text by characters, each call in two pieces, then the usage."""
    more = [] if thoughts is None else [by_hand.delta(reasoning_content=thoughts)]
    deltas = [by_hand.delta(role="assistant"), *more]
    deltas += [by_hand.delta(letter) for letter in content or ""]
    for i, (name, arguments) in enumerate(calls):
        half = len(arguments) // 2
        first = by_hand.call(i, name=name, arguments=arguments[:half])
        deltas += [by_hand.delta(tool_calls=[first])]
        deltas += [by_hand.delta(tool_calls=[by_hand.call(i, arguments=arguments[half:])])]
    deltas.append(by_hand.delta(finish="tool_calls" if calls else "stop"))
    chunks = [by_hand.chunk(delta) for delta in deltas]
    return [*chunks, by_hand.chunk(usage=by_hand.USAGE)]


def message(
    content: str | None, *calls: tuple[str, str], thoughts: str | None = None
) -> dict[str, Any]:
    """What goes into the conversation for it."""
    made = [
        {"id": f"call_{i}", "type": "function", "function": {"name": name, "arguments": text}}
        for i, (name, text) in enumerate(calls)
    ]
    given = {"content": content, "reasoning_content": thoughts, "tool_calls": made}
    return {"role": "assistant"} | {k: v for k, v in given.items() if v not in (None, [])}


def step(
    content: str | None,
    *calls: tuple[str, str],
    results: tuple[tuple[str, str], ...] = (),
    thoughts: str | None = None,
) -> tuple[list[Case], dict[str, Any], tuple[tuple[str, str], ...]]:
    """An answer, its message, and each call's outcome with what the model reads of it."""
    said = message(content, *calls, thoughts=thoughts)
    return says(content, *calls, thoughts=thoughts), said, results


def loop_case(
    name: str, request: Case, choices: list[str | None], steps: list[Any], **options: Any
) -> Case:
    """`choices`: the `tool_choice` of each request. The rest of what is expected follows."""
    talk, asked, events, num_calls = list(request["messages"]), [], [], 0
    for (chunks, said, results), choice in zip(steps, choices, strict=True):
        asked.append({"messages": list(talk), "tool_choice": choice})
        events += [{"type": "text", "text": text} for text in _texts(chunks)]
        talk.append(said)
        calls = said.get("tool_calls", []) if results else []
        events += [{"type": "call", "name": call["function"]["name"]} for call in calls]
        for call, (outcome, content) in zip(calls, results, strict=True):
            events.append({"type": "result", "outcome": outcome, "content": content})
            talk.append({"role": "tool", "tool_call_id": call["id"], "content": content})
            num_calls += content != LIMIT
    content = steps[-1][1].get("content")
    limited = any(content == LIMIT for _, _, results in steps for _, content in results)
    end = {"content": content, "num_calls": num_calls, "limit_reached": limited}
    events.append({"type": "end", **end, "messages": talk, "usage": by_hand.USAGE})
    script = [chunks for chunks, _, _ in steps]
    case = {"name": f"tools: {name}", "kind": "tools", "request": request, "answers": script}
    return {**case, **options, "asked": asked, "events": events}


def _texts(chunks: list[Case]) -> Iterator[str]:
    for chunk in chunks:
        for choice in chunk["choices"]:
            if choice["delta"].get("content"):
                yield choice["delta"]["content"]


def wrong(name: str, text: str, param: str, **options: Any) -> Case:
    """A loop that does not begin."""
    case = {"name": f"tools: {name}", "kind": "tools", "request": ASK, "answers": [], **options}
    return {**case, **classes.expected("invalid_request", text, param)}


ASK: Case = {"messages": [{"role": "user", "content": "How is it in Oslo?"}]}
RETURNED = ("returned", REPORT), ("returned", "at 12")

TOOL_LOOPS: list[Case] = [
    loop_case("an answer without a call", ASK, [None], [step("Fine, I think.")]),
    loop_case(
        "two calls and an answer",
        ASK | {"seed": 3, "tool_choice": REQUIRED},
        [REQUIRED, AUTO],
        [step(None, OSLO, NOON, results=RETURNED), step("Sunny \u2600.")],
    ),
    loop_case(
        "text and thoughts beside calls",
        ASK,
        [None, None],
        [
            step("Let me look. ", OSLO, results=RETURNED[:1], thoughts="Oslo is cold."),
            step("Cold."),
        ],
    ),
    loop_case(
        "an optional argument",
        ASK | {"tool_choice": AUTO},
        [AUTO, AUTO],
        [
            step(
                None,
                ("weather", '{"city": "Bergen", "days": 3}'),
                results=(("returned", '{"city":"Bergen","days":3}'),),
            ),
            step("Rain."),
        ],
    ),
    loop_case(
        "what goes wrong goes back to the model",
        ASK,
        [None] * 4,
        [
            step(
                None,
                ("weather", '{"city": "Nowhere"}'),
                results=(("failed", "error: no such city"),),
            ),
            step(
                None,
                ("weather", '{"city": 3}'),
                ("weather", '{"ci'),
                results=(("refused", UNFIT), ("refused", UNFIT)),
            ),
            step(
                None,
                ("rain", "{}"),
                NOON,
                results=(
                    ("refused", "error: there is no tool rain; there are: weather, noon"),
                    ("returned", "at 12"),
                ),
            ),
            step("I do not know."),
        ],
    ),
    loop_case(
        "arguments that are no text",
        ASK,
        [None, None],
        [step(None, ("noon", ""), results=RETURNED[1:]), step("At noon.")],
    ),
    loop_case(
        "a call that is denied",
        ASK,
        [None, None],
        [
            step(None, OSLO, NOON, results=(("denied", DENIED), ("returned", "at 12"))),
            step("Well."),
        ],
        deny=["weather"],
    ),
    loop_case(
        "what cannot be called is not asked about",
        ASK,
        [None, None],
        [
            step(
                None,
                ("rain", "{}"),
                ("weather", "[]"),
                results=(
                    ("refused", "error: there is no tool rain; there are: weather, noon"),
                    ("refused", UNFIT),
                ),
            ),
            step("Well."),
        ],
        deny=["rain", "weather"],
    ),
    loop_case(
        "the limit ends a loop that would not end",
        ASK | {"tool_choice": REQUIRED},
        [REQUIRED, AUTO, NONE],
        [
            step(None, NOON, NOON, results=(("returned", "at 12"),) * 2),
            step(None, NOON, NOON, results=(("returned", "at 12"), ("refused", LIMIT))),
            step("Twelve.", NOON),
        ],
        max_calls=3,
    ),
    loop_case(
        "a limit that is just enough",
        ASK,
        [None, None],
        [step(None, NOON, results=(("returned", "at 12"),)), step("Twelve.")],
        max_calls=1,
    ),
    wrong("no tools", "at least one tool is needed, each of another name", "tools", tools=[]),
    wrong(
        "two tools of one name",
        "at least one tool is needed, each of another name",
        "tools",
        tools=["noon", "noon"],
    ),
    wrong("no call at all", "max_calls must be at least 1", "max_calls", max_calls=0),
    wrong(
        "more than one answer",
        "a loop of tool calls follows one answer: leave n out",
        "n",
        request=ASK | {"n": 2},
    ),
]

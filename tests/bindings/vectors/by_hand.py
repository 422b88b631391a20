"""Cases that no schema can think of. `make.py` adds what follows from the schema."""

from __future__ import annotations

from typing import Any

USER = {"role": "user", "content": "Hi"}
REQUEST, ANSWER, CHUNK = "ChatCompletionRequest", "ChatCompletion", "ChatCompletionChunk"


def said(content: Any, **more: Any) -> dict[str, Any]:
    """A request with one message of the user's."""
    return {"messages": [{"role": "user", "content": content}], **more}


def answer(message: dict[str, Any], finish: str = "stop", **more: Any) -> dict[str, Any]:
    return {
        "id": "chatcmpl-1",
        "object": "chat.completion",
        "created": 1795000000,
        "model": "m",
        "choices": [{"index": 0, "message": message, "logprobs": None, "finish_reason": finish}],
        **more,
    }


def chunk(*choices: dict[str, Any], **more: Any) -> dict[str, Any]:
    head = {"id": "chatcmpl-1", "object": "chat.completion.chunk", "created": 1795000000}
    return {**head, "model": "m", "choices": list(choices), **more}


def delta(
    content: str | None = None, finish: str | None = None, index: int = 0, **more: Any
) -> dict[str, Any]:
    text = {} if content is None else {"content": content}
    return {"index": index, "delta": {**text, **more}, "logprobs": None, "finish_reason": finish}


def call(index: int, **function: str) -> dict[str, Any]:
    """A piece of a tool call; the first piece has a name."""
    first = {"id": f"call_{index}", "type": "function"} if "name" in function else {}
    return {"index": index, **first, "function": function}


TOKEN = {"token": "\ufffd", "logprob": -0.25, "bytes": [240, 159]}
USAGE = {"prompt_tokens": 3, "completion_tokens": 2, "total_tokens": 5}
TALK = [
    {"role": "system", "content": "Be brief."},
    {"role": "developer", "content": "Use the metric system."},
    {"role": "user", "name": "Zo\u00eb", "content": "How warm is it in \u6771\u4eac?"},
    {
        "role": "assistant",
        "content": None,
        "tool_calls": [
            {
                "id": "call_0",
                "type": "function",
                "function": {"name": "warmth", "arguments": '{"city": "\u6771\u4eac"}'},
            }
        ],
    },
    {"role": "tool", "tool_call_id": "call_0", "content": "21.5"},
    {"role": "assistant", "content": "21.5 \u00b0C", "reasoning_content": "easy"},
]
PARTS = [
    {"type": "text", "text": "What is this?"},
    {"type": "image_url", "image_url": {"url": "data:image/png;base64,AA==", "detail": "high"}},
    {"type": "image_url", "image_url": "https://localhost/a.png"},
]
PICTURES = [
    *(
        {"type": "image_url", "image_url": {"url": "data:;base64,AA==", "detail": detail}}
        for detail in ("auto", "low", "high", "original")
    ),
    {"type": "image_url", "image_url": "AA=="},
    {"type": "image_url", "image_url": {"url": "buffer:0"}},
]
SCHEMA = {
    "type": "object",
    "properties": {"a.b": {"type": ["integer", "null"]}, "\u00fc": {"enum": ["x", 1, None, True]}},
    "required": [],
    "additionalProperties": False,
}

# (name, type, use, json)
VALUES: list[tuple[str, str, str, Any]] = [
    ("a whole conversation", REQUEST, "request", {"messages": TALK}),
    ("text and images", REQUEST, "request", said(PARTS)),
    ("pictures alone, in each detail", REQUEST, "request", said(PICTURES)),
    ("empty text", REQUEST, "request", said("")),
    (
        "astral characters",
        REQUEST,
        "request",
        said("\U0001f600\U0001f469\u200d\U0001f680 \U00010348"),
    ),
    ("every escape", REQUEST, "request", said('"\\/\b\f\n\r\t\u0000\u001f\u007f\u2028\u2029')),
    ("right to left", REQUEST, "request", said("\u05e9\u05dc\u05d5\u05dd \u202e abc")),
    ("combining, not normalized", REQUEST, "request", said("e\u0301 \u00e9 \ufb01 \u1e9e")),
    ("non-characters", REQUEST, "request", said("\ufffd\ufffe\uffff \ue000")),
    ("text like JSON", REQUEST, "request", said('{"role": "system"}')),
    ("template signs", REQUEST, "request", said("{{ messages }} {% raw %} <|im_end|>")),
    ("largest seed", REQUEST, "request", said("x", seed=2**63 - 1)),
    ("smallest seed", REQUEST, "request", said("x", seed=-(2**63))),
    ("seed beyond a double", REQUEST, "request", said("x", seed=2**53 + 1)),
    ("zero is not absent", REQUEST, "request", said("x", temperature=0, top_k=0, seed=0, min_p=0)),
    ("false is not absent", REQUEST, "request", said("x", store=False, parallel_tool_calls=False)),
    ("defaults that are given", REQUEST, "request", said("x", n=1, stream=False, logprobs=False)),
    ("a whole number as a decimal", REQUEST, "request", said("x", temperature=1, top_p=1)),
    ("a tiny number", REQUEST, "request", said("x", min_p=1e-300, top_p=0.1)),
    ("bias by token", REQUEST, "request", said("x", logit_bias={"0": -100, "17": 0.5, "498": 100})),
    ("no bias", REQUEST, "request", said("x", logit_bias={})),
    ("stop at one text", REQUEST, "request", said("x", stop="\n\n")),
    ("stop at texts", REQUEST, "request", said("x", stop=["\n", "\u3002", '"'])),
    ("stop at no text", REQUEST, "request", said("x", stop=[])),
    ("labels", REQUEST, "request", said("x", metadata={"a.b": "1", "": "2", "\u00fc[0]": "3"})),
    (
        "template variables",
        REQUEST,
        "request",
        said("x", chat_template_kwargs={"enable_thinking": False, "n": 2**53, "deep": [[[{}]]]}),
    ),
    (
        "raw JSON of each kind",
        REQUEST,
        "request",
        said(
            "x",
            audio=[],
            web_search_options=1,
            functions=False,
            function_call={},
        ),
    ),
    (
        "schema as an object",
        REQUEST,
        "request",
        said("x", response_format={"type": "json_object", "schema": SCHEMA}),
    ),
    (
        "schema as text",
        REQUEST,
        "request",
        said("x", response_format={"type": "json_object", "schema": '{"type": "object"}'}),
    ),
    (
        "schema with a name",
        REQUEST,
        "request",
        said(
            "x",
            response_format={
                "type": "json_schema",
                "json_schema": {"name": "s", "schema": SCHEMA, "strict": True},
            },
        ),
    ),
    (
        "a regular expression",
        REQUEST,
        "request",
        said("x", response_format={"type": "regex", "regex": "\\d{3}-[a-z]+|\u00e9\\\\"}),
    ),
    (
        "a grammar",
        REQUEST,
        "request",
        said("x", response_format={"type": "grammar", "grammar": 'root ::= "a" | "\\n"\n'}),
    ),
    (
        "structural tags",
        REQUEST,
        "request",
        said(
            "x",
            response_format={
                "type": "structural_tag",
                "tags": [{"begin": "<f>", "schema": SCHEMA, "end": "</f>"}],
                "triggers": ["<f"],
            },
        ),
    ),
    (
        "tools",
        REQUEST,
        "request",
        said(
            "x",
            tools=[
                {"type": "function", "function": {"name": "f"}},
                {
                    "type": "function",
                    "function": {
                        "name": "g",
                        "description": "\u00fc",
                        "parameters": SCHEMA,
                        "strict": False,
                    },
                },
            ],
            tool_choice={"type": "function", "function": {"name": "g"}},
        ),
    ),
    ("no tools", REQUEST, "request", said("x", tools=[], tool_choice="none")),
    (
        "members of other vendors",
        REQUEST,
        "request",
        {"messages": [{**USER, "cache_control": {"type": "ephemeral"}}], "x": None, "y": {"z": []}},
    ),
    ("prompts of each kind", "CompletionRequest", "request", {"prompt": ["a", 1, [2, 3]]}),
    ("token ids", "CompletionRequest", "request", {"prompt": [1, 2, 3], "max_tokens": 0}),
    ("no tokens", "DetokenizeRequest", "request", {"tokens": []}),
    (
        "reserved words as keys",
        REQUEST,
        "request",
        said(
            "x",
            metadata={
                "default": "1",
                "in": "2",
                "when": "3",
                "object": "4",
                "class": "5",
                "self": "6",
            },
        ),
    ),
    (
        "a text",
        ANSWER,
        "response",
        answer({"role": "assistant", "content": "\U0001f600", "refusal": None}, usage=USAGE),
    ),
    (
        "no text but calls",
        ANSWER,
        "response",
        answer(
            {
                "role": "assistant",
                "content": None,
                "refusal": None,
                "tool_calls": [
                    {
                        "id": "c",
                        "type": "function",
                        "function": {"name": "f", "arguments": "{not json"},
                    }
                ],
            },
            "tool_calls",
        ),
    ),
    (
        "an unknown reason",
        ANSWER,
        "response",
        answer({"role": "assistant", "content": "x", "refusal": None}, "out_of_patience"),
    ),
    (
        "an empty reason",
        ANSWER,
        "response",
        answer({"role": "assistant", "content": "x", "refusal": None}, ""),
    ),
    (
        "null beside absent",
        ANSWER,
        "response",
        answer(
            {"role": "assistant", "content": None, "refusal": None, "reasoning_content": None},
            usage=None,
            system_fingerprint=None,
        ),
    ),
    (
        "absent where null is written",
        ANSWER,
        "response",
        {
            **answer({"role": "assistant"}),
            "choices": [{"index": 0, "message": {"role": "assistant"}, "finish_reason": "stop"}],
        },
    ),
    (
        "measurements",
        ANSWER,
        "response",
        answer(
            {"role": "assistant", "content": "", "refusal": None},
            usage={
                **USAGE,
                "extra": {"ttft_s": 0.001, "prefill_tokens": 2, "decode_tokens_per_s": 1e9},
                "prompt_tokens_details": {"cached_tokens": 0, "audio_tokens": 0},
                "completion_tokens_details": {},
            },
        ),
    ),
    (
        "logprobs of half a character",
        ANSWER,
        "response",
        {
            **answer({"role": "assistant"}),
            "choices": [
                {
                    "index": 0,
                    "message": {"role": "assistant", "content": "x", "refusal": None},
                    "logprobs": {
                        "content": [
                            {
                                **TOKEN,
                                "top_logprobs": [
                                    {"token": "a", "logprob": -9999.0, "bytes": None},
                                    {**TOKEN, "logprob": -1e-9},
                                ],
                            }
                        ],
                        "refusal": None,
                    },
                    "finish_reason": "length",
                }
            ],
        },
    ),
    ("no answers", ANSWER, "response", {**answer({}), "choices": []}),
    (
        "newer members everywhere",
        ANSWER,
        "response",
        {
            **answer({"role": "assistant"}),
            "choices": [
                {
                    "index": 0,
                    "message": {
                        "role": "assistant",
                        "content": "x",
                        "refusal": None,
                        "annotations": [],
                        "audio": None,
                    },
                    "logprobs": None,
                    "finish_reason": "stop",
                    "score": 0.5,
                }
            ],
            "usage": {**USAGE, "cost": {"eur": 0.1}},
            "service_tier": "default",
        },
    ),
    ("a large time", ANSWER, "response", {**answer({}), "choices": [], "created": 2**53 + 1}),
    ("a role of tomorrow", CHUNK, "response", chunk(delta("x", role="narrator"))),
    (
        "a kind of tool of tomorrow",
        CHUNK,
        "response",
        chunk(delta(tool_calls=[{"index": 0, "type": "custom", "id": "c"}])),
    ),
    ("usage alone", CHUNK, "response", chunk(usage=USAGE)),
    ("an empty delta", CHUNK, "response", chunk(delta(finish="length"))),
    (
        "numbers or base64",
        "EmbeddingResponse",
        "response",
        {
            "object": "list",
            "model": "m",
            "usage": {"prompt_tokens": 1, "total_tokens": 1},
            "data": [
                {"object": "embedding", "index": 0, "embedding": [0.5, -1, 1e-8]},
                {"object": "embedding", "index": 1, "embedding": "AAAAPw=="},
            ],
        },
    ),
    (
        "documents in the order of their scores",
        "RerankResponse",
        "response",
        {
            "id": "rerank-1",
            "object": "list",
            "model": "m",
            "results": [
                {"index": 1, "relevance_score": 0.75, "document": {"text": "b", "page": 7}},
                {"index": 0, "relevance_score": 1e-9},
            ],
            "usage": {"prompt_tokens": 9, "total_tokens": 9},
        },
    ),
    (
        "metrics of a newer engine",
        "EngineMetrics",
        "response",
        {
            "kv_pages_total": 4,
            "gpu_hours": 1,
            "last_finished_request": {"ttft_s": 0, "new": []},
            "spec_decode": {"draft_count": [3, 1], "accept_prob": {"step=0": 0.5}},
        },
    ),
    (
        "an error",
        "ErrorResponse",
        "response",
        {"error": {"message": "no", "type": "server_error", "param": None, "code": None}},
    ),
]

# (name, chunks)
STREAMS: list[tuple[str, list[Any]]] = [
    (
        "two pieces",
        [chunk(delta("Hel", role="assistant")), chunk(delta("lo")), chunk(delta(finish="stop"))],
    ),
    (
        "usage at the end",
        [chunk(delta("a", role="assistant")), chunk(delta("", "stop")), chunk(usage=USAGE)],
    ),
    (
        "two answers, mixed",
        [
            chunk(delta("a", role="assistant")),
            chunk(delta("x", role="assistant", index=1)),
            chunk(delta("b")),
            chunk(delta("y", "length", 1)),
            chunk(delta("c", "stop")),
        ],
    ),
    (
        "two answers in one chunk",
        [chunk(delta("a"), delta("x", index=1)), chunk(delta("b", "stop"), delta("y", "stop", 1))],
    ),
    (
        "emoji piece by piece",
        [
            chunk(delta("\U0001f469")),
            chunk(delta("\u200d")),
            chunk(delta("\U0001f680")),
            chunk(delta("!", "stop")),
        ],
    ),
    (
        "a call in pieces",
        [
            chunk(delta(role="assistant", tool_calls=[call(0, name="f", arguments="")])),
            chunk(delta(tool_calls=[call(0, arguments='{"a"')])),
            chunk(delta(tool_calls=[call(0, arguments=": 1}")])),
            chunk(delta(finish="tool_calls")),
        ],
    ),
    (
        "two calls, mixed",
        [
            chunk(
                delta(
                    tool_calls=[call(0, name="f", arguments="{"), call(1, name="g", arguments="[")]
                )
            ),
            chunk(delta(tool_calls=[call(1, arguments="]")])),
            chunk(delta(tool_calls=[call(0, arguments="}")])),
            chunk(delta(finish="tool_calls")),
        ],
    ),
    (
        "text, then a call",
        [
            chunk(delta("Wait. ", role="assistant")),
            chunk(delta(tool_calls=[call(0, name="f", arguments="{}")])),
            chunk(delta(finish="tool_calls")),
        ],
    ),
    ("no content at all", [chunk(delta(role="assistant")), chunk(delta(finish="stop"))]),
    ("null content", [chunk({**delta(), "delta": {"content": None}}), chunk(delta(finish="stop"))]),
    ("an unknown reason", [chunk(delta("a")), chunk(delta("b", "paused"))]),
    (
        "newer members",
        [
            chunk({**delta("a"), "x": 1}, y=[]),
            chunk({**delta("b", "stop"), "delta": {"content": "b", "z": {}}}),
        ],
    ),
    (
        "thinking",
        [
            chunk(delta(role="assistant", reasoning_content="hm")),
            chunk(delta("42", reasoning_content=None)),
            chunk(delta(finish="stop")),
        ],
    ),
    (
        "a refusal",
        [chunk(delta(role="assistant", refusal="No.")), chunk(delta(finish="content_filter"))],
    ),
    ("one chunk alone", [chunk(delta("all of it", "stop", role="assistant"), usage=USAGE)]),
    ("no chunk", []),
    ("many chunks", [chunk(delta(f"{i} ")) for i in range(200)] + [chunk(delta(finish="length"))]),
]

# (name, error, kind): what no row of codegen/schema/errors.py says.
ERRORS: list[tuple[str, dict[str, str | None], str]] = [
    ("no code", {"message": "no", "type": "invalid_request_error"}, "InvalidRequest"),
    ("too many requests", {"type": "rate_limit_error", "code": "of_tomorrow"}, "RateLimit"),
    ("a type of tomorrow", {"type": "tea_break_error"}, "Internal"),
    (
        "a reason of tomorrow",
        {"type": "server_error", "code": "of_tomorrow", "status": "resource_exhausted"},
        "Resource",
    ),
    (
        "a status of tomorrow",
        {"type": "not_found_error", "code": "of_tomorrow", "status": "of_tomorrow"},
        "NotFound",
    ),
    (
        "unicode",
        {
            "message": '\U0001f600 \u00e9 "\\\n',
            "type": "invalid_request_error",
            "param": "messages[0].\u00fc",
            "code": "x",
        },
        "InvalidRequest",
    ),
    ("an empty message", {"type": "server_error", "param": "", "code": ""}, "Internal"),
]

BAD = "chat.completions"
# (name, route, body, param, code)
FAULTS: list[tuple[str, str, str, str | None, str]] = [
    ("no JSON", BAD, "", None, "invalid_request"),
    ("half an object", BAD, '{"messages": [', None, "invalid_request"),
    ("text behind", BAD, "{} {}", None, "invalid_request"),
    ("a number alone", BAD, "3", None, "invalid_type"),
    ("an array", BAD, "[]", None, "invalid_type"),
    ("nothing in it", BAD, "{}", "messages", "missing_required_parameter"),
    (
        "half a surrogate pair",
        BAD,
        '{"messages": "\\ud800"}',
        None,
        "invalid_request",
    ),
    ("too deep", BAD, "[" * 1000, None, "invalid_request"),
    (
        "a seed beyond 64 bits",
        BAD,
        '{"messages": [{"role": "user", "content": "x"}], "seed": 9223372036854775808}',
        "seed",
        "invalid_type",
    ),
    (
        "a fraction of a token",
        BAD,
        '{"messages": [{"role": "user", "content": "x"}], "max_tokens": 1.5}',
        "max_tokens",
        "invalid_type",
    ),
    (
        "an empty stop text",
        BAD,
        '{"messages": [{"role": "user", "content": "x"}], "stop": ["a", ""]}',
        "stop[1]",
        "empty_string",
    ),
    (
        "17 stop texts",
        BAD,
        '{"messages": [{"role": "user", "content": "x"}], "stop": ["a","a","a","a","a","a","a","a",'
        '"a","a","a","a","a","a","a","a","a"]}',
        "stop",
        "array_above_max_length",
    ),
    (
        "a part of no kind",
        BAD,
        '{"messages": [{"role": "user", "content": [{"type": "smell"}]}]}',
        "messages[0].content[0].type",
        "invalid_value",
    ),
    (
        "no parts",
        BAD,
        '{"messages": [{"role": "user", "content": []}]}',
        "messages[0].content",
        "empty_array",
    ),
    (
        "an image without its URL",
        BAD,
        '{"messages": [{"role": "user", "content": [{"type": "image_url", "image_url": {}}]}]}',
        "messages[0].content[0].image_url.url",
        "missing_required_parameter",
    ),
    (
        "a tool's message without its call",
        BAD,
        '{"messages": [{"role": "tool", "content": "x"}]}',
        "messages[0].tool_call_id",
        "missing_required_parameter",
    ),
    (
        "an assistant who says nothing",
        BAD,
        '{"messages": [{"role": "user", "content": "x"}, {"role": "assistant"}]}',
        "messages[1].content",
        "invalid_request",
    ),
    (
        "likeliest tokens without logprobs",
        BAD,
        '{"messages": [{"role": "user", "content": "x"}], "top_logprobs": 2}',
        "top_logprobs",
        "invalid_request",
    ),
    (
        "a token outside the vocabulary",
        BAD,
        '{"messages": [{"role": "user", "content": "x"}], "logit_bias": {"499": 1}}',
        "logit_bias.499",
        "invalid_request",
    ),
    (
        "functions",
        BAD,
        '{"messages": [{"role": "user", "content": "x"}], "functions": []}',
        "functions",
        "unsupported_parameter",
    ),
    (
        "speech",
        BAD,
        '{"messages": [{"role": "user", "content": "x"}], "modalities": ["audio"]}',
        "modalities",
        "unsupported_parameter",
    ),
    (
        "a prediction of another kind",
        BAD,
        '{"messages": [{"role": "user", "content": "x"}], "prediction": {"type": "tokens"}}',
        "prediction.type",
        "invalid_value",
    ),
    (
        "a prediction beyond the context window",
        BAD,
        '{"messages": [{"role": "user", "content": "x"}], '
        '"prediction": {"type": "content", "content": "' + "x" * 33000 + '"}}',
        "prediction",
        "context_length_exceeded",
    ),
    (
        "a search of the web",
        BAD,
        '{"messages": [{"role": "user", "content": "x"}], "web_search_options": {}}',
        "web_search_options",
        "unsupported_parameter",
    ),
    (
        "a prompt beyond the context window",
        BAD,
        '{"messages": [{"role": "user", "content": "' + "x" * 33000 + '"}]}',
        "messages",
        "context_length_exceeded",
    ),
    (
        "fewer than all tokens kept in a completion",
        "completions",
        '{"prompt": "x", "top_k": -2}',
        "top_k",
        "integer_below_min_value",
    ),
    (
        "no likelihood at all in a completion",
        "completions",
        '{"prompt": "x", "min_p": 1.5}',
        "min_p",
        "decimal_above_max_value",
    ),
    (
        "a repetition penalty of nothing in a completion",
        "completions",
        '{"prompt": "x", "repetition_penalty": 0}',
        "repetition_penalty",
        "decimal_below_min_value",
    ),
    ("an unknown route", "chat.completion", "{}", "route", "not_found"),
    (
        "an empty text among those to embed",
        "embeddings",
        '{"input": ["ba", ""]}',
        "input[1]",
        "invalid_request",
    ),
    (
        "texts beside token ids",
        "embeddings",
        '{"input": [3, "ba"]}',
        "input[1]",
        "invalid_request",
    ),
    (
        "more dimensions than there are",
        "embeddings",
        '{"input": "ba", "dimensions": 17}',
        "dimensions",
        "invalid_request",
    ),
    (
        "an adapter that is not loaded",
        BAD,
        '{"messages": [{"role": "user", "content": "x"}], "lora": "style"}',
        "lora",
        "adapter_not_found",
    ),
    (
        "two adapters of a completion that are not loaded",
        "completions",
        '{"prompt": "x", "lora": [{"name": "style", "scale": 0.5}, {"name": "json"}]}',
        "lora",
        "adapter_not_found",
    ),
    (
        "too much of an adapter",
        "completions",
        '{"prompt": "x", "lora": [{"name": "style"}, {"name": "json", "scale": 1001}]}',
        "lora[1].scale",
        "decimal_above_max_value",
    ),
    (
        "an adapter without a name",
        BAD,
        '{"messages": [{"role": "user", "content": "x"}], "lora": [{"scale": 1}]}',
        "lora[0].name",
        "missing_required_parameter",
    ),
    (
        "an adapter for an engine without room",
        "adapters.load",
        '{"name": "style", "path": "style.mlc-adapter"}',
        "lora_ranks",
        "unsupported",
    ),
    (
        "an adapter to unload that is not loaded",
        "adapters.unload",
        '{"name": "style"}',
        "name",
        "adapter_not_found",
    ),
    (
        "documents for a model that is no reranker",
        "rerank",
        '{"query": "ba", "documents": ["ba", {"text": "be"}]}',
        "model",
        "unsupported",
    ),
    (
        "a token that is none",
        "detokenize",
        '{"tokens": [1, -1]}',
        "tokens[1]",
        "integer_below_min_value",
    ),
    (
        "a token outside",
        "detokenize",
        '{"tokens": [0, 499]}',
        "tokens[1]",
        "invalid_request",
    ),
    (
        "no text to tokenize",
        "tokenize",
        "{}",
        "text",
        "missing_required_parameter",
    ),
    (
        "no text to render",
        "render",
        '{"messages": [{"role": "user"}]}',
        "messages[0].content",
        "missing_required_parameter",
    ),
]

# (name, json): to the fake model; the text is what the core gave when the file was made.
ANSWERS: list[tuple[str, Any]] = [
    ("greedy", said("Hi", max_tokens=12, temperature=0)),
    ("seeded", said("Hi", max_tokens=12, seed=5)),
    ("another seed", said("Hi", max_tokens=12, seed=6, temperature=1.5)),
    ("one token", said("Hi", max_tokens=1, temperature=0)),
    ("a long answer", said("Hi", max_tokens=300, temperature=0, debug_config={"ignore_eos": True})),
    ("unicode", said("\U0001f600 \u00e9\u6771", max_tokens=12, temperature=0)),
    (
        "parts",
        said(
            [{"type": "text", "text": "a"}, {"type": "text", "text": "b"}],
            max_tokens=8,
            temperature=0,
        ),
    ),
    (
        "a conversation",
        {
            "messages": [m for m in TALK if m["role"] in ("system", "user")],
            "max_tokens": 8,
            "temperature": 0,
        },
    ),
    ("two answers", said("Hi", max_tokens=6, seed=3, n=2)),
    ("a word pushed", said("Hi", max_tokens=4, temperature=0, logit_bias={"65": 100})),
    ("newer name of max_tokens", said("Hi", max_completion_tokens=3, temperature=0)),
    ("logprobs", said("Hi", max_tokens=3, temperature=0, logprobs=True, top_logprobs=2)),
]

# (name, type, json): what the runner's function of that name builds.
BUILDS: list[tuple[str, str, Any]] = [
    ("build_one_user_message", REQUEST, said("Hi")),
    (
        "build_sampling",
        REQUEST,
        said(
            "Hi",
            temperature=0.5,
            top_p=0.9,
            max_tokens=5,
            seed=7,
            n=2,
            stop=["a", "b"],
            frequency_penalty=-1,
            logit_bias={"17": 2.5},
            logprobs=True,
            top_logprobs=3,
        ),
    ),
    (
        "build_stream_options",
        REQUEST,
        said("Hi", stream=True, stream_options={"include_usage": True}),
    ),
    ("build_text_and_image", REQUEST, said(PARTS[:2])),
    ("build_picture_of_bytes", REQUEST, said([PICTURES[3], PARTS[0]])),
    ("build_tool_conversation", REQUEST, {"messages": TALK[2:5]}),
    (
        "build_tools",
        REQUEST,
        said(
            "Hi",
            tools=[
                {
                    "type": "function",
                    "function": {
                        "name": "f",
                        "description": "d",
                        "parameters": {"type": "object"},
                        "strict": True,
                    },
                }
            ],
            tool_choice={"type": "function", "function": {"name": "f"}},
            parallel_tool_calls=False,
        ),
    ),
    ("build_tool_choice_word", REQUEST, said("Hi", tool_choice="required")),
    (
        "build_json_schema",
        REQUEST,
        said(
            "Hi",
            response_format={
                "type": "json_schema",
                "json_schema": {"name": "s", "schema": {"type": "object"}, "strict": True},
            },
        ),
    ),
    ("build_json_object", REQUEST, said("Hi", response_format={"type": "json_object"})),
    ("build_stop_text", REQUEST, said("Hi", stop="end")),
    ("build_debug", REQUEST, said("Hi", debug_config={"ignore_eos": True})),
    ("build_detokenize", "DetokenizeRequest", {"tokens": [1, 2], "skip_special_tokens": False}),
]

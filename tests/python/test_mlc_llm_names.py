"""A program as those that were written for MLC-LLM's Python package: its imports, names and calls.

docs/coming-from-mlc-llm.md lists them.
"""

from __future__ import annotations

import asyncio
import threading
from pathlib import Path
from typing import Any

import pytest

import mlc_llm.serve
from mlc_llm.errors import CancelledError, InvalidRequestError, MLCError, UnsupportedError
from mlc_llm.prepare.model_source import ResolvedModel
from mlc_llm.protocol import openai_api_protocol as protocol
from mlc_llm.protocol.conversation_protocol import Conversation, MessagePlaceholders
from mlc_llm.protocol.debug_protocol import DebugConfig, DisaggConfig
from mlc_llm.protocol.error_protocol import BadRequestError, ErrorResponse
from mlc_llm.protocol.generation_config import GenerationConfig
from mlc_llm.serve import AsyncMLCEngine, EngineConfig, MLCEngine
from mlc_llm.serve.config import EngineConfig as EngineConfigOfItsModule

FOLDER = str(Path(__file__).parents[1] / "fixtures" / "fake-model")
PROMPTS = ["What is a page?", "What is a block table?"]
ENDLESS: Any = {"debug_config": DebugConfig(ignore_eos=True)}


@pytest.fixture(scope="module", params=["fake", "cpu"])
def engine(request: pytest.FixtureRequest, default_model: ResolvedModel):
    """Over the fake model, and over the embedded default model."""
    config = EngineConfig(max_total_sequence_length=4096)
    if request.param == "fake":
        engine = MLCEngine(FOLDER, "fake", mode="server", engine_config=config)
    else:
        folder, library = str(default_model.folder), str(default_model.model_lib)
        engine = MLCEngine(folder, "cpu", model_lib=library, mode="server", engine_config=config)
    yield engine
    engine.terminate()


def user(text: str) -> Any:
    return [{"role": "user", "content": [{"type": "text", "text": text}]}]


def test_the_settings_arrive(engine: MLCEngine) -> None:
    assert engine.metrics()["kv_pages_total"] == 4096 / 16
    assert EngineConfigOfItsModule is EngineConfig is mlc_llm.serve.EngineConfig


def test_chat_completions_as_a_stream(engine: MLCEngine) -> None:
    texts = [["", ""], ["", ""]]
    for rid, prompt in enumerate(PROMPTS):
        for response in engine.chat.completions.create(
            messages=user(prompt),
            max_tokens=16,
            n=2,
            seed=3,
            request_id=str(rid),
            stream=True,
        ):
            assert response.id == str(rid)
            for choice in response.choices:
                assert choice.delta.role == "assistant"
                assert isinstance(choice.delta.content, str)
                texts[rid][choice.index] += choice.delta.content
    assert all(text for row in texts for text in row)


def test_whole_answers_and_completions(engine: MLCEngine) -> None:
    chat = engine.chat.completions.create(
        messages=user(PROMPTS[0]), max_tokens=5, request_id="chat", extra_body=ENDLESS
    )
    assert isinstance(chat, protocol.ChatCompletionResponse) and chat.id == "chat"
    assert chat.choices[0].message.role == "assistant" and chat.choices[0].message.content
    text = engine.completions.create(
        prompt=PROMPTS[0], max_tokens=5, request_id="text", extra_body=ENDLESS
    )
    assert isinstance(text, protocol.CompletionResponse) and text.id == "text"
    streamed = engine.completions.create(
        prompt=PROMPTS[0], max_tokens=5, request_id="text", stream=True, extra_body=ENDLESS
    )
    assert {chunk.id for chunk in streamed} == {"text"}


def test_usage_extra_is_a_dict_and_a_label(engine: MLCEngine) -> None:
    *_, last = engine.chat.completions.create(
        messages=user("Hi"), max_tokens=4, stream=True, stream_options={"include_usage": True}
    )
    extra = last.usage.extra
    assert extra["decode_tokens_per_s"] >= 0 and extra.get("no_such") is None
    assert dict(extra.items()) == dict(extra) and "ttft_s" in extra
    assert set(extra.keys()) == set(extra.to_dict()) and len(extra.values()) == len(dict(extra))
    assert extra.as_text_label().startswith("prefill: ") and "decode: " in extra.as_text_label()
    assert type(extra)(decode_tokens_per_s=12.34).as_text_label() == "decode: 12.3 tok/s"


def test_abort_ends_the_named_request(engine: MLCEngine) -> None:
    stream = engine.chat.completions.create(
        messages=user("Hi"), max_tokens=3000, request_id="mine", stream=True, extra_body=ENDLESS
    )
    next(stream)
    engine.abort("another's")
    next(stream)
    engine.abort("mine")
    with pytest.raises(CancelledError):
        list(stream)
    engine.abort("mine")
    begun = threading.Event()

    def abort() -> None:
        begun.wait()
        while engine._core._names.ids("whole") == []:
            pass
        engine.abort("whole")

    aborter = threading.Thread(target=abort)
    aborter.start()
    begun.set()
    with pytest.raises(CancelledError):
        engine.chat.completions.create(
            messages=user("Hi"), max_tokens=3000, request_id="whole", extra_body=ENDLESS
        )
    aborter.join()
    assert engine._core._names._ids == {}, "names of ended requests are free"


def test_the_asynchronous_engine() -> None:
    async def run() -> None:
        engine = AsyncMLCEngine(
            model=FOLDER,
            device="fake",
            mode="server",
            engine_config=EngineConfig(max_total_sequence_length=8192),
        )

        async def ask(rid: int) -> str:
            text = ""
            async for response in await engine.chat.completions.create(
                messages=user(PROMPTS[rid]),
                max_tokens=12,
                request_id=str(rid),
                stream=True,
            ):
                assert response.id == str(rid)
                for choice in response.choices:
                    assert choice.delta.role == "assistant"
                    text += choice.delta.content
            return text

        assert all(await asyncio.gather(ask(0), ask(1)))
        whole = await engine.completions.create(
            prompt=PROMPTS[0], max_tokens=5, request_id="7", extra_body=ENDLESS
        )
        assert whole.id == "7" and whole.choices[0].text
        stream = await engine.chat.completions.create(
            messages=user("Hi"), max_tokens=3000, request_id="8", stream=True, extra_body=ENDLESS
        )
        await engine.abort("8")
        with pytest.raises(CancelledError):
            async for _ in stream:
                pass
        assert engine._core._names._ids == {}
        assert (await engine.metrics())["kv_pages_total"] == 512
        engine.terminate()

    asyncio.run(run())


def test_what_the_config_says_of_the_model() -> None:
    config = EngineConfig(model=FOLDER, mode="interactive", verbose=False)
    assert EngineConfig.from_json(config.asjson()) == config
    with MLCEngine(device="fake", engine_config=config) as engine:
        assert engine.model == "fake-model"
    with pytest.raises(InvalidRequestError, match="give it once") as caught:
        MLCEngine(FOLDER, "fake", mode="server", engine_config=config)
    assert caught.value.param == "engine_config.mode"
    for refused in ({"kv_cache_page_size": 32}, {"kv_state_kind": "rnn_state"}):
        with pytest.raises(UnsupportedError) as unsupported:
            MLCEngine(FOLDER, "fake", engine_config=EngineConfig(**refused))
        assert unsupported.value.param == f"engine_config.{next(iter(refused))}"
    with pytest.raises(InvalidRequestError, match=r"Did you mean 'max_num_sequence'\?"):
        MLCEngine(FOLDER, "fake", engine_config={"max_num_seq": 2})
    with pytest.raises(TypeError, match=r"no field 'max_num_seq'; did you mean 'max_num_sequence'"):
        EngineConfig(**{"max_num_seq": 2})
    with MLCEngine(FOLDER, "fake", engine_config={"max_total_sequence_length": 1024}) as engine:
        assert engine.metrics()["kv_pages_total"] == 64
    with MLCEngine(FOLDER, "fake", enable_tracing=True) as engine:
        assert engine._core.call("trace", {})


def test_every_setting_has_a_place() -> None:
    """What is not the core's alone is known to it, under its own name."""
    given = EngineConfig(
        tensor_parallel_shards=1,
        pipeline_parallel_stages=1,
        gpu_memory_utilization=0.5,
        max_num_sequence=2,
        max_total_sequence_length=1024,
        max_single_sequence_length=512,
        prefill_chunk_size=128,
        prefix_cache_max_num_recycling_seqs=1,
        kv_state_kind="kv_cache",
        opt="O0",
        prefill_mode="chunked",
    )
    with MLCEngine(FOLDER, "fake", engine_config=given) as engine:
        assert engine.metrics()["kv_pages_total"] == 64


def test_requests_as_objects(engine: MLCEngine) -> None:
    tool = {"type": "function", "function": {"name": "now", "parameters": {"type": "object"}}}
    request = protocol.ChatCompletionRequest(
        messages=[protocol.ChatCompletionMessage(role="user", content="Hi")],
        max_tokens=3,
        stop="never",
        response_format=protocol.RequestResponseFormat(type="json_object", schema="{}"),
        tools=[tool],
        tool_choice="none",
    )
    request.check_message_validity()
    members = request.model_dump(exclude_none=True, by_alias=True)
    members.pop("stream")
    assert engine.chat.completions.create(**members).usage.completion_tokens <= 3
    with pytest.raises(ValueError, match="less than or equal to 2"):
        protocol.ChatCompletionRequest(messages=[], frequency_penalty=3)
    wrong = protocol.ChatCompletionRequest(
        messages=[{"role": "user", "content": "a"}, {"role": "system", "content": "b"}]
    )
    with pytest.raises(BadRequestError, match="system"):
        wrong.check_message_validity()
    with pytest.raises(ValueError, match="system"):
        wrong.check_message_validity()
    assert protocol.CompletionRequest(prompt="Hi", logprobs=5).n == 1
    assert protocol.ChatToolCall(type="function", function={"name": "now"}).id
    assert protocol.StreamOptions(include_usage=True).include_usage
    assert protocol.EmbeddingRequest(input=["a", "b"]).encoding_format == "float"


@pytest.mark.parametrize(
    "choice",
    [{"type": "function", "function": {}}, {"function": {"name": "now"}}, {"type": "function"}],
)
def test_a_choice_of_tool_that_names_none(choice: dict[str, Any]) -> None:
    request = protocol.ChatCompletionRequest(messages=[], tools=[TOOL], tool_choice=choice)
    with pytest.raises(BadRequestError):
        request.check_function_call_usage(chatml())


TOOL: Any = {"type": "function", "function": {"name": "now", "parameters": {}}}


def chatml() -> Conversation:
    return Conversation(
        name="chatml",
        system_template=f"<s>{MessagePlaceholders.SYSTEM.value}{{function_string}}</s>",
        system_message="Be brief.",
        roles={"user": "<u>", "assistant": "<a>", "tool": "<t>"},
        seps=["</u>", "</a>"],
    )


def test_a_conversation_becomes_a_prompt() -> None:
    conversation = chatml()
    conversation.messages = [
        ("user", "Hi"),
        ("assistant", "Yes?"),
        ("user", [{"type": "text", "text": "Who?"}]),
        ("assistant", None),
    ]
    expected = "<s>Be brief.</s><u>Hi</u><a>Yes?</a><u>Who?</u><a>"
    assert conversation.as_prompt() == [expected]
    request = protocol.ChatCompletionRequest(messages=[], tools=[TOOL])
    request.check_function_call_usage(conversation)
    assert conversation.use_function_calling
    assert '"name": "now"' in conversation.as_prompt()[0]
    again = Conversation.from_json_dict(conversation.to_json_dict())
    assert again.as_prompt() == conversation.as_prompt()
    with pytest.raises(ValueError, match="seps"):
        Conversation(roles={}, seps=[])


def test_the_names_of_answers() -> None:
    chunk = protocol.ChatCompletionStreamResponse.model_validate(
        {
            "id": "1",
            "object": "chat.completion.chunk",
            "created": 1,
            "model": "m",
            "choices": [{"index": 0, "delta": {}}],
        }
    )
    assert isinstance(chunk.choices[0], protocol.ChatCompletionStreamResponseChoice)
    names = {name: getattr(protocol, name) for name in protocol.__all__}
    assert all(isinstance(value, (type, int)) for value in names.values())
    assert issubclass(BadRequestError, MLCError)
    assert ErrorResponse(message="no", code=400).object == "error"
    assert GenerationConfig(max_tokens=5, n=7, debug_config=DebugConfig()).n == 7
    assert DisaggConfig(kind="remote_send").kind == "remote_send"

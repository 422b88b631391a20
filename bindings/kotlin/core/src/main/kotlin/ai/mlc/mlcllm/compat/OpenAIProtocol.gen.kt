// Generated from codegen/schema by `python -m codegen`. Do not edit.
// Schema hash: 5c6e83c1dd599df1
@file:OptIn(ExperimentalSerializationApi::class)

package ai.mlc.mlcllm

import java.util.UUID
import kotlinx.serialization.EncodeDefault
import kotlinx.serialization.ExperimentalSerializationApi
import kotlinx.serialization.SerialName
import kotlinx.serialization.Serializable

/**
 * Compatibility names: MLC-LLM's types, for programs that were written for its package. They are what
 * `engine.chat.completions.create` takes and gives when it is called as MLC-LLM's.
 *
 * The types of this package have the same names, more members, and what this engine adds.
 */
class OpenAIProtocol {
    /** One of the likeliest tokens at a position. */
    @Serializable
    data class TopLogProbs(
        /** The token's text. */
        var token: String,
        /** Its log probability. */
        var logprob: Float,
        /** The UTF-8 bytes of the token. */
        var bytes: List<Int>? = null,
    )

    /** A token of the answer and the likeliest ones in its place. */
    @Serializable
    data class LogProbsContent(
        /** The token's text. */
        var token: String,
        /** Its log probability. */
        var logprob: Float,
        /** The UTF-8 bytes of the token. */
        var bytes: List<Int>? = null,
        /** The likeliest tokens here, likeliest first. */
        var top_logprobs: List<TopLogProbs>,
    )

    /** The log probabilities of an answer. */
    @Serializable
    data class LogProbs(
        /** One entry for each token of the content. */
        var content: List<LogProbsContent>,
    )

    /** A function that the model may call. */
    @Serializable
    data class ChatFunction(
        /** The function's name. */
        var name: String,
        /** What the function does. */
        var description: String? = null,
        /**
         * The members of a JSON Schema object for the arguments. A text that holds JSON, such
         * as an object, is taken as that.
         */
        @Serializable(with = JsonMembersSerializer::class)
        var parameters: Map<String, String>,
    )

    /** A tool that the model may call. */
    @Serializable
    data class ChatTool(
        /** The kind of tool; only functions exist. Default: `function`. */
        @EncodeDefault
        var type: String = "function",
        /** The function. */
        var function: ChatFunction,
    )

    /** A function call that the model made. */
    @Serializable
    data class ChatFunctionCall(
        /** The name of the function to call. */
        var name: String,
        /**
         * The arguments. A text stands for itself, any other value as its JSON text. What is
         * no JSON object is the one member `arguments`.
         */
        @EncodeDefault @Serializable(with = JsonTextSerializer::class)
        var arguments: Map<String, String>? = null,
    )

    /** A tool call that the model made. */
    @Serializable
    data class ChatToolCall(
        /** The call's id, which the tool's answer repeats. Absent: a new one. */
        @EncodeDefault
        var id: String = UUID.randomUUID().toString(),
        /** The kind of tool; only functions exist. Default: `function`. */
        @EncodeDefault
        var type: String = "function",
        /** The function and its arguments. */
        var function: ChatFunctionCall,
    )

    /** Who speaks. */
    @Serializable
    enum class ChatCompletionRole {
        /** The instructions that the model follows. */
        @SerialName("system")
        system,
        /** The person, or the program, that asks. */
        @SerialName("user")
        user,
        /** The model. */
        @SerialName("assistant")
        assistant,
        /** A tool that the model called. */
        @SerialName("tool")
        tool,
    }

    /** What a message says: a text, or parts such as `mapOf("type" to "text", "text" to "Hi")`. */
    @Serializable(with = MessageContentSerializer::class)
    data class ChatCompletionMessageContent(
        val text: String? = null,
        val parts: List<Map<String, String>>? = null,
    ) {
        constructor(text: String) : this(text, null)

        constructor(parts: List<Map<String, String>>) : this(null, parts)

        fun isText(): Boolean = text != null

        fun isParts(): Boolean = parts != null

        /** The text, or those of the parts one after the other. */
        fun asText(): String = text
            ?: parts.orEmpty().filter { it["type"] == "text" }.joinToString("") { it["text"].orEmpty() }
    }

    /** A message, or what a chunk adds to one. */
    @Serializable
    data class ChatCompletionMessage(
        /** Who speaks. */
        var role: ChatCompletionRole,
        /** What is said. Never null in what `create` gives. */
        var content: ChatCompletionMessageContent? = null,
        /** A name that tells speakers of the same role apart. */
        var name: String? = null,
        /** The assistant's tool calls; in a stream, whole, in an answer's last chunk. */
        var tool_calls: List<ChatToolCall>? = null,
        /** The call that a tool's message answers. */
        var tool_call_id: String? = null,
        /** What the model thinks. MLC-LLM has no such member. */
        var reasoning_content: String? = null,
    ) {
        constructor(
            role: ChatCompletionRole,
            content: String,
            name: String? = null,
            tool_calls: List<ChatToolCall>? = null,
            tool_call_id: String? = null,
            reasoning_content: String? = null,
        ) : this(
            role,
            ChatCompletionMessageContent(content),
            name,
            tool_calls,
            tool_call_id,
            reasoning_content,
        )

        constructor(
            role: ChatCompletionRole,
            content: List<Map<String, String>>,
            name: String? = null,
            tool_calls: List<ChatToolCall>? = null,
            tool_call_id: String? = null,
            reasoning_content: String? = null,
        ) : this(
            role,
            ChatCompletionMessageContent(content),
            name,
            tool_calls,
            tool_call_id,
            reasoning_content,
        )
    }

    /** Measurements of a request. */
    @Serializable
    data class CompletionUsageExtra(
        /** How fast the prompt was read. */
        var prefill_tokens_per_s: Float? = null,
        /** How fast the answer was generated. */
        var decode_tokens_per_s: Float? = null,
        /** How much of the prompt the model read. */
        var num_prefill_tokens: Int? = null,
    ) {
        /** The speeds as text: `prefill: 120.5 tok/s, decode: 33.1 tok/s`. */
        fun asTextLabel(): String = speedLabel(prefill_tokens_per_s, decode_tokens_per_s)

    }

    /** What a request cost. */
    @Serializable
    data class CompletionUsage(
        /** The length of the prompt. */
        var prompt_tokens: Int,
        /** The length of all the answers together. */
        var completion_tokens: Int,
        /** The sum of the two. */
        var total_tokens: Int,
        /** Measurements of this request. */
        var extra: CompletionUsageExtra? = null,
    )

    /** What a stream carries beside the answer. */
    @Serializable
    data class StreamOptions(
        /** Whether a last chunk carries the usage of the request. Default: false. */
        @EncodeDefault
        var include_usage: Boolean = false,
    )

    /** Compatibility name: another one of [ChatCompletionStreamResponseChoice]. */
    sealed interface Choice {
        val finish_reason: String?
        val index: Int
        val delta: ChatCompletionMessage
        val lobprobs: LogProbs?
    }

    /** A piece of one of the answers. */
    @Serializable
    data class ChatCompletionStreamResponseChoice(
        /** Why the answer ended; null until its last chunk. */
        override var finish_reason: String? = null,
        /** Which of the `n` answers this belongs to, from 0. */
        override var index: Int,
        /** What is added. */
        override var delta: ChatCompletionMessage,
        /** The log probabilities of the tokens that are added; spelt as MLC-LLM does. */
        override var lobprobs: LogProbs? = null,
    ) : Choice

    /** A piece of the answers to a request. */
    @Serializable
    data class ChatCompletionStreamResponse(
        /** The request's id. */
        var id: String,
        /** Pieces of the answers; empty in the chunk that carries the usage. */
        var choices: List<ChatCompletionStreamResponseChoice>,
        /** When the request began. */
        var created: Int? = null,
        /** The model that answers. */
        var model: String? = null,
        /** Names the configuration that answers; may be empty. */
        var system_fingerprint: String,
        /** The kind of object. */
        var `object`: String? = null,
        /** What the request cost, in the last chunk, when `include_usage` asks for it. */
        var usage: CompletionUsage? = null,
    ) {
        /** Why the answer ended early: a failure is the last element. MLC-LLM has no such member. */
        @kotlinx.serialization.Transient
        var error: MLCException? = null

    }

    /** The shape that the answer must have. */
    @Serializable
    data class ResponseFormat(
        /** Such as `text` and `json_object`. */
        var type: String,
        /** A JSON Schema, as JSON text. */
        var schema: String? = null,
    )

    /** A conversation, and how the model is to continue it. */
    @Serializable
    data class ChatCompletionRequest(
        /** The conversation so far. */
        var messages: List<ChatCompletionMessage>,
        /** The model to answer. */
        var model: String? = null,
        /** Lowers tokens by how often they occurred. */
        var frequency_penalty: Float? = null,
        /** Lowers tokens that occurred. */
        var presence_penalty: Float? = null,
        /** Whether log probabilities are returned. Default: false. */
        @EncodeDefault
        var logprobs: Boolean = false,
        /** How many of the likeliest tokens are returned. Default: 0. */
        @EncodeDefault
        var top_logprobs: Int = 0,
        /** Adds to the logits of tokens. */
        var logit_bias: Map<Int, Float>? = null,
        /** The longest answer. */
        var max_tokens: Int? = null,
        /** How many answers are generated. Default: 1. */
        @EncodeDefault
        var n: Int = 1,
        /** Makes the answer repeatable. */
        var seed: Int? = null,
        /** Texts at which the answer ends. */
        var stop: List<String>? = null,
        /** Whether the answer comes in chunks; here it always does. Default: true. */
        @EncodeDefault
        var stream: Boolean = true,
        /** Options of the stream. */
        var stream_options: StreamOptions? = null,
        /** How far the choice strays from the likeliest. */
        var temperature: Float? = null,
        /** Keeps the likeliest that reach this probability. */
        var top_p: Float? = null,
        /** The tools that the model may call. */
        var tools: List<ChatTool>? = null,
        /** A label of the end user. */
        var user: String? = null,
        /** The shape that the answer must have. */
        var response_format: ResponseFormat? = null,
    )
}

// Generated from codegen/schema by `python -m codegen`. Do not edit.
// Schema hash: 5c6e83c1dd599df1
@file:OptIn(ExperimentalSerializationApi::class)

package ai.mlc.mlcllm

// The protocol's types, under OpenAI's names for fields.
//
// What a newer engine adds is never fatal: an unknown word of an enum is kept ([Word.isKnown] is
// false), an unknown member of a union becomes its `Unknown`, an unknown field is left out.

import kotlinx.serialization.EncodeDefault
import kotlinx.serialization.ExperimentalSerializationApi
import kotlinx.serialization.SerialName
import kotlinx.serialization.Serializable
import kotlinx.serialization.json.Json
import kotlinx.serialization.json.JsonElement
import kotlinx.serialization.json.JsonIgnoreUnknownKeys
import kotlinx.serialization.json.JsonObject
import kotlinx.serialization.json.decodeFromJsonElement
import kotlinx.serialization.json.encodeToJsonElement

/** The hash of the schema of all that crosses the wire; the core must have the same. */
internal const val SCHEMA_HASH = "5c6e83c1dd599df1"

/** Who speaks. */
@Serializable(with = ChatCompletionRoleSerializer::class)
class ChatCompletionRole private constructor(word: String, isKnown: Boolean) :
    Word(word, isKnown) {
    companion object {
        /** The instructions that the model follows. */
        @JvmField
        val system: ChatCompletionRole = ChatCompletionRole("system", true)

        /** The same as `system`, as newer clients call it. */
        @JvmField
        val developer: ChatCompletionRole = ChatCompletionRole("developer", true)

        /** The person, or the program, that asks. */
        @JvmField
        val user: ChatCompletionRole = ChatCompletionRole("user", true)

        /** The model. */
        @JvmField
        val assistant: ChatCompletionRole = ChatCompletionRole("assistant", true)

        /** A tool that the model called. */
        @JvmField
        val tool: ChatCompletionRole = ChatCompletionRole("tool", true)

        private val knownWords = listOf(system, developer, user, assistant, tool).associateBy { it.word }

        /** The word on the wire as a value, known or not. */
        @JvmStatic
        fun of(word: String): ChatCompletionRole = knownWords[word] ?: unknown(word)

        /** A word that this version does not know. */
        @JvmStatic
        fun unknown(word: String): ChatCompletionRole = ChatCompletionRole(word, false)
    }
}

internal object ChatCompletionRoleSerializer :
    WordSerializer<ChatCompletionRole>("ChatCompletionRole", ChatCompletionRole::of)

/** A text within a message. */
@Serializable
@JsonIgnoreUnknownKeys
data class ChatCompletionContentPartText @JvmOverloads constructor(
    /** The text. */
    val text: String,
    /** The kind of part. */
    @EncodeDefault
    val type: String = "text",
) : ChatCompletionContentPart

/** How closely the model looks at an image. */
@Serializable(with = ImageDetailSerializer::class)
class ImageDetail private constructor(word: String, isKnown: Boolean) :
    Word(word, isKnown) {
    companion object {
        /** As the model's own configuration says. */
        @JvmField
        val auto: ImageDetail = ImageDetail("auto", true)

        /** At low resolution, in few tokens. */
        @JvmField
        val low: ImageDetail = ImageDetail("low", true)

        /** At high resolution, in more tokens. */
        @JvmField
        val high: ImageDetail = ImageDetail("high", true)

        /** In the image's own size, as far as the model can; else as `high`. */
        @JvmField
        val original: ImageDetail = ImageDetail("original", true)

        private val knownWords = listOf(auto, low, high, original).associateBy { it.word }

        /** The word on the wire as a value, known or not. */
        @JvmStatic
        fun of(word: String): ImageDetail = knownWords[word] ?: unknown(word)

        /** A word that this version does not know. */
        @JvmStatic
        fun unknown(word: String): ImageDetail = ImageDetail(word, false)
    }
}

internal object ImageDetailSerializer :
    WordSerializer<ImageDetail>("ImageDetail", ImageDetail::of)

/** Where an image is. */
@Serializable
@JsonIgnoreUnknownKeys
data class ImageURL @JvmOverloads constructor(
    /**
     * The image as a `data:` URL with its bytes in base64, or that base64 alone. Clients
     * take the bytes of its file too. Length: at least 1.
     */
    val url: String,
    /** How closely the model looks. */
    val detail: ImageDetail? = null,
) : ImageSource {
    @JvmOverloads constructor(
        url: ByteArray,
        detail: ImageDetail? = null,
    ) : this(
        dataUrl(url),
        detail,
    )
}

/** An image, as an object or as its URL alone. */
@Serializable(with = ImageSourceSerializer::class)
sealed interface ImageSource

/** [ImageSource] as a text. */
data class ImageSourceUrl(val value: String) : ImageSource

/** A [ImageSource] of a kind that this version does not know. */
data class ImageSourceUnknown(val json: JsonElement) : ImageSource

internal object ImageSourceSerializer : UnionSerializer<ImageSource>("ImageSource") {
    override fun decode(json: Json, element: JsonElement): ImageSource = when {
        element.isText -> ImageSourceUrl(json.decodeFromJsonElement<String>(element))
        element.isObject -> json.decodeFromJsonElement<ImageURL>(element)
        else -> ImageSourceUnknown(element)
    }

    override fun encode(json: Json, value: ImageSource): JsonElement = when (value) {
        is ImageSourceUrl -> json.encodeToJsonElement<String>(value.value)
        is ImageURL -> json.encodeToJsonElement<ImageURL>(value)
        is ImageSourceUnknown -> value.json
    }
}

/** An image within a message. */
@Serializable
@JsonIgnoreUnknownKeys
data class ChatCompletionContentPartImage @JvmOverloads constructor(
    /** The image. */
    val image_url: ImageSource,
    /** The kind of part. */
    @EncodeDefault
    val type: String = "image_url",
) : ChatCompletionContentPart {
    @JvmOverloads constructor(
        image_url: String,
        type: String = "image_url",
    ) : this(
        ImageSourceUrl(image_url),
        type,
    )
}

/** A part of a message. */
@Serializable(with = ChatCompletionContentPartSerializer::class)
sealed interface ChatCompletionContentPart

/** A [ChatCompletionContentPart] of a kind that this version does not know. */
data class ChatCompletionContentPartUnknown(val json: JsonElement) : ChatCompletionContentPart

internal object ChatCompletionContentPartSerializer : UnionSerializer<ChatCompletionContentPart>("ChatCompletionContentPart") {
    override fun decode(json: Json, element: JsonElement): ChatCompletionContentPart = when (element.tag("type")) {
        "text" -> json.decodeFromJsonElement<ChatCompletionContentPartText>(element)
        "image_url" -> json.decodeFromJsonElement<ChatCompletionContentPartImage>(element)
        else -> ChatCompletionContentPartUnknown(element)
    }

    override fun encode(json: Json, value: ChatCompletionContentPart): JsonElement = when (value) {
        is ChatCompletionContentPartText -> json.encodeToJsonElement<ChatCompletionContentPartText>(value)
        is ChatCompletionContentPartImage -> json.encodeToJsonElement<ChatCompletionContentPartImage>(value)
        is ChatCompletionContentPartUnknown -> value.json
    }
}

/** What a message says: a text, or texts and images in order. */
@Serializable(with = ChatCompletionMessageContentSerializer::class)
sealed interface ChatCompletionMessageContent

/** [ChatCompletionMessageContent] as a text. */
data class ChatCompletionMessageContentText(val value: String) : ChatCompletionMessageContent

/** [ChatCompletionMessageContent] as a list. */
data class ChatCompletionMessageContentParts(val value: List<ChatCompletionContentPart>) : ChatCompletionMessageContent

/** A [ChatCompletionMessageContent] of a kind that this version does not know. */
data class ChatCompletionMessageContentUnknown(val json: JsonElement) : ChatCompletionMessageContent

internal object ChatCompletionMessageContentSerializer : UnionSerializer<ChatCompletionMessageContent>("ChatCompletionMessageContent") {
    override fun decode(json: Json, element: JsonElement): ChatCompletionMessageContent = when {
        element.isText -> ChatCompletionMessageContentText(json.decodeFromJsonElement<String>(element))
        element.isArray -> ChatCompletionMessageContentParts(json.decodeFromJsonElement<List<ChatCompletionContentPart>>(element))
        else -> ChatCompletionMessageContentUnknown(element)
    }

    override fun encode(json: Json, value: ChatCompletionMessageContent): JsonElement = when (value) {
        is ChatCompletionMessageContentText -> json.encodeToJsonElement<String>(value.value)
        is ChatCompletionMessageContentParts -> json.encodeToJsonElement<List<ChatCompletionContentPart>>(value.value)
        is ChatCompletionMessageContentUnknown -> value.json
    }
}

/** A function call that the model made. */
@Serializable
@JsonIgnoreUnknownKeys
data class FunctionCall(
    /** The name of the function to call. */
    val name: String,
    /**
     * The arguments as JSON text, as the model wrote it; it may be invalid or name
     * arguments that the function does not have.
     */
    val arguments: String,
)

/** A tool call that the model made. */
@Serializable
@JsonIgnoreUnknownKeys
data class ChatCompletionMessageToolCall @JvmOverloads constructor(
    /** The call's id, which the tool's answer repeats as `tool_call_id`. */
    val id: String,
    /** The function and its arguments. */
    val function: FunctionCall,
    /** The kind of tool; only functions exist. */
    @EncodeDefault
    val type: String = "function",
)

/** A message of the conversation so far. */
@Serializable
@JsonIgnoreUnknownKeys
data class ChatCompletionMessage @JvmOverloads constructor(
    /** Who speaks. */
    val role: ChatCompletionRole,
    /**
     * What is said. The assistant may leave it out when it calls tools. Required when
     * `role` is `system` or `developer` or `user` or `tool`.
     */
    val content: ChatCompletionMessageContent? = null,
    /** A name that tells speakers of the same role apart. */
    val name: String? = null,
    /** The assistant's tool calls. */
    val tool_calls: List<ChatCompletionMessageToolCall>? = null,
    /** The call that a tool's message answers. Required when `role` is `tool`. */
    val tool_call_id: String? = null,
    /** What the assistant thought before it spoke; a model's template may use it. */
    val reasoning_content: String? = null,
) {
    @JvmOverloads constructor(
        role: ChatCompletionRole,
        content: String,
        name: String? = null,
        tool_calls: List<ChatCompletionMessageToolCall>? = null,
        tool_call_id: String? = null,
        reasoning_content: String? = null,
    ) : this(
        role,
        ChatCompletionMessageContentText(content),
        name,
        tool_calls,
        tool_call_id,
        reasoning_content,
    )

    @JvmOverloads constructor(
        role: ChatCompletionRole,
        content: List<ChatCompletionContentPart>,
        name: String? = null,
        tool_calls: List<ChatCompletionMessageToolCall>? = null,
        tool_call_id: String? = null,
        reasoning_content: String? = null,
    ) : this(
        role,
        ChatCompletionMessageContentParts(content),
        name,
        tool_calls,
        tool_call_id,
        reasoning_content,
    )
}

/** What a stream carries beside the answer. */
@Serializable
@JsonIgnoreUnknownKeys
data class StreamOptions @JvmOverloads constructor(
    /** Whether a last chunk, with no choices, carries the usage of the whole request. */
    val include_usage: Boolean? = null,
)

/** Texts at which the answer ends, before them. */
@Serializable(with = StopSerializer::class)
sealed interface Stop

/** [Stop] as a text. */
data class StopText(val value: String) : Stop

/** [Stop] as a list. */
data class StopTexts(val value: List<String>) : Stop

/** A [Stop] of a kind that this version does not know. */
data class StopUnknown(val json: JsonElement) : Stop

internal object StopSerializer : UnionSerializer<Stop>("Stop") {
    override fun decode(json: Json, element: JsonElement): Stop = when {
        element.isText -> StopText(json.decodeFromJsonElement<String>(element))
        element.isArray -> StopTexts(json.decodeFromJsonElement<List<String>>(element))
        else -> StopUnknown(element)
    }

    override fun encode(json: Json, value: Stop): JsonElement = when (value) {
        is StopText -> json.encodeToJsonElement<String>(value.value)
        is StopTexts -> json.encodeToJsonElement<List<String>>(value.value)
        is StopUnknown -> value.json
    }
}

/** A function that the model may call. */
@Serializable
@JsonIgnoreUnknownKeys
data class FunctionDefinition @JvmOverloads constructor(
    /** The function's name, by which the model calls it. Length: at least 1. */
    val name: String,
    /** What the function does; the model chooses by it when to call. */
    val description: String? = null,
    /** A JSON Schema object for the arguments. Absent: the function takes none. */
    val parameters: JsonObject? = null,
    /** Whether the arguments are held to the schema while they are generated. */
    val strict: Boolean? = null,
)

/** A tool that the model may call. */
@Serializable
@JsonIgnoreUnknownKeys
data class ChatCompletionTool @JvmOverloads constructor(
    /** The function. */
    val function: FunctionDefinition,
    /** The kind of tool; only functions exist. */
    @EncodeDefault
    val type: String = "function",
)

/** How free the model is in calling tools. */
@Serializable(with = ToolChoiceModeSerializer::class)
class ToolChoiceMode private constructor(word: String, isKnown: Boolean) :
    Word(word, isKnown), ToolChoice {
    companion object {
        /** Calls no tool. */
        @JvmField
        val none: ToolChoiceMode = ToolChoiceMode("none", true)

        /** Answers or calls tools, as it sees fit. */
        @JvmField
        val auto: ToolChoiceMode = ToolChoiceMode("auto", true)

        /** Calls at least one tool. */
        @JvmField
        val required: ToolChoiceMode = ToolChoiceMode("required", true)

        private val knownWords = listOf(none, auto, required).associateBy { it.word }

        /** The word on the wire as a value, known or not. */
        @JvmStatic
        fun of(word: String): ToolChoiceMode = knownWords[word] ?: unknown(word)

        /** A word that this version does not know. */
        @JvmStatic
        fun unknown(word: String): ToolChoiceMode = ToolChoiceMode(word, false)
    }
}

internal object ToolChoiceModeSerializer :
    WordSerializer<ToolChoiceMode>("ToolChoiceMode", ToolChoiceMode::of)

/** A function by its name. */
@Serializable
@JsonIgnoreUnknownKeys
data class NamedFunction(
    /** The function's name. Length: at least 1. */
    val name: String,
)

/** The one tool that the model must call. */
@Serializable
@JsonIgnoreUnknownKeys
data class ChatCompletionNamedToolChoice @JvmOverloads constructor(
    /** The function to call. */
    val function: NamedFunction,
    /** The kind of tool; only functions exist. */
    @EncodeDefault
    val type: String = "function",
) : ToolChoice

/** Which tools the model may or must call. */
@Serializable(with = ToolChoiceSerializer::class)
sealed interface ToolChoice

/** A [ToolChoice] of a kind that this version does not know. */
data class ToolChoiceUnknown(val json: JsonElement) : ToolChoice

internal object ToolChoiceSerializer : UnionSerializer<ToolChoice>("ToolChoice") {
    override fun decode(json: Json, element: JsonElement): ToolChoice = when {
        element.isText -> json.decodeFromJsonElement<ToolChoiceMode>(element)
        element.isObject -> json.decodeFromJsonElement<ChatCompletionNamedToolChoice>(element)
        else -> ToolChoiceUnknown(element)
    }

    override fun encode(json: Json, value: ToolChoice): JsonElement = when (value) {
        is ToolChoiceMode -> json.encodeToJsonElement<ToolChoiceMode>(value)
        is ChatCompletionNamedToolChoice -> json.encodeToJsonElement<ChatCompletionNamedToolChoice>(value)
        is ToolChoiceUnknown -> value.json
    }
}

/** Any text. */
@Serializable
@JsonIgnoreUnknownKeys
data class ResponseFormatText @JvmOverloads constructor(
    /** The kind of format. */
    @EncodeDefault
    val type: String = "text",
) : ResponseFormat

/** A JSON Schema, as JSON text or as the object itself. */
@Serializable(with = JsonSchemaSourceSerializer::class)
sealed interface JsonSchemaSource

/** [JsonSchemaSource] as a text. */
data class JsonSchemaSourceText(val value: String) : JsonSchemaSource

/** [JsonSchemaSource] as an object. */
data class JsonSchemaSourceObject(val value: JsonObject) : JsonSchemaSource

/** A [JsonSchemaSource] of a kind that this version does not know. */
data class JsonSchemaSourceUnknown(val json: JsonElement) : JsonSchemaSource

internal object JsonSchemaSourceSerializer : UnionSerializer<JsonSchemaSource>("JsonSchemaSource") {
    override fun decode(json: Json, element: JsonElement): JsonSchemaSource = when {
        element.isText -> JsonSchemaSourceText(json.decodeFromJsonElement<String>(element))
        element.isObject -> JsonSchemaSourceObject(json.decodeFromJsonElement<JsonObject>(element))
        else -> JsonSchemaSourceUnknown(element)
    }

    override fun encode(json: Json, value: JsonSchemaSource): JsonElement = when (value) {
        is JsonSchemaSourceText -> json.encodeToJsonElement<String>(value.value)
        is JsonSchemaSourceObject -> json.encodeToJsonElement<JsonObject>(value.value)
        is JsonSchemaSourceUnknown -> value.json
    }
}

/** A JSON object. */
@Serializable
@JsonIgnoreUnknownKeys
data class ResponseFormatJSONObject @JvmOverloads constructor(
    /** A JSON Schema that the object must match. Absent: any object. */
    val schema: JsonSchemaSource? = null,
    /** The kind of format. */
    @EncodeDefault
    val type: String = "json_object",
) : ResponseFormat {
    @JvmOverloads constructor(
        schema: String,
        type: String = "json_object",
    ) : this(
        JsonSchemaSourceText(schema),
        type,
    )

    @JvmOverloads constructor(
        schema: JsonObject,
        type: String = "json_object",
    ) : this(
        JsonSchemaSourceObject(schema),
        type,
    )
}

/** A JSON Schema with a name. */
@Serializable
@JsonIgnoreUnknownKeys
data class JSONSchema @JvmOverloads constructor(
    /** The schema's name. Length: at least 1 and at most 64. */
    val name: String,
    /** What the answer is for; the model may read it. */
    val description: String? = null,
    /** The JSON Schema. */
    val schema: JsonObject? = null,
    /**
     * Whether a schema is refused that the answer cannot be held to in full. Otherwise
     * what cannot be enforced is left out, and `warnings` say so.
     */
    val strict: Boolean? = null,
)

/** JSON that matches a schema. */
@Serializable
@JsonIgnoreUnknownKeys
data class ResponseFormatJSONSchema @JvmOverloads constructor(
    /** The schema. */
    val json_schema: JSONSchema,
    /** The kind of format. */
    @EncodeDefault
    val type: String = "json_schema",
) : ResponseFormat

/** Text that a regular expression matches as a whole. */
@Serializable
@JsonIgnoreUnknownKeys
data class ResponseFormatRegex @JvmOverloads constructor(
    /** The regular expression, in ECMAScript's syntax. Length: at least 1. */
    val regex: String,
    /** The kind of format. */
    @EncodeDefault
    val type: String = "regex",
) : ResponseFormat

/** Text that a grammar derives. */
@Serializable
@JsonIgnoreUnknownKeys
data class ResponseFormatGrammar @JvmOverloads constructor(
    /**
     * The grammar in GBNF (EBNF as llama.cpp writes it); its first rule is `root`. Length:
     * at least 1.
     */
    val grammar: String,
    /** The kind of format. */
    @EncodeDefault
    val type: String = "grammar",
) : ResponseFormat

/** A stretch of the answer, between two texts, that has a shape. */
@Serializable
@JsonIgnoreUnknownKeys
data class StructuralTag(
    /** The text that opens the stretch. Length: at least 1. */
    val begin: String,
    /** The JSON Schema. */
    val schema: JsonObject,
    /** The text that closes the stretch. Length: at least 1. */
    val end: String,
)

/**
 * Free text in which tagged stretches have a shape.
 *
 * Give either `tags` and `triggers`, or `format`.
 */
@Serializable
@JsonIgnoreUnknownKeys
data class ResponseFormatStructuralTag @JvmOverloads constructor(
    /** The stretches that may occur. Items: at least 1. */
    val tags: List<StructuralTag>? = null,
    /**
     * Texts after which a stretch must follow; each tag's `begin` starts with one of them.
     * Items: at least 1.
     */
    val triggers: List<String>? = null,
    /** A structural tag's format object, in full. */
    val format: JsonObject? = null,
    /** The kind of format. */
    @EncodeDefault
    val type: String = "structural_tag",
) : ResponseFormat

/** The shape that the answer must have. */
@Serializable(with = ResponseFormatSerializer::class)
sealed interface ResponseFormat

/** A [ResponseFormat] of a kind that this version does not know. */
data class ResponseFormatUnknown(val json: JsonElement) : ResponseFormat

internal object ResponseFormatSerializer : UnionSerializer<ResponseFormat>("ResponseFormat") {
    override fun decode(json: Json, element: JsonElement): ResponseFormat = when (element.tag("type")) {
        "text" -> json.decodeFromJsonElement<ResponseFormatText>(element)
        "json_object" -> json.decodeFromJsonElement<ResponseFormatJSONObject>(element)
        "json_schema" -> json.decodeFromJsonElement<ResponseFormatJSONSchema>(element)
        "regex" -> json.decodeFromJsonElement<ResponseFormatRegex>(element)
        "grammar" -> json.decodeFromJsonElement<ResponseFormatGrammar>(element)
        "structural_tag" -> json.decodeFromJsonElement<ResponseFormatStructuralTag>(element)
        else -> ResponseFormatUnknown(element)
    }

    override fun encode(json: Json, value: ResponseFormat): JsonElement = when (value) {
        is ResponseFormatText -> json.encodeToJsonElement<ResponseFormatText>(value)
        is ResponseFormatJSONObject -> json.encodeToJsonElement<ResponseFormatJSONObject>(value)
        is ResponseFormatJSONSchema -> json.encodeToJsonElement<ResponseFormatJSONSchema>(value)
        is ResponseFormatRegex -> json.encodeToJsonElement<ResponseFormatRegex>(value)
        is ResponseFormatGrammar -> json.encodeToJsonElement<ResponseFormatGrammar>(value)
        is ResponseFormatStructuralTag -> json.encodeToJsonElement<ResponseFormatStructuralTag>(value)
        is ResponseFormatUnknown -> value.json
    }
}

/** How long a reasoning model thinks before it answers. */
@Serializable(with = ReasoningEffortSerializer::class)
class ReasoningEffort private constructor(word: String, isKnown: Boolean) :
    Word(word, isKnown) {
    companion object {
        /** Not at all. */
        @JvmField
        val none: ReasoningEffort = ReasoningEffort("none", true)

        /** As little as it can. */
        @JvmField
        val minimal: ReasoningEffort = ReasoningEffort("minimal", true)

        /** A little. */
        @JvmField
        val low: ReasoningEffort = ReasoningEffort("low", true)

        /** As it was trained to. */
        @JvmField
        val medium: ReasoningEffort = ReasoningEffort("medium", true)

        /** Long. */
        @JvmField
        val high: ReasoningEffort = ReasoningEffort("high", true)

        /** Longer. */
        @JvmField
        val xhigh: ReasoningEffort = ReasoningEffort("xhigh", true)

        private val knownWords = listOf(none, minimal, low, medium, high, xhigh).associateBy { it.word }

        /** The word on the wire as a value, known or not. */
        @JvmStatic
        fun of(word: String): ReasoningEffort = knownWords[word] ?: unknown(word)

        /** A word that this version does not know. */
        @JvmStatic
        fun unknown(word: String): ReasoningEffort = ReasoningEffort(word, false)
    }
}

internal object ReasoningEffortSerializer :
    WordSerializer<ReasoningEffort>("ReasoningEffort", ReasoningEffort::of)

/** An adapter of a request. */
@Serializable
@JsonIgnoreUnknownKeys
data class LoraUse @JvmOverloads constructor(
    /** The name under which it was loaded. Length: at least 1. */
    val name: String,
    /** By how much its change counts. Range: at least -1000 and at most 1000. Default: 1. */
    @EncodeDefault
    val scale: Double = 1.0,
)

/** The adapters of a request: the name of one, or several, whose changes add up. */
@Serializable(with = LoraSerializer::class)
sealed interface Lora

/** [Lora] as a text. */
data class LoraName(val value: String) : Lora

/** [Lora] as a list. */
data class LoraUses(val value: List<LoraUse>) : Lora

/** A [Lora] of a kind that this version does not know. */
data class LoraUnknown(val json: JsonElement) : Lora

internal object LoraSerializer : UnionSerializer<Lora>("Lora") {
    override fun decode(json: Json, element: JsonElement): Lora = when {
        element.isText -> LoraName(json.decodeFromJsonElement<String>(element))
        element.isArray -> LoraUses(json.decodeFromJsonElement<List<LoraUse>>(element))
        else -> LoraUnknown(element)
    }

    override fun encode(json: Json, value: Lora): JsonElement = when (value) {
        is LoraName -> json.encodeToJsonElement<String>(value.value)
        is LoraUses -> json.encodeToJsonElement<List<LoraUse>>(value.value)
        is LoraUnknown -> value.json
    }
}

/** A request that is no conversation. */
@Serializable(with = SpecialRequestSerializer::class)
class SpecialRequest private constructor(word: String, isKnown: Boolean) :
    Word(word, isKnown) {
    companion object {
        /** Gives the engine's metrics in `usage.extra`. */
        @JvmField
        val query_engine_metrics: SpecialRequest = SpecialRequest("query_engine_metrics", true)

        private val knownWords = listOf(query_engine_metrics).associateBy { it.word }

        /** The word on the wire as a value, known or not. */
        @JvmStatic
        fun of(word: String): SpecialRequest = knownWords[word] ?: unknown(word)

        /** A word that this version does not know. */
        @JvmStatic
        fun unknown(word: String): SpecialRequest = SpecialRequest(word, false)
    }
}

internal object SpecialRequestSerializer :
    WordSerializer<SpecialRequest>("SpecialRequest", SpecialRequest::of)

/** How a grammar is followed. */
@Serializable(with = GrammarExecutionModeSerializer::class)
class GrammarExecutionMode private constructor(word: String, isKnown: Boolean) :
    Word(word, isKnown) {
    companion object {
        /** Every token is sampled under the grammar's mask. */
        @JvmField
        val constraint: GrammarExecutionMode = GrammarExecutionMode("constraint", true)

        /** Text that the grammar forces is appended without the model. */
        @JvmField
        val jump_forward: GrammarExecutionMode = GrammarExecutionMode("jump_forward", true)

        private val knownWords = listOf(constraint, jump_forward).associateBy { it.word }

        /** The word on the wire as a value, known or not. */
        @JvmStatic
        fun of(word: String): GrammarExecutionMode = knownWords[word] ?: unknown(word)

        /** A word that this version does not know. */
        @JvmStatic
        fun unknown(word: String): GrammarExecutionMode = GrammarExecutionMode(word, false)
    }
}

internal object GrammarExecutionModeSerializer :
    WordSerializer<GrammarExecutionMode>("GrammarExecutionMode", GrammarExecutionMode::of)

/** Switches for tests and measurements. */
@Serializable
@JsonIgnoreUnknownKeys
data class DebugConfig @JvmOverloads constructor(
    /** Whether the answer goes on over the end-of-text token. Default: false. */
    @EncodeDefault
    val ignore_eos: Boolean = false,
    /**
     * Whether the whole pages of the prompt stay in the prefix cache until the engine is
     * reset. Default: false.
     */
    @EncodeDefault
    val pinned_system_prompt: Boolean = false,
    /** Asks for something else than an answer. */
    val special_request: SpecialRequest? = null,
    /** How a grammar is followed. Default: `jump_forward`. */
    @EncodeDefault
    val grammar_execution_mode: GrammarExecutionMode = GrammarExecutionMode.jump_forward,
)

/** A predicted text, whole or in parts. */
@Serializable(with = ChatCompletionPredictionTextSerializer::class)
sealed interface ChatCompletionPredictionText

/** [ChatCompletionPredictionText] as a text. */
data class ChatCompletionPredictionTextText(val value: String) : ChatCompletionPredictionText

/** [ChatCompletionPredictionText] as a list. */
data class ChatCompletionPredictionTextParts(val value: List<ChatCompletionContentPartText>) : ChatCompletionPredictionText

/** A [ChatCompletionPredictionText] of a kind that this version does not know. */
data class ChatCompletionPredictionTextUnknown(val json: JsonElement) : ChatCompletionPredictionText

internal object ChatCompletionPredictionTextSerializer : UnionSerializer<ChatCompletionPredictionText>("ChatCompletionPredictionText") {
    override fun decode(json: Json, element: JsonElement): ChatCompletionPredictionText = when {
        element.isText -> ChatCompletionPredictionTextText(json.decodeFromJsonElement<String>(element))
        element.isArray -> ChatCompletionPredictionTextParts(json.decodeFromJsonElement<List<ChatCompletionContentPartText>>(element))
        else -> ChatCompletionPredictionTextUnknown(element)
    }

    override fun encode(json: Json, value: ChatCompletionPredictionText): JsonElement = when (value) {
        is ChatCompletionPredictionTextText -> json.encodeToJsonElement<String>(value.value)
        is ChatCompletionPredictionTextParts -> json.encodeToJsonElement<List<ChatCompletionContentPartText>>(value.value)
        is ChatCompletionPredictionTextUnknown -> value.json
    }
}

/** A text that the answer probably resembles, such as a file before a small change. */
@Serializable
@JsonIgnoreUnknownKeys
data class ChatCompletionPrediction @JvmOverloads constructor(
    /** The text. */
    val content: ChatCompletionPredictionText,
    /** The kind of prediction. */
    @EncodeDefault
    val type: String = "content",
) {
    @JvmOverloads constructor(
        content: String,
        type: String = "content",
    ) : this(
        ChatCompletionPredictionTextText(content),
        type,
    )

    @JvmOverloads constructor(
        content: List<ChatCompletionContentPartText>,
        type: String = "content",
    ) : this(
        ChatCompletionPredictionTextParts(content),
        type,
    )
}

/** A conversation, and how the model is to continue it. */
@Serializable
@JsonIgnoreUnknownKeys
data class ChatCompletionRequest(
    /** The conversation so far, oldest first. Items: at least 1. */
    val messages: List<ChatCompletionMessage>,
    /** The model to answer. Absent: the engine's own. */
    val model: String? = null,
    /** Whether the answer comes in chunks while it is generated. Default: false. */
    @EncodeDefault
    val stream: Boolean = false,
    /** Options of the stream. */
    val stream_options: StreamOptions? = null,
    /**
     * The longest answer. Absent: 4,096. The end of the context may come first. Range: at
     * least 1. Unit: tokens.
     */
    val max_tokens: Long? = null,
    /**
     * The newer name of `max_tokens`; it wins when both are given. Absent: `max_tokens`.
     * Range: at least 1. Unit: tokens.
     */
    val max_completion_tokens: Long? = null,
    /**
     * How many answers are generated, each on its own. Range: at least 1 and at most 128.
     * Default: 1.
     */
    @EncodeDefault
    val n: Long = 1,
    /**
     * How far the choice of tokens strays from the likeliest; 0 always takes the
     * likeliest. Absent: the model's own default, else 1. Range: at least 0 and at most 2.
     */
    val temperature: Double? = null,
    /**
     * Keeps the likeliest tokens that together reach this probability; 0 keeps the
     * likeliest alone. Absent: the model's own default, else 1. Range: at least 0 and at
     * most 1.
     */
    val top_p: Double? = null,
    /**
     * Keeps this many of the likeliest tokens; 0 or -1 keeps all. Absent: the model's own
     * default, else 0. Range: at least -1. Unit: tokens.
     */
    val top_k: Long? = null,
    /**
     * Keeps tokens at least this probable, relative to the likeliest. Absent: the model's
     * own default, else 0. Range: at least 0 and at most 1.
     */
    val min_p: Double? = null,
    /**
     * Lowers a token's logit by this much for each time it occurs in the answer. Absent:
     * the model's own default, else 0. Range: at least -2 and at most 2.
     */
    val frequency_penalty: Double? = null,
    /**
     * Lowers a token's logit by this much once it occurs in the answer. Absent: the
     * model's own default, else 0. Range: at least -2 and at most 2.
     */
    val presence_penalty: Double? = null,
    /**
     * Divides a positive logit, and multiplies a negative one, of tokens that occurred.
     * Absent: the model's own default, else 1. Range: above 0 and at most 10.
     */
    val repetition_penalty: Double? = null,
    /**
     * Keeps tokens whose logit is at most this many standard deviations below the largest;
     * 0 or less keeps all. Absent: the model's own default, else 0. Range: at least -1 and
     * at most 1000.
     */
    val top_n_sigma: Double? = null,
    /**
     * How often (of 1) the likeliest tokens are excluded, all but the last one that
     * `xtc_threshold` counts among them. Absent: the model's own default, else 0. Range:
     * at least 0 and at most 1.
     */
    val xtc_probability: Double? = null,
    /**
     * From which probability on `xtc_probability` counts a token among the likeliest; over
     * 0.5 there is no second one. Absent: the model's own default, else 0.1. Range: at
     * least 0 and at most 1.
     */
    val xtc_threshold: Double? = null,
    /**
     * Lowers the logit of a token that would go on with a repetition, in prompt and
     * answer: by this much times `dry_base` to the power of what the repetition is longer
     * than `dry_allowed_length`. Absent: the model's own default, else 0. Range: at least
     * 0 and at most 100.
     */
    val dry_multiplier: Double? = null,
    /**
     * How fast `dry_multiplier` grows with a repetition. Absent: the model's own default,
     * else 1.75. Range: at least 1 and at most 100.
     */
    val dry_base: Double? = null,
    /**
     * `dry_multiplier` begins at repetitions of this length. Absent: the model's own
     * default, else 2. Range: at least 1. Unit: tokens.
     */
    val dry_allowed_length: Long? = null,
    /**
     * Among how many of the last tokens `dry_multiplier` looks for repetitions; -1: all,
     * 0: none. Absent: the model's own default, else -1. Range: at least -1. Unit: tokens.
     */
    val dry_penalty_last_n: Long? = null,
    /**
     * A token that contains one of these texts ends repetitions that `dry_multiplier`
     * counts, as a special token does. Absent: a line's end, a colon, a quotation mark and
     * an asterisk. Length: at least 1. Items: at most 64.
     */
    val dry_sequence_breakers: List<String>? = null,
    /**
     * Adds to the logits of tokens: from token id to bias. Range: at least -100 and at
     * most 100.
     */
    val logit_bias: Map<Int, Double>? = null,
    /**
     * Makes the answer repeatable: equal requests with equal seeds get equal answers.
     * Absent: a random one.
     */
    val seed: Long? = null,
    /** Whether the chosen tokens' log probabilities are returned. Default: false. */
    @EncodeDefault
    val logprobs: Boolean = false,
    /**
     * How many of the likeliest tokens are returned at each position; needs `logprobs`.
     * Absent: 0. Range: at least 0 and at most 20. Unit: tokens.
     */
    val top_logprobs: Long? = null,
    /** Texts at which the answer ends, before them. */
    val stop: Stop? = null,
    /** The tools that the model may call. Items: at most 128. */
    val tools: List<ChatCompletionTool>? = null,
    /** Which tools are called. Absent: `auto` with tools, `none` without. */
    val tool_choice: ToolChoice? = null,
    /** Whether one answer may hold several tool calls. Default: true. */
    @EncodeDefault
    val parallel_tool_calls: Boolean = true,
    /** The shape that the answer must have. Absent: any text. */
    val response_format: ResponseFormat? = null,
    /** How long a reasoning model thinks before it answers. */
    val reasoning_effort: ReasoningEffort? = null,
    /**
     * The longest that a reasoning model thinks; at the limit its thoughts are ended and
     * the answer goes on. Absent: no limit. An extension of this engine. Range: at least 0
     * and at most 2147483647. Unit: tokens.
     */
    val reasoning_budget: Long? = null,
    /** Further variables for the model's chat template, such as `enable_thinking`. */
    val chat_template_kwargs: JsonObject? = null,
    /**
     * The name of a logit processor that the program has registered with the engine: a
     * function that changes the logits before each token. Absent: none. An extension of
     * this engine.
     */
    val logit_processor: String? = null,
    /**
     * The adapters that change the model for this request. Absent: none. An extension of
     * this engine.
     */
    val lora: Lora? = null,
    /** A label of the end user; it has no effect on the answer. */
    val user: String? = null,
    /**
     * Requests of higher priority are served first and may take the place of running ones
     * of lower priority. Each level is worth ten seconds of waiting, so that nobody waits
     * for ever. Absent: 0. An extension of this engine. Range: at least -100 and at most
     * 100.
     */
    val priority: Long? = null,
    /**
     * The answer must be complete this long after the request came in; else it ends with
     * the error `deadline_exceeded`. Absent: no limit. An extension of this engine. Range:
     * at least 1 and at most 2147483647. Unit: milliseconds.
     */
    val timeout_ms: Long? = null,
    /**
     * Whether `usage.extra` carries this request's measurements, such as `ttft_s`. Absent:
     * it does in a stream whose `include_usage` is set, as MLC-LLM's. An extension of this
     * engine.
     */
    val usage_extra: Boolean? = null,
    /** Whether the answer carries `timings`, and in a stream every chunk, as llama.cpp's. */
    val timings_per_token: Boolean? = null,
    /**
     * Whether a stream begins with chunks that carry `prompt_progress`, as llama.cpp's.
     * They have no choices.
     */
    val return_progress: Boolean? = null,
    /** Switches for tests and measurements; a server takes them in debug mode only. */
    val debug_config: DebugConfig? = null,
    /** Labels of the caller's own; they have no effect. */
    val metadata: Map<String, String>? = null,
    /** Asks a service to keep the answer; this engine keeps none. */
    val store: Boolean? = null,
    /** A service's price class; it has no effect. */
    val service_tier: String? = null,
    /** The kinds of output that are asked for; only `text` is offered. */
    val modalities: List<String>? = null,
    /** How spoken output sounds; spoken output is not offered. */
    val audio: JsonElement? = null,
    /**
     * A text that the answer will resemble. It makes the answer faster where the two
     * agree, and never changes it.
     */
    val prediction: ChatCompletionPrediction? = null,
    /** A search of the web; not offered. */
    val web_search_options: JsonElement? = null,
    /** The older form of `tools`; use that. */
    val functions: JsonElement? = null,
    /** The older form of `tool_choice`; use that. */
    val function_call: JsonElement? = null,
) {
    constructor(
        messages: List<ChatCompletionMessage>,
        model: String? = null,
        stream: Boolean = false,
        stream_options: StreamOptions? = null,
        max_tokens: Long? = null,
        max_completion_tokens: Long? = null,
        n: Long = 1,
        temperature: Double? = null,
        top_p: Double? = null,
        top_k: Long? = null,
        min_p: Double? = null,
        frequency_penalty: Double? = null,
        presence_penalty: Double? = null,
        repetition_penalty: Double? = null,
        top_n_sigma: Double? = null,
        xtc_probability: Double? = null,
        xtc_threshold: Double? = null,
        dry_multiplier: Double? = null,
        dry_base: Double? = null,
        dry_allowed_length: Long? = null,
        dry_penalty_last_n: Long? = null,
        dry_sequence_breakers: List<String>? = null,
        logit_bias: Map<Int, Double>? = null,
        seed: Long? = null,
        logprobs: Boolean = false,
        top_logprobs: Long? = null,
        stop: String,
        tools: List<ChatCompletionTool>? = null,
        tool_choice: ToolChoice? = null,
        parallel_tool_calls: Boolean = true,
        response_format: ResponseFormat? = null,
        reasoning_effort: ReasoningEffort? = null,
        reasoning_budget: Long? = null,
        chat_template_kwargs: JsonObject? = null,
        logit_processor: String? = null,
        lora: Lora? = null,
        user: String? = null,
        priority: Long? = null,
        timeout_ms: Long? = null,
        usage_extra: Boolean? = null,
        timings_per_token: Boolean? = null,
        return_progress: Boolean? = null,
        debug_config: DebugConfig? = null,
        metadata: Map<String, String>? = null,
        store: Boolean? = null,
        service_tier: String? = null,
        modalities: List<String>? = null,
        audio: JsonElement? = null,
        prediction: ChatCompletionPrediction? = null,
        web_search_options: JsonElement? = null,
        functions: JsonElement? = null,
        function_call: JsonElement? = null,
    ) : this(
        messages,
        model,
        stream,
        stream_options,
        max_tokens,
        max_completion_tokens,
        n,
        temperature,
        top_p,
        top_k,
        min_p,
        frequency_penalty,
        presence_penalty,
        repetition_penalty,
        top_n_sigma,
        xtc_probability,
        xtc_threshold,
        dry_multiplier,
        dry_base,
        dry_allowed_length,
        dry_penalty_last_n,
        dry_sequence_breakers,
        logit_bias,
        seed,
        logprobs,
        top_logprobs,
        StopText(stop),
        tools,
        tool_choice,
        parallel_tool_calls,
        response_format,
        reasoning_effort,
        reasoning_budget,
        chat_template_kwargs,
        logit_processor,
        lora,
        user,
        priority,
        timeout_ms,
        usage_extra,
        timings_per_token,
        return_progress,
        debug_config,
        metadata,
        store,
        service_tier,
        modalities,
        audio,
        prediction,
        web_search_options,
        functions,
        function_call,
    )

    constructor(
        messages: List<ChatCompletionMessage>,
        model: String? = null,
        stream: Boolean = false,
        stream_options: StreamOptions? = null,
        max_tokens: Long? = null,
        max_completion_tokens: Long? = null,
        n: Long = 1,
        temperature: Double? = null,
        top_p: Double? = null,
        top_k: Long? = null,
        min_p: Double? = null,
        frequency_penalty: Double? = null,
        presence_penalty: Double? = null,
        repetition_penalty: Double? = null,
        top_n_sigma: Double? = null,
        xtc_probability: Double? = null,
        xtc_threshold: Double? = null,
        dry_multiplier: Double? = null,
        dry_base: Double? = null,
        dry_allowed_length: Long? = null,
        dry_penalty_last_n: Long? = null,
        dry_sequence_breakers: List<String>? = null,
        logit_bias: Map<Int, Double>? = null,
        seed: Long? = null,
        logprobs: Boolean = false,
        top_logprobs: Long? = null,
        stop: List<String>,
        tools: List<ChatCompletionTool>? = null,
        tool_choice: ToolChoice? = null,
        parallel_tool_calls: Boolean = true,
        response_format: ResponseFormat? = null,
        reasoning_effort: ReasoningEffort? = null,
        reasoning_budget: Long? = null,
        chat_template_kwargs: JsonObject? = null,
        logit_processor: String? = null,
        lora: Lora? = null,
        user: String? = null,
        priority: Long? = null,
        timeout_ms: Long? = null,
        usage_extra: Boolean? = null,
        timings_per_token: Boolean? = null,
        return_progress: Boolean? = null,
        debug_config: DebugConfig? = null,
        metadata: Map<String, String>? = null,
        store: Boolean? = null,
        service_tier: String? = null,
        modalities: List<String>? = null,
        audio: JsonElement? = null,
        prediction: ChatCompletionPrediction? = null,
        web_search_options: JsonElement? = null,
        functions: JsonElement? = null,
        function_call: JsonElement? = null,
    ) : this(
        messages,
        model,
        stream,
        stream_options,
        max_tokens,
        max_completion_tokens,
        n,
        temperature,
        top_p,
        top_k,
        min_p,
        frequency_penalty,
        presence_penalty,
        repetition_penalty,
        top_n_sigma,
        xtc_probability,
        xtc_threshold,
        dry_multiplier,
        dry_base,
        dry_allowed_length,
        dry_penalty_last_n,
        dry_sequence_breakers,
        logit_bias,
        seed,
        logprobs,
        top_logprobs,
        StopTexts(stop),
        tools,
        tool_choice,
        parallel_tool_calls,
        response_format,
        reasoning_effort,
        reasoning_budget,
        chat_template_kwargs,
        logit_processor,
        lora,
        user,
        priority,
        timeout_ms,
        usage_extra,
        timings_per_token,
        return_progress,
        debug_config,
        metadata,
        store,
        service_tier,
        modalities,
        audio,
        prediction,
        web_search_options,
        functions,
        function_call,
    )

    constructor(
        messages: List<ChatCompletionMessage>,
        model: String? = null,
        stream: Boolean = false,
        stream_options: StreamOptions? = null,
        max_tokens: Long? = null,
        max_completion_tokens: Long? = null,
        n: Long = 1,
        temperature: Double? = null,
        top_p: Double? = null,
        top_k: Long? = null,
        min_p: Double? = null,
        frequency_penalty: Double? = null,
        presence_penalty: Double? = null,
        repetition_penalty: Double? = null,
        top_n_sigma: Double? = null,
        xtc_probability: Double? = null,
        xtc_threshold: Double? = null,
        dry_multiplier: Double? = null,
        dry_base: Double? = null,
        dry_allowed_length: Long? = null,
        dry_penalty_last_n: Long? = null,
        dry_sequence_breakers: List<String>? = null,
        logit_bias: Map<Int, Double>? = null,
        seed: Long? = null,
        logprobs: Boolean = false,
        top_logprobs: Long? = null,
        stop: Stop? = null,
        tools: List<ChatCompletionTool>? = null,
        tool_choice: ToolChoice? = null,
        parallel_tool_calls: Boolean = true,
        response_format: ResponseFormat? = null,
        reasoning_effort: ReasoningEffort? = null,
        reasoning_budget: Long? = null,
        chat_template_kwargs: JsonObject? = null,
        logit_processor: String? = null,
        lora: String,
        user: String? = null,
        priority: Long? = null,
        timeout_ms: Long? = null,
        usage_extra: Boolean? = null,
        timings_per_token: Boolean? = null,
        return_progress: Boolean? = null,
        debug_config: DebugConfig? = null,
        metadata: Map<String, String>? = null,
        store: Boolean? = null,
        service_tier: String? = null,
        modalities: List<String>? = null,
        audio: JsonElement? = null,
        prediction: ChatCompletionPrediction? = null,
        web_search_options: JsonElement? = null,
        functions: JsonElement? = null,
        function_call: JsonElement? = null,
    ) : this(
        messages,
        model,
        stream,
        stream_options,
        max_tokens,
        max_completion_tokens,
        n,
        temperature,
        top_p,
        top_k,
        min_p,
        frequency_penalty,
        presence_penalty,
        repetition_penalty,
        top_n_sigma,
        xtc_probability,
        xtc_threshold,
        dry_multiplier,
        dry_base,
        dry_allowed_length,
        dry_penalty_last_n,
        dry_sequence_breakers,
        logit_bias,
        seed,
        logprobs,
        top_logprobs,
        stop,
        tools,
        tool_choice,
        parallel_tool_calls,
        response_format,
        reasoning_effort,
        reasoning_budget,
        chat_template_kwargs,
        logit_processor,
        LoraName(lora),
        user,
        priority,
        timeout_ms,
        usage_extra,
        timings_per_token,
        return_progress,
        debug_config,
        metadata,
        store,
        service_tier,
        modalities,
        audio,
        prediction,
        web_search_options,
        functions,
        function_call,
    )

    constructor(
        messages: List<ChatCompletionMessage>,
        model: String? = null,
        stream: Boolean = false,
        stream_options: StreamOptions? = null,
        max_tokens: Long? = null,
        max_completion_tokens: Long? = null,
        n: Long = 1,
        temperature: Double? = null,
        top_p: Double? = null,
        top_k: Long? = null,
        min_p: Double? = null,
        frequency_penalty: Double? = null,
        presence_penalty: Double? = null,
        repetition_penalty: Double? = null,
        top_n_sigma: Double? = null,
        xtc_probability: Double? = null,
        xtc_threshold: Double? = null,
        dry_multiplier: Double? = null,
        dry_base: Double? = null,
        dry_allowed_length: Long? = null,
        dry_penalty_last_n: Long? = null,
        dry_sequence_breakers: List<String>? = null,
        logit_bias: Map<Int, Double>? = null,
        seed: Long? = null,
        logprobs: Boolean = false,
        top_logprobs: Long? = null,
        stop: Stop? = null,
        tools: List<ChatCompletionTool>? = null,
        tool_choice: ToolChoice? = null,
        parallel_tool_calls: Boolean = true,
        response_format: ResponseFormat? = null,
        reasoning_effort: ReasoningEffort? = null,
        reasoning_budget: Long? = null,
        chat_template_kwargs: JsonObject? = null,
        logit_processor: String? = null,
        lora: List<LoraUse>,
        user: String? = null,
        priority: Long? = null,
        timeout_ms: Long? = null,
        usage_extra: Boolean? = null,
        timings_per_token: Boolean? = null,
        return_progress: Boolean? = null,
        debug_config: DebugConfig? = null,
        metadata: Map<String, String>? = null,
        store: Boolean? = null,
        service_tier: String? = null,
        modalities: List<String>? = null,
        audio: JsonElement? = null,
        prediction: ChatCompletionPrediction? = null,
        web_search_options: JsonElement? = null,
        functions: JsonElement? = null,
        function_call: JsonElement? = null,
    ) : this(
        messages,
        model,
        stream,
        stream_options,
        max_tokens,
        max_completion_tokens,
        n,
        temperature,
        top_p,
        top_k,
        min_p,
        frequency_penalty,
        presence_penalty,
        repetition_penalty,
        top_n_sigma,
        xtc_probability,
        xtc_threshold,
        dry_multiplier,
        dry_base,
        dry_allowed_length,
        dry_penalty_last_n,
        dry_sequence_breakers,
        logit_bias,
        seed,
        logprobs,
        top_logprobs,
        stop,
        tools,
        tool_choice,
        parallel_tool_calls,
        response_format,
        reasoning_effort,
        reasoning_budget,
        chat_template_kwargs,
        logit_processor,
        LoraUses(lora),
        user,
        priority,
        timeout_ms,
        usage_extra,
        timings_per_token,
        return_progress,
        debug_config,
        metadata,
        store,
        service_tier,
        modalities,
        audio,
        prediction,
        web_search_options,
        functions,
        function_call,
    )
}

/** One prompt of several, or one token of a prompt. */
@Serializable(with = PromptItemSerializer::class)
sealed interface PromptItem

/** [PromptItem] as a text. */
data class PromptItemText(val value: String) : PromptItem

/** [PromptItem] as a number. */
data class PromptItemToken(val value: Long) : PromptItem

/** [PromptItem] as a list. */
data class PromptItemTokens(val value: List<Long>) : PromptItem

/** A [PromptItem] of a kind that this version does not know. */
data class PromptItemUnknown(val json: JsonElement) : PromptItem

internal object PromptItemSerializer : UnionSerializer<PromptItem>("PromptItem") {
    override fun decode(json: Json, element: JsonElement): PromptItem = when {
        element.isText -> PromptItemText(json.decodeFromJsonElement<String>(element))
        element.isNumber -> PromptItemToken(json.decodeFromJsonElement<Long>(element))
        element.isArray -> PromptItemTokens(json.decodeFromJsonElement<List<Long>>(element))
        else -> PromptItemUnknown(element)
    }

    override fun encode(json: Json, value: PromptItem): JsonElement = when (value) {
        is PromptItemText -> json.encodeToJsonElement<String>(value.value)
        is PromptItemToken -> json.encodeToJsonElement<Long>(value.value)
        is PromptItemTokens -> json.encodeToJsonElement<List<Long>>(value.value)
        is PromptItemUnknown -> value.json
    }
}

/** What is to be continued or embedded: a text, several texts, token ids, or lists of those. */
@Serializable(with = PromptSerializer::class)
sealed interface Prompt

/** [Prompt] as a text. */
data class PromptText(val value: String) : Prompt

/** [Prompt] as a list. */
data class PromptItems(val value: List<PromptItem>) : Prompt

/** A [Prompt] of a kind that this version does not know. */
data class PromptUnknown(val json: JsonElement) : Prompt

internal object PromptSerializer : UnionSerializer<Prompt>("Prompt") {
    override fun decode(json: Json, element: JsonElement): Prompt = when {
        element.isText -> PromptText(json.decodeFromJsonElement<String>(element))
        element.isArray -> PromptItems(json.decodeFromJsonElement<List<PromptItem>>(element))
        else -> PromptUnknown(element)
    }

    override fun encode(json: Json, value: Prompt): JsonElement = when (value) {
        is PromptText -> json.encodeToJsonElement<String>(value.value)
        is PromptItems -> json.encodeToJsonElement<List<PromptItem>>(value.value)
        is PromptUnknown -> value.json
    }
}

/** A text, and how the model is to continue it. */
@Serializable
@JsonIgnoreUnknownKeys
data class CompletionRequest(
    /** What is to be continued. */
    val prompt: Prompt,
    /** The model to answer. Absent: the engine's own. */
    val model: String? = null,
    /** The text that follows what is inserted. Absent: the text is only continued. */
    val suffix: String? = null,
    /** Whether the answer begins with the prompt. Default: false. */
    @EncodeDefault
    val echo: Boolean = false,
    /**
     * How many answers are generated to return the best `n`. Absent: `n`. Range: at least
     * 1 and at most 128.
     */
    val best_of: Long? = null,
    /** Whether the answer comes in chunks while it is generated. Default: false. */
    @EncodeDefault
    val stream: Boolean = false,
    /** Options of the stream. */
    val stream_options: StreamOptions? = null,
    /** The longest answer. Range: at least 0. Default: 16. Unit: tokens. */
    @EncodeDefault
    val max_tokens: Long = 16,
    /**
     * How many answers are generated, each on its own. Range: at least 1 and at most 128.
     * Default: 1.
     */
    @EncodeDefault
    val n: Long = 1,
    /**
     * How far the choice of tokens strays from the likeliest; 0 always takes the
     * likeliest. Absent: the model's own default, else 1. Range: at least 0 and at most 2.
     */
    val temperature: Double? = null,
    /**
     * Keeps the likeliest tokens that together reach this probability; 0 keeps the
     * likeliest alone. Absent: the model's own default, else 1. Range: at least 0 and at
     * most 1.
     */
    val top_p: Double? = null,
    /**
     * Keeps this many of the likeliest tokens; 0 or -1 keeps all. Absent: the model's own
     * default, else 0. Range: at least -1. Unit: tokens.
     */
    val top_k: Long? = null,
    /**
     * Keeps tokens at least this probable, relative to the likeliest. Absent: the model's
     * own default, else 0. Range: at least 0 and at most 1.
     */
    val min_p: Double? = null,
    /**
     * Lowers a token's logit by this much for each time it occurs in the answer. Absent:
     * the model's own default, else 0. Range: at least -2 and at most 2.
     */
    val frequency_penalty: Double? = null,
    /**
     * Lowers a token's logit by this much once it occurs in the answer. Absent: the
     * model's own default, else 0. Range: at least -2 and at most 2.
     */
    val presence_penalty: Double? = null,
    /**
     * Divides a positive logit, and multiplies a negative one, of tokens that occurred.
     * Absent: the model's own default, else 1. Range: above 0 and at most 10.
     */
    val repetition_penalty: Double? = null,
    /**
     * Keeps tokens whose logit is at most this many standard deviations below the largest;
     * 0 or less keeps all. Absent: the model's own default, else 0. Range: at least -1 and
     * at most 1000.
     */
    val top_n_sigma: Double? = null,
    /**
     * How often (of 1) the likeliest tokens are excluded, all but the last one that
     * `xtc_threshold` counts among them. Absent: the model's own default, else 0. Range:
     * at least 0 and at most 1.
     */
    val xtc_probability: Double? = null,
    /**
     * From which probability on `xtc_probability` counts a token among the likeliest; over
     * 0.5 there is no second one. Absent: the model's own default, else 0.1. Range: at
     * least 0 and at most 1.
     */
    val xtc_threshold: Double? = null,
    /**
     * Lowers the logit of a token that would go on with a repetition, in prompt and
     * answer: by this much times `dry_base` to the power of what the repetition is longer
     * than `dry_allowed_length`. Absent: the model's own default, else 0. Range: at least
     * 0 and at most 100.
     */
    val dry_multiplier: Double? = null,
    /**
     * How fast `dry_multiplier` grows with a repetition. Absent: the model's own default,
     * else 1.75. Range: at least 1 and at most 100.
     */
    val dry_base: Double? = null,
    /**
     * `dry_multiplier` begins at repetitions of this length. Absent: the model's own
     * default, else 2. Range: at least 1. Unit: tokens.
     */
    val dry_allowed_length: Long? = null,
    /**
     * Among how many of the last tokens `dry_multiplier` looks for repetitions; -1: all,
     * 0: none. Absent: the model's own default, else -1. Range: at least -1. Unit: tokens.
     */
    val dry_penalty_last_n: Long? = null,
    /**
     * A token that contains one of these texts ends repetitions that `dry_multiplier`
     * counts, as a special token does. Absent: a line's end, a colon, a quotation mark and
     * an asterisk. Length: at least 1. Items: at most 64.
     */
    val dry_sequence_breakers: List<String>? = null,
    /**
     * Adds to the logits of tokens: from token id to bias. Range: at least -100 and at
     * most 100.
     */
    val logit_bias: Map<Int, Double>? = null,
    /**
     * Makes the answer repeatable: equal requests with equal seeds get equal answers.
     * Absent: a random one.
     */
    val seed: Long? = null,
    /**
     * How many of the likeliest tokens are returned at each position, beside the chosen
     * one. Absent: none. Range: at least 0 and at most 5. Unit: tokens.
     */
    val logprobs: Long? = null,
    /** Texts at which the answer ends, before them. */
    val stop: Stop? = null,
    /** The shape that the answer must have. Absent: any text. */
    val response_format: ResponseFormat? = null,
    /**
     * The name of a logit processor that the program has registered with the engine: a
     * function that changes the logits before each token. Absent: none. An extension of
     * this engine.
     */
    val logit_processor: String? = null,
    /**
     * The adapters that change the model for this request. Absent: none. An extension of
     * this engine.
     */
    val lora: Lora? = null,
    /** A label of the end user; it has no effect on the answer. */
    val user: String? = null,
    /**
     * Requests of higher priority are served first, as in chats. Absent: 0. An extension
     * of this engine. Range: at least -100 and at most 100.
     */
    val priority: Long? = null,
    /**
     * The answer must be complete this long after the request came in; else it ends with
     * the error `deadline_exceeded`. Absent: no limit. An extension of this engine. Range:
     * at least 1 and at most 2147483647. Unit: milliseconds.
     */
    val timeout_ms: Long? = null,
    /** Whether the answer carries `timings`, and in a stream every chunk, as llama.cpp's. */
    val timings_per_token: Boolean? = null,
    /**
     * Whether a stream begins with chunks that carry `prompt_progress`, as llama.cpp's.
     * They have no choices.
     */
    val return_progress: Boolean? = null,
    /** Switches for tests and measurements; a server takes them in debug mode only. */
    val debug_config: DebugConfig? = null,
) {
    @JvmOverloads constructor(
        prompt: String,
        model: String? = null,
        suffix: String? = null,
        echo: Boolean = false,
        best_of: Long? = null,
        stream: Boolean = false,
        stream_options: StreamOptions? = null,
        max_tokens: Long = 16,
        n: Long = 1,
        temperature: Double? = null,
        top_p: Double? = null,
        top_k: Long? = null,
        min_p: Double? = null,
        frequency_penalty: Double? = null,
        presence_penalty: Double? = null,
        repetition_penalty: Double? = null,
        top_n_sigma: Double? = null,
        xtc_probability: Double? = null,
        xtc_threshold: Double? = null,
        dry_multiplier: Double? = null,
        dry_base: Double? = null,
        dry_allowed_length: Long? = null,
        dry_penalty_last_n: Long? = null,
        dry_sequence_breakers: List<String>? = null,
        logit_bias: Map<Int, Double>? = null,
        seed: Long? = null,
        logprobs: Long? = null,
        stop: Stop? = null,
        response_format: ResponseFormat? = null,
        logit_processor: String? = null,
        lora: Lora? = null,
        user: String? = null,
        priority: Long? = null,
        timeout_ms: Long? = null,
        timings_per_token: Boolean? = null,
        return_progress: Boolean? = null,
        debug_config: DebugConfig? = null,
    ) : this(
        PromptText(prompt),
        model,
        suffix,
        echo,
        best_of,
        stream,
        stream_options,
        max_tokens,
        n,
        temperature,
        top_p,
        top_k,
        min_p,
        frequency_penalty,
        presence_penalty,
        repetition_penalty,
        top_n_sigma,
        xtc_probability,
        xtc_threshold,
        dry_multiplier,
        dry_base,
        dry_allowed_length,
        dry_penalty_last_n,
        dry_sequence_breakers,
        logit_bias,
        seed,
        logprobs,
        stop,
        response_format,
        logit_processor,
        lora,
        user,
        priority,
        timeout_ms,
        timings_per_token,
        return_progress,
        debug_config,
    )

    @JvmOverloads constructor(
        prompt: List<PromptItem>,
        model: String? = null,
        suffix: String? = null,
        echo: Boolean = false,
        best_of: Long? = null,
        stream: Boolean = false,
        stream_options: StreamOptions? = null,
        max_tokens: Long = 16,
        n: Long = 1,
        temperature: Double? = null,
        top_p: Double? = null,
        top_k: Long? = null,
        min_p: Double? = null,
        frequency_penalty: Double? = null,
        presence_penalty: Double? = null,
        repetition_penalty: Double? = null,
        top_n_sigma: Double? = null,
        xtc_probability: Double? = null,
        xtc_threshold: Double? = null,
        dry_multiplier: Double? = null,
        dry_base: Double? = null,
        dry_allowed_length: Long? = null,
        dry_penalty_last_n: Long? = null,
        dry_sequence_breakers: List<String>? = null,
        logit_bias: Map<Int, Double>? = null,
        seed: Long? = null,
        logprobs: Long? = null,
        stop: Stop? = null,
        response_format: ResponseFormat? = null,
        logit_processor: String? = null,
        lora: Lora? = null,
        user: String? = null,
        priority: Long? = null,
        timeout_ms: Long? = null,
        timings_per_token: Boolean? = null,
        return_progress: Boolean? = null,
        debug_config: DebugConfig? = null,
    ) : this(
        PromptItems(prompt),
        model,
        suffix,
        echo,
        best_of,
        stream,
        stream_options,
        max_tokens,
        n,
        temperature,
        top_p,
        top_k,
        min_p,
        frequency_penalty,
        presence_penalty,
        repetition_penalty,
        top_n_sigma,
        xtc_probability,
        xtc_threshold,
        dry_multiplier,
        dry_base,
        dry_allowed_length,
        dry_penalty_last_n,
        dry_sequence_breakers,
        logit_bias,
        seed,
        logprobs,
        stop,
        response_format,
        logit_processor,
        lora,
        user,
        priority,
        timeout_ms,
        timings_per_token,
        return_progress,
        debug_config,
    )

    constructor(
        prompt: Prompt,
        model: String? = null,
        suffix: String? = null,
        echo: Boolean = false,
        best_of: Long? = null,
        stream: Boolean = false,
        stream_options: StreamOptions? = null,
        max_tokens: Long = 16,
        n: Long = 1,
        temperature: Double? = null,
        top_p: Double? = null,
        top_k: Long? = null,
        min_p: Double? = null,
        frequency_penalty: Double? = null,
        presence_penalty: Double? = null,
        repetition_penalty: Double? = null,
        top_n_sigma: Double? = null,
        xtc_probability: Double? = null,
        xtc_threshold: Double? = null,
        dry_multiplier: Double? = null,
        dry_base: Double? = null,
        dry_allowed_length: Long? = null,
        dry_penalty_last_n: Long? = null,
        dry_sequence_breakers: List<String>? = null,
        logit_bias: Map<Int, Double>? = null,
        seed: Long? = null,
        logprobs: Long? = null,
        stop: String,
        response_format: ResponseFormat? = null,
        logit_processor: String? = null,
        lora: Lora? = null,
        user: String? = null,
        priority: Long? = null,
        timeout_ms: Long? = null,
        timings_per_token: Boolean? = null,
        return_progress: Boolean? = null,
        debug_config: DebugConfig? = null,
    ) : this(
        prompt,
        model,
        suffix,
        echo,
        best_of,
        stream,
        stream_options,
        max_tokens,
        n,
        temperature,
        top_p,
        top_k,
        min_p,
        frequency_penalty,
        presence_penalty,
        repetition_penalty,
        top_n_sigma,
        xtc_probability,
        xtc_threshold,
        dry_multiplier,
        dry_base,
        dry_allowed_length,
        dry_penalty_last_n,
        dry_sequence_breakers,
        logit_bias,
        seed,
        logprobs,
        StopText(stop),
        response_format,
        logit_processor,
        lora,
        user,
        priority,
        timeout_ms,
        timings_per_token,
        return_progress,
        debug_config,
    )

    constructor(
        prompt: Prompt,
        model: String? = null,
        suffix: String? = null,
        echo: Boolean = false,
        best_of: Long? = null,
        stream: Boolean = false,
        stream_options: StreamOptions? = null,
        max_tokens: Long = 16,
        n: Long = 1,
        temperature: Double? = null,
        top_p: Double? = null,
        top_k: Long? = null,
        min_p: Double? = null,
        frequency_penalty: Double? = null,
        presence_penalty: Double? = null,
        repetition_penalty: Double? = null,
        top_n_sigma: Double? = null,
        xtc_probability: Double? = null,
        xtc_threshold: Double? = null,
        dry_multiplier: Double? = null,
        dry_base: Double? = null,
        dry_allowed_length: Long? = null,
        dry_penalty_last_n: Long? = null,
        dry_sequence_breakers: List<String>? = null,
        logit_bias: Map<Int, Double>? = null,
        seed: Long? = null,
        logprobs: Long? = null,
        stop: List<String>,
        response_format: ResponseFormat? = null,
        logit_processor: String? = null,
        lora: Lora? = null,
        user: String? = null,
        priority: Long? = null,
        timeout_ms: Long? = null,
        timings_per_token: Boolean? = null,
        return_progress: Boolean? = null,
        debug_config: DebugConfig? = null,
    ) : this(
        prompt,
        model,
        suffix,
        echo,
        best_of,
        stream,
        stream_options,
        max_tokens,
        n,
        temperature,
        top_p,
        top_k,
        min_p,
        frequency_penalty,
        presence_penalty,
        repetition_penalty,
        top_n_sigma,
        xtc_probability,
        xtc_threshold,
        dry_multiplier,
        dry_base,
        dry_allowed_length,
        dry_penalty_last_n,
        dry_sequence_breakers,
        logit_bias,
        seed,
        logprobs,
        StopTexts(stop),
        response_format,
        logit_processor,
        lora,
        user,
        priority,
        timeout_ms,
        timings_per_token,
        return_progress,
        debug_config,
    )

    constructor(
        prompt: Prompt,
        model: String? = null,
        suffix: String? = null,
        echo: Boolean = false,
        best_of: Long? = null,
        stream: Boolean = false,
        stream_options: StreamOptions? = null,
        max_tokens: Long = 16,
        n: Long = 1,
        temperature: Double? = null,
        top_p: Double? = null,
        top_k: Long? = null,
        min_p: Double? = null,
        frequency_penalty: Double? = null,
        presence_penalty: Double? = null,
        repetition_penalty: Double? = null,
        top_n_sigma: Double? = null,
        xtc_probability: Double? = null,
        xtc_threshold: Double? = null,
        dry_multiplier: Double? = null,
        dry_base: Double? = null,
        dry_allowed_length: Long? = null,
        dry_penalty_last_n: Long? = null,
        dry_sequence_breakers: List<String>? = null,
        logit_bias: Map<Int, Double>? = null,
        seed: Long? = null,
        logprobs: Long? = null,
        stop: Stop? = null,
        response_format: ResponseFormat? = null,
        logit_processor: String? = null,
        lora: String,
        user: String? = null,
        priority: Long? = null,
        timeout_ms: Long? = null,
        timings_per_token: Boolean? = null,
        return_progress: Boolean? = null,
        debug_config: DebugConfig? = null,
    ) : this(
        prompt,
        model,
        suffix,
        echo,
        best_of,
        stream,
        stream_options,
        max_tokens,
        n,
        temperature,
        top_p,
        top_k,
        min_p,
        frequency_penalty,
        presence_penalty,
        repetition_penalty,
        top_n_sigma,
        xtc_probability,
        xtc_threshold,
        dry_multiplier,
        dry_base,
        dry_allowed_length,
        dry_penalty_last_n,
        dry_sequence_breakers,
        logit_bias,
        seed,
        logprobs,
        stop,
        response_format,
        logit_processor,
        LoraName(lora),
        user,
        priority,
        timeout_ms,
        timings_per_token,
        return_progress,
        debug_config,
    )

    constructor(
        prompt: Prompt,
        model: String? = null,
        suffix: String? = null,
        echo: Boolean = false,
        best_of: Long? = null,
        stream: Boolean = false,
        stream_options: StreamOptions? = null,
        max_tokens: Long = 16,
        n: Long = 1,
        temperature: Double? = null,
        top_p: Double? = null,
        top_k: Long? = null,
        min_p: Double? = null,
        frequency_penalty: Double? = null,
        presence_penalty: Double? = null,
        repetition_penalty: Double? = null,
        top_n_sigma: Double? = null,
        xtc_probability: Double? = null,
        xtc_threshold: Double? = null,
        dry_multiplier: Double? = null,
        dry_base: Double? = null,
        dry_allowed_length: Long? = null,
        dry_penalty_last_n: Long? = null,
        dry_sequence_breakers: List<String>? = null,
        logit_bias: Map<Int, Double>? = null,
        seed: Long? = null,
        logprobs: Long? = null,
        stop: Stop? = null,
        response_format: ResponseFormat? = null,
        logit_processor: String? = null,
        lora: List<LoraUse>,
        user: String? = null,
        priority: Long? = null,
        timeout_ms: Long? = null,
        timings_per_token: Boolean? = null,
        return_progress: Boolean? = null,
        debug_config: DebugConfig? = null,
    ) : this(
        prompt,
        model,
        suffix,
        echo,
        best_of,
        stream,
        stream_options,
        max_tokens,
        n,
        temperature,
        top_p,
        top_k,
        min_p,
        frequency_penalty,
        presence_penalty,
        repetition_penalty,
        top_n_sigma,
        xtc_probability,
        xtc_threshold,
        dry_multiplier,
        dry_base,
        dry_allowed_length,
        dry_penalty_last_n,
        dry_sequence_breakers,
        logit_bias,
        seed,
        logprobs,
        stop,
        response_format,
        logit_processor,
        LoraUses(lora),
        user,
        priority,
        timeout_ms,
        timings_per_token,
        return_progress,
        debug_config,
    )
}

/** How a vector is written. */
@Serializable(with = EmbeddingEncodingSerializer::class)
class EmbeddingEncoding private constructor(word: String, isKnown: Boolean) :
    Word(word, isKnown) {
    companion object {
        /** As a list of numbers. */
        @JvmField
        val float: EmbeddingEncoding = EmbeddingEncoding("float", true)

        /** As the base64 of its numbers, little-endian float32. */
        @JvmField
        val base64: EmbeddingEncoding = EmbeddingEncoding("base64", true)

        private val knownWords = listOf(float, base64).associateBy { it.word }

        /** The word on the wire as a value, known or not. */
        @JvmStatic
        fun of(word: String): EmbeddingEncoding = knownWords[word] ?: unknown(word)

        /** A word that this version does not know. */
        @JvmStatic
        fun unknown(word: String): EmbeddingEncoding = EmbeddingEncoding(word, false)
    }
}

internal object EmbeddingEncodingSerializer :
    WordSerializer<EmbeddingEncoding>("EmbeddingEncoding", EmbeddingEncoding::of)

/** Texts of which vectors are wanted. */
@Serializable
@JsonIgnoreUnknownKeys
data class EmbeddingRequest @JvmOverloads constructor(
    /** A text, several texts, or their token ids. */
    val input: Prompt,
    /** The model to use. Absent: the engine's own. */
    val model: String? = null,
    /** How the vectors are written. Default: `float`. */
    @EncodeDefault
    val encoding_format: EmbeddingEncoding = EmbeddingEncoding.float,
    /**
     * How many numbers of each vector are kept. Absent: all that the model gives. Range:
     * at least 1.
     */
    val dimensions: Long? = null,
    /** A label of the end user; it has no effect. */
    val user: String? = null,
    /**
     * Requests of higher priority are served first, as in chats. Absent: 0. An extension
     * of this engine. Range: at least -100 and at most 100.
     */
    val priority: Long? = null,
    /**
     * The answer must be complete this long after the request came in; else it ends with
     * the error `deadline_exceeded`. Absent: no limit. An extension of this engine. Range:
     * at least 1 and at most 2147483647. Unit: milliseconds.
     */
    val timeout_ms: Long? = null,
) {
    @JvmOverloads constructor(
        input: String,
        model: String? = null,
        encoding_format: EmbeddingEncoding = EmbeddingEncoding.float,
        dimensions: Long? = null,
        user: String? = null,
        priority: Long? = null,
        timeout_ms: Long? = null,
    ) : this(
        PromptText(input),
        model,
        encoding_format,
        dimensions,
        user,
        priority,
        timeout_ms,
    )

    @JvmOverloads constructor(
        input: List<PromptItem>,
        model: String? = null,
        encoding_format: EmbeddingEncoding = EmbeddingEncoding.float,
        dimensions: Long? = null,
        user: String? = null,
        priority: Long? = null,
        timeout_ms: Long? = null,
    ) : this(
        PromptItems(input),
        model,
        encoding_format,
        dimensions,
        user,
        priority,
        timeout_ms,
    )
}

/** A document as an object. */
@Serializable
@JsonIgnoreUnknownKeys
data class RerankDocument(
    /** The document's text. */
    val text: String,
) : RerankInput

/** A document to be judged: its text, or an object with the text. */
@Serializable(with = RerankInputSerializer::class)
sealed interface RerankInput

/** [RerankInput] as a text. */
data class RerankInputText(val value: String) : RerankInput

/** A [RerankInput] of a kind that this version does not know. */
data class RerankInputUnknown(val json: JsonElement) : RerankInput

internal object RerankInputSerializer : UnionSerializer<RerankInput>("RerankInput") {
    override fun decode(json: Json, element: JsonElement): RerankInput = when {
        element.isText -> RerankInputText(json.decodeFromJsonElement<String>(element))
        element.isObject -> json.decodeFromJsonElement<RerankDocument>(element)
        else -> RerankInputUnknown(element)
    }

    override fun encode(json: Json, value: RerankInput): JsonElement = when (value) {
        is RerankInputText -> json.encodeToJsonElement<String>(value.value)
        is RerankDocument -> json.encodeToJsonElement<RerankDocument>(value)
        is RerankInputUnknown -> value.json
    }
}

/** A query, and the documents of which the best ones are wanted. */
@Serializable
@JsonIgnoreUnknownKeys
data class RerankRequest @JvmOverloads constructor(
    /** What the documents are judged by. Length: at least 1. */
    val query: String,
    /** The documents: texts, or objects with a text. Items: at least 1 and at most 10000. */
    val documents: List<RerankInput>,
    /** The model to use. Absent: the engine's own. */
    val model: String? = null,
    /**
     * How many results are returned, the best first. Absent: one for each document. Range:
     * at least 1.
     */
    val top_n: Long? = null,
    /** Whether each result holds its document. Default: false. */
    @EncodeDefault
    val return_documents: Boolean = false,
    /**
     * How many tokens of each document are read at most. Absent: as many as fit beside the
     * query. Range: at least 1. Unit: tokens.
     */
    val max_tokens_per_doc: Long? = null,
    /**
     * Whether the end of a document is left out that does not fit beside the query. False:
     * such a request is refused. An extension of this engine. Default: true.
     */
    @EncodeDefault
    val truncate: Boolean = true,
    /**
     * Whether scores are the model's own numbers, of any size, instead of numbers from 0
     * to 1. An extension of this engine. Default: false.
     */
    @EncodeDefault
    val raw_scores: Boolean = false,
    /**
     * Requests of higher priority are served first, as in chats. Absent: 0. An extension
     * of this engine. Range: at least -100 and at most 100.
     */
    val priority: Long? = null,
    /**
     * The answer must be complete this long after the request came in; else it ends with
     * the error `deadline_exceeded`. Absent: no limit. An extension of this engine. Range:
     * at least 1 and at most 2147483647. Unit: milliseconds.
     */
    val timeout_ms: Long? = null,
)

/** A text of which the tokens are wanted. */
@Serializable
@JsonIgnoreUnknownKeys
data class TokenizeRequest @JvmOverloads constructor(
    /** The text. */
    val text: String,
    /**
     * Whether the tokens are added that the model expects around a whole text. Default:
     * false.
     */
    @EncodeDefault
    val add_special_tokens: Boolean = false,
)

/** Tokens of which the text is wanted. */
@Serializable
@JsonIgnoreUnknownKeys
data class DetokenizeRequest @JvmOverloads constructor(
    /** The token ids. Range: at least 0. */
    val tokens: List<Long>,
    /** Whether special tokens leave no text. Default: true. */
    @EncodeDefault
    val skip_special_tokens: Boolean = true,
)

/** A conversation whose state is to be saved: `messages` or `prompt_tokens`. */
@Serializable
@JsonIgnoreUnknownKeys
data class KVSaveRequest @JvmOverloads constructor(
    /**
     * The file to write, on the engine's machine; an older one is replaced. Length: at
     * least 1.
     */
    val path: String,
    /**
     * The conversation, as a request would send it. Absent: `prompt_tokens` is given.
     * Items: at least 1.
     */
    val messages: List<ChatCompletionMessage>? = null,
    /** Further variables for the model's chat template, as the request would send them. */
    val chat_template_kwargs: JsonObject? = null,
    /**
     * The prompt's token ids. Absent: `messages` is given. Range: at least 0. Items: at
     * least 1. Unit: tokens.
     */
    val prompt_tokens: List<Long>? = null,
)

/** A saved state that requests are to find. */
@Serializable
@JsonIgnoreUnknownKeys
data class KVLoadRequest(
    /** The file to read, on the engine's machine. Length: at least 1. */
    val path: String,
)

/**
 * A request whose prompts are looked up in the prefix cache: `chat` or `completion`. Nothing
 * is computed.
 */
@Serializable
@JsonIgnoreUnknownKeys
data class KVHeldRequest @JvmOverloads constructor(
    /** A chat, as it would be sent. Absent: `completion` is given. */
    val chat: ChatCompletionRequest? = null,
    /** A text to continue, as it would be sent. Absent: `chat` is given. */
    val completion: CompletionRequest? = null,
)

/** How much memory is given back; each level includes those before it. */
@Serializable(with = TrimLevelSerializer::class)
class TrimLevel private constructor(word: String, isKnown: Boolean) :
    Word(word, isKnown) {
    companion object {
        /** What only the prefix cache holds. */
        @JvmField
        val caches: TrimLevel = TrimLevel("caches", true)

        /** Also the memory of KV pages that no running answer uses. */
        @JvmField
        val pages: TrimLevel = TrimLevel("pages", true)

        /**
         * Also the pages of running answers, which are computed again later and stay the
         * same, and weights that can be read from their files again.
         */
        @JvmField
        val all: TrimLevel = TrimLevel("all", true)

        private val knownWords = listOf(caches, pages, all).associateBy { it.word }

        /** The word on the wire as a value, known or not. */
        @JvmStatic
        fun of(word: String): TrimLevel = knownWords[word] ?: unknown(word)

        /** A word that this version does not know. */
        @JvmStatic
        fun unknown(word: String): TrimLevel = TrimLevel(word, false)
    }
}

internal object TrimLevelSerializer :
    WordSerializer<TrimLevel>("TrimLevel", TrimLevel::of)

/** How much memory the engine gives back. */
@Serializable
@JsonIgnoreUnknownKeys
data class TrimRequest @JvmOverloads constructor(
    /** How much. Default: `caches`. */
    @EncodeDefault
    val level: TrimLevel = TrimLevel.caches,
)

/** What is made ready before the first request. */
@Serializable
@JsonIgnoreUnknownKeys
data class PrewarmRequest @JvmOverloads constructor(
    /** Whether a step of one token is computed; its result is thrown away. Default: true. */
    @EncodeDefault
    val step: Boolean = true,
)

/** How hot a device is, by iOS's names. Answers stay the same in every state. */
@Serializable(with = ThermalStateSerializer::class)
class ThermalState private constructor(word: String, isKnown: Boolean) :
    Word(word, isKnown) {
    companion object {
        /** Cool: no limits. Android's none and light. */
        @JvmField
        val nominal: ThermalState = ThermalState("nominal", true)

        /** Smaller chunks of prompts. Android's moderate. */
        @JvmField
        val fair: ThermalState = ThermalState("fair", true)

        /** Half of the threads and of the answers at a time. Android's severe. */
        @JvmField
        val serious: ThermalState = ThermalState("serious", true)

        /** One thread, one answer at a time. Android's critical and higher. */
        @JvmField
        val critical: ThermalState = ThermalState("critical", true)

        private val knownWords = listOf(nominal, fair, serious, critical).associateBy { it.word }

        /** The word on the wire as a value, known or not. */
        @JvmStatic
        fun of(word: String): ThermalState = knownWords[word] ?: unknown(word)

        /** A word that this version does not know. */
        @JvmStatic
        fun unknown(word: String): ThermalState = ThermalState(word, false)
    }
}

internal object ThermalStateSerializer :
    WordSerializer<ThermalState>("ThermalState", ThermalState::of)

/** How hot the device is. */
@Serializable
@JsonIgnoreUnknownKeys
data class ThermalHint(
    /** The state. */
    val state: ThermalState,
)

/** An adapter that requests may choose from now on. */
@Serializable
@JsonIgnoreUnknownKeys
data class AdapterLoadRequest(
    /**
     * The name that requests use. One that is loaded already is replaced; its requests go
     * on with it. Length: at least 1 and at most 256.
     */
    val name: String,
    /**
     * The adapter's file, on the engine's machine; `mlc_llm convert_adapter` makes it of
     * other formats. Length: at least 1.
     */
    val path: String,
)

/** An adapter that no new request may choose; its requests go on with it. */
@Serializable
@JsonIgnoreUnknownKeys
data class AdapterUnloadRequest(
    /** Its name. Length: at least 1. */
    val name: String,
)

/** Which adapters are asked for. */
@Serializable
@JsonIgnoreUnknownKeys
data class AdapterListRequest @JvmOverloads constructor(
    /** The adapter of this name alone. Absent: all. Length: at least 1. */
    val name: String? = null,
)

/** The folders that a program gives to the engine, for the whole process. */
@Serializable
@JsonIgnoreUnknownKeys
data class Directories @JvmOverloads constructor(
    /**
     * For files that are kept, such as compiled GPU programs. Absent: `MLC_LLM_HOME`, or
     * `mlc_llm` in the user's cache folder. Length: at least 1.
     */
    val cache: String? = null,
    /**
     * For files that are removed again. Absent: `cache` if it is given, else the system's
     * folder for temporary files. Length: at least 1.
     */
    val temporary: String? = null,
    /**
     * Where model libraries and device backends also are. Absent: nowhere else. Length: at
     * least 1.
     */
    val libraries: List<String>? = null,
)

/** Which model an engine loads. */
@Serializable
@JsonIgnoreUnknownKeys
data class ModelLoadRequest @JvmOverloads constructor(
    /** The model's folder, which holds `mlc-chat-config.json`, weights and tokenizer. */
    val model: String,
    /**
     * The compiled library: a file, or the name of one among the app's libraries or linked
     * into the program. Absent: the one in the folder `lib` of the model's folder.
     */
    val model_lib: String? = null,
    /**
     * Where the model runs, such as `cpu:0`; `auto` takes the first device there is.
     * Default: `auto`.
     */
    @EncodeDefault
    val device: String = "auto",
    /** The model's name in answers. Absent: the folder's. */
    val name: String? = null,
)

/** What the engine is for, which sets its other defaults. */
@Serializable(with = EngineModeSerializer::class)
class EngineMode private constructor(word: String, isKnown: Boolean) :
    Word(word, isKnown) {
    companion object {
        /** At most 16 sequences (4 with recurrent states), 8192 tokens of KV cache. */
        @JvmField
        val local: EngineMode = EngineMode("local", true)

        /** One conversation: 1 sequence, as long as the context window. */
        @JvmField
        val interactive: EngineMode = EngineMode("interactive", true)

        /** Many requests: as many sequences as the model and the memory allow. */
        @JvmField
        val server: EngineMode = EngineMode("server", true)

        private val knownWords = listOf(local, interactive, server).associateBy { it.word }

        /** The word on the wire as a value, known or not. */
        @JvmStatic
        fun of(word: String): EngineMode = knownWords[word] ?: unknown(word)

        /** A word that this version does not know. */
        @JvmStatic
        fun unknown(word: String): EngineMode = EngineMode(word, false)
    }
}

internal object EngineModeSerializer :
    WordSerializer<EngineMode>("EngineMode", EngineMode::of)

/** The precision of cached keys and values. */
@Serializable(with = KVCacheDTypeSerializer::class)
class KVCacheDType private constructor(word: String, isKnown: Boolean) :
    Word(word, isKnown) {
    companion object {
        /** Floats of 32 bits. */
        @JvmField
        val f32: KVCacheDType = KVCacheDType("f32", true)

        /** Floats of 16 bits. */
        @JvmField
        val f16: KVCacheDType = KVCacheDType("f16", true)

        /** Floats of 16 bits with the range of 32 bits. */
        @JvmField
        val bf16: KVCacheDType = KVCacheDType("bf16", true)

        /** Integers of 8 bits, and a scale for each key and each value of a head. */
        @JvmField
        val q8: KVCacheDType = KVCacheDType("q8", true)

        private val knownWords = listOf(f32, f16, bf16, q8).associateBy { it.word }

        /** The word on the wire as a value, known or not. */
        @JvmStatic
        fun of(word: String): KVCacheDType = knownWords[word] ?: unknown(word)

        /** A word that this version does not know. */
        @JvmStatic
        fun unknown(word: String): KVCacheDType = KVCacheDType(word, false)
    }
}

internal object KVCacheDTypeSerializer :
    WordSerializer<KVCacheDType>("KVCacheDType", KVCacheDType::of)

/** How prompts are taken in beside running answers. */
@Serializable(with = PrefillModeSerializer::class)
class PrefillMode private constructor(word: String, isKnown: Boolean) :
    Word(word, isKnown) {
    companion object {
        /** A chunk of a prompt and the running answers share a step. */
        @JvmField
        val hybrid: PrefillMode = PrefillMode("hybrid", true)

        /** A step takes in chunks of prompts, or continues answers. */
        @JvmField
        val chunked: PrefillMode = PrefillMode("chunked", true)

        private val knownWords = listOf(hybrid, chunked).associateBy { it.word }

        /** The word on the wire as a value, known or not. */
        @JvmStatic
        fun of(word: String): PrefillMode = knownWords[word] ?: unknown(word)

        /** A word that this version does not know. */
        @JvmStatic
        fun unknown(word: String): PrefillMode = PrefillMode(word, false)
    }
}

internal object PrefillModeSerializer :
    WordSerializer<PrefillMode>("PrefillMode", PrefillMode::of)

/** Which hidden states of a text make its vector. */
@Serializable(with = EmbeddingPoolingSerializer::class)
class EmbeddingPooling private constructor(word: String, isKnown: Boolean) :
    Word(word, isKnown) {
    companion object {
        /** The mean of those of all its tokens. */
        @JvmField
        val mean: EmbeddingPooling = EmbeddingPooling("mean", true)

        /** That of its last token. */
        @JvmField
        val last: EmbeddingPooling = EmbeddingPooling("last", true)

        /** That of its first token, which many encoders call [CLS]. */
        @JvmField
        val cls: EmbeddingPooling = EmbeddingPooling("cls", true)

        private val knownWords = listOf(mean, last, cls).associateBy { it.word }

        /** The word on the wire as a value, known or not. */
        @JvmStatic
        fun of(word: String): EmbeddingPooling = knownWords[word] ?: unknown(word)

        /** A word that this version does not know. */
        @JvmStatic
        fun unknown(word: String): EmbeddingPooling = EmbeddingPooling(word, false)
    }
}

internal object EmbeddingPoolingSerializer :
    WordSerializer<EmbeddingPooling>("EmbeddingPooling", EmbeddingPooling::of)

/** Whether what was computed is kept for requests that begin alike. */
@Serializable(with = PrefixCacheModeSerializer::class)
class PrefixCacheMode private constructor(word: String, isKnown: Boolean) :
    Word(word, isKnown) {
    companion object {
        /** Kept in a radix tree of token ids. */
        @JvmField
        val radix: PrefixCacheMode = PrefixCacheMode("radix", true)

        /** Not kept. */
        @JvmField
        val disable: PrefixCacheMode = PrefixCacheMode("disable", true)

        private val knownWords = listOf(radix, disable).associateBy { it.word }

        /** The word on the wire as a value, known or not. */
        @JvmStatic
        fun of(word: String): PrefixCacheMode = knownWords[word] ?: unknown(word)

        /** A word that this version does not know. */
        @JvmStatic
        fun unknown(word: String): PrefixCacheMode = PrefixCacheMode(word, false)
    }
}

internal object PrefixCacheModeSerializer :
    WordSerializer<PrefixCacheMode>("PrefixCacheMode", PrefixCacheMode::of)

/** How tokens are drafted ahead of the model. */
@Serializable(with = SpeculativeModeSerializer::class)
class SpeculativeMode private constructor(word: String, isKnown: Boolean) :
    Word(word, isKnown) {
    companion object {
        /** Not at all. */
        @JvmField
        val disable: SpeculativeMode = SpeculativeMode("disable", true)

        /** By a smaller model, the one in `additional_models`. */
        @JvmField
        val small_draft: SpeculativeMode = SpeculativeMode("small_draft", true)

        /** By what followed the last tokens when they came before. */
        @JvmField
        val prompt_lookup: SpeculativeMode = SpeculativeMode("prompt_lookup", true)

        /**
         * By the layer for further tokens in the model's own checkpoint, or by Gemma 4's
         * assistant.
         */
        @JvmField
        val mtp: SpeculativeMode = SpeculativeMode("mtp", true)

        /** By an EAGLE head on the model's hidden states. */
        @JvmField
        val eagle: SpeculativeMode = SpeculativeMode("eagle", true)

        /** By Medusa heads on the model's hidden states. */
        @JvmField
        val medusa: SpeculativeMode = SpeculativeMode("medusa", true)

        private val knownWords = listOf(disable, small_draft, prompt_lookup, mtp, eagle, medusa).associateBy { it.word }

        /** The word on the wire as a value, known or not. */
        @JvmStatic
        fun of(word: String): SpeculativeMode = knownWords[word] ?: unknown(word)

        /** A word that this version does not know. */
        @JvmStatic
        fun unknown(word: String): SpeculativeMode = SpeculativeMode(word, false)
    }
}

internal object SpeculativeModeSerializer :
    WordSerializer<SpeculativeMode>("SpeculativeMode", SpeculativeMode::of)

/** How an engine runs a model; what is absent follows from the mode, model and memory. */
@Serializable
data class EngineConfig(
    /** What the engine is for. Absent: `local`. */
    val mode: EngineMode? = null,
    /**
     * How many sequences are generated at the same time. Absent: by the mode. Range: at
     * least 1.
     */
    val max_num_sequence: Long? = null,
    /**
     * The capacity of the KV cache, all sequences together. Absent: by the mode. Range: at
     * least 1. Unit: tokens.
     */
    val max_total_seq_length: Long? = null,
    /**
     * The capacity of the KV cache, said in memory. Absent: by the mode. Range: at least
     * 1. Unit: bytes.
     */
    val kv_cache_bytes: Long? = null,
    /**
     * The precision of cached keys and values. It is compiled into the model library, so a
     * library that is given must have the same. Absent: the library's own.
     */
    val kv_cache_dtype: KVCacheDType? = null,
    /**
     * The most that weights, KV cache and temporaries may take. Absent: what is free.
     * Range: at least 1. Unit: bytes.
     */
    val memory_limit_bytes: Long? = null,
    /**
     * The share of the device's memory that may be used. Absent: 0.85. Range: above 0 and
     * at most 1.
     */
    val gpu_memory_utilization: Double? = null,
    /** The longest sequence. Absent: the model's own. Range: at least 1. Unit: tokens. */
    val context_window_size: Long? = null,
    /**
     * How far back attention reaches; -1 is all the way. Absent: the model's own. Range:
     * at least -1. Unit: tokens.
     */
    val sliding_window_size: Long? = null,
    /**
     * How many first tokens stay in reach of a sliding window. Absent: the model's own.
     * Range: at least 0. Unit: tokens.
     */
    val attention_sink_size: Long? = null,
    /**
     * The most tokens of prompts that one step takes in; it takes fewer where that many
     * would last long. Absent: the model's own, and at most 512 on a CPU for a model
     * without pictures. Range: at least 1. Unit: tokens.
     */
    val prefill_chunk_size: Long? = null,
    /** How prompts are taken in beside running answers. Absent: `hybrid`. */
    val prefill_mode: PrefillMode? = null,
    /**
     * How many requests may wait for their turn; more are refused with the error
     * `queue_full`. Absent: 1024. Range: at least 1 and at most 1000000.
     */
    val max_queued_requests: Long? = null,
    /**
     * Whether the engine records what it does for the route `trace`, in Chrome's trace
     * format. Absent: false.
     */
    val enable_tracing: Boolean? = null,
    /**
     * Which hidden states make the vectors of the route `embeddings`. Absent: what the
     * model's mlc-chat-config.json says under the same name, else `mean`.
     */
    val embedding_pooling: EmbeddingPooling? = null,
    /**
     * Whether the last chunk of a chat's answer has an empty `delta`, as OpenAI's own has.
     * Absent: false; its `content` is then an empty text, as MLC-LLM's is.
     */
    val openai_last_chunk: Boolean? = null,
    /**
     * Whether a request with a member that no field has is refused, with its path; for
     * programs that write their JSON by hand, as in C. Absent: false; such members are
     * ignored.
     */
    val refuse_unknown_fields: Boolean? = null,
    /**
     * How many states a recurrent model keeps to roll back to. Absent: 1. Range: at least
     * 1.
     */
    val max_history_size: Long? = null,
    /** Whether what was computed is kept for requests that begin alike. Absent: `radix`. */
    val prefix_cache_mode: PrefixCacheMode? = null,
    /**
     * How many finished sequences are kept; -1 is as many as the pages hold. Absent: -1.
     * Range: at least -1.
     */
    val prefix_cache_max_num_recycling_seqs: Long? = null,
    /**
     * A folder in which the prefix cache is kept in files too, so that it is there after a
     * restart; processes may share it. Its files tell what the prompts were. Without
     * effect for encoders and with `prefix_cache_mode` `disable`; refused in browsers.
     * Absent: none.
     */
    val prefix_cache_dir: String? = null,
    /**
     * Of a GPU's engine, the most of the host's memory that keeps what the prefix cache on
     * the device has to drop, and gives it back when a prompt begins alike; 0 is none.
     * Refused on CPUs, whose KV cache is in that memory, and in browsers. Absent: twice
     * the KV cache and at most a quarter of what the host has free, on devices with a
     * memory of their own; else 0. Range: at least 0. Unit: bytes.
     */
    val prefix_cache_ram_bytes: Long? = null,
    /**
     * The most that these files may take; the ones that were not used for the longest time
     * go first. Absent: 8 GiB. Range: at least 1. Unit: bytes.
     */
    val prefix_cache_dir_bytes: Long? = null,
    /**
     * After how many days without use a file is removed. Absent: 30. Range: at least 1 and
     * at most 36500. Unit: days.
     */
    val prefix_cache_dir_days: Long? = null,
    /**
     * How tokens are drafted ahead; the answers are the same with and without. Each mode
     * but `disable` also looks up what followed the last tokens earlier, and drafts what
     * is better. Absent: on CPUs, by the model's own MTP layer, Eagle layer, Medusa heads
     * or Gemma 4's assistant, if it has one, texts keep most of their memory, and `mode`
     * is not `server`; else `disable`.
     */
    val speculative_mode: SpeculativeMode? = null,
    /**
     * The draft model of `small_draft`, which must have the same vocabulary: `MODEL` or
     * `MODEL,LIBRARY`.
     */
    val additional_models: List<String>? = null,
    /**
     * The GGUF file with the tower of a GGUF model, as llama.cpp's `--mmproj`; `none` is
     * the text alone. For the Python package, which converts such models; refused
     * elsewhere. Absent: the one beside the model.
     */
    val mmproj: String? = null,
    /**
     * How many tokens are drafted a step; 0 adapts to how many are accepted. It needs a
     * `speculative_mode`, or a part that drafts without one. Absent: 0. Range: at least 0.
     * Unit: tokens.
     */
    val spec_draft_length: Long? = null,
    /**
     * Whether text that a grammar forces is computed ahead. The answers are the same with
     * and without. Absent: true.
     */
    val jump_forward: Boolean? = null,
    /**
     * Over 1, drafts form a tree that is verified in one step: at most so many at each
     * depth, `spec_draft_length` deep, 63 in all. The answers are the same. Over 1 it
     * needs a `speculative_mode`, or a part that drafts without one. Absent: 1. Range: at
     * least 1 and at most 16.
     */
    val spec_tree_width: Long? = null,
    /**
     * Among how many shards each layer is divided: groups of CPU threads, or GPUs. Absent:
     * the model's own. Range: at least 1.
     */
    val tensor_parallel_shards: Long? = null,
    /**
     * Over how many groups of devices the layers are spread. Absent: the model's own.
     * Range: at least 1.
     */
    val pipeline_parallel_stages: Long? = null,
    /**
     * Room for the adapters that requests choose, in ranks: four adapters of rank 16 take
     * 64. A library that is given must be compiled with `--lora`. Absent: 0, which is no
     * room. Range: at least 0 and at most 65536.
     */
    val lora_ranks: Long? = null,
    /**
     * The most memory that this room may take; an engine whose `lora_ranks` take more is
     * refused, and the error says how many fit. Absent: what the ranks take. Range: at
     * least 1. Unit: bytes.
     */
    val lora_bytes: Long? = null,
    /**
     * How many adapters may be loaded at the same time. Absent: as many as the ranks hold.
     * Range: at least 1 and at most 65536.
     */
    val max_loras: Long? = null,
    /**
     * Worker threads on the CPU. Absent: the physical cores that are free. Range: at least
     * 1 and at most 1024.
     */
    val num_threads: Long? = null,
)

/** The model's answer. */
@Serializable
@JsonIgnoreUnknownKeys
data class ChatCompletionResponseMessage @JvmOverloads constructor(
    /** The answer's text; null when it consists of tool calls. */
    @EncodeDefault
    val content: String? = null,
    /** Why the model refused to answer. */
    @EncodeDefault
    val refusal: String? = null,
    /** What the model thought before it answered. */
    val reasoning_content: String? = null,
    /** The tools that the model calls. */
    val tool_calls: List<ChatCompletionMessageToolCall>? = null,
    /** Always the assistant. */
    @EncodeDefault
    val role: String = "assistant",
)

/** One of the likeliest tokens at a position. */
@Serializable
@JsonIgnoreUnknownKeys
data class TopLogprob @JvmOverloads constructor(
    /** The token's text. */
    val token: String,
    /** Its log probability; -9999 when it is too small to tell. */
    val logprob: Double,
    /** The UTF-8 bytes of the token, which may be a part of a character. */
    @EncodeDefault
    val bytes: List<Long>? = null,
)

/** A token of the answer and the likeliest ones in its place. */
@Serializable
@JsonIgnoreUnknownKeys
data class ChatCompletionTokenLogprob @JvmOverloads constructor(
    /** The token's text. */
    val token: String,
    /** Its log probability; -9999 when it is too small to tell. */
    val logprob: Double,
    /** The UTF-8 bytes of the token, which may be a part of a character. */
    @EncodeDefault
    val bytes: List<Long>? = null,
    /** The likeliest tokens here, likeliest first. */
    val top_logprobs: List<TopLogprob>,
)

/** The log probabilities of an answer. */
@Serializable
@JsonIgnoreUnknownKeys
data class ChoiceLogprobs @JvmOverloads constructor(
    /** One entry for each token of the content. */
    @EncodeDefault
    val content: List<ChatCompletionTokenLogprob>? = null,
    /** One entry for each token of a refusal. */
    @EncodeDefault
    val refusal: List<ChatCompletionTokenLogprob>? = null,
)

/** Why an answer ended. */
@Serializable(with = FinishReasonSerializer::class)
class FinishReason private constructor(word: String, isKnown: Boolean) :
    Word(word, isKnown) {
    companion object {
        /** The model ended it, or a stop text was reached. */
        @JvmField
        val stop: FinishReason = FinishReason("stop", true)

        /** `max_tokens`, its default or the context's end was reached. */
        @JvmField
        val length: FinishReason = FinishReason("length", true)

        /** The model called tools and waits for their answers. */
        @JvmField
        val tool_calls: FinishReason = FinishReason("tool_calls", true)

        /** A filter held back the rest. */
        @JvmField
        val content_filter: FinishReason = FinishReason("content_filter", true)

        /** The engine failed; the error follows. */
        @JvmField
        val error: FinishReason = FinishReason("error", true)

        private val knownWords = listOf(stop, length, tool_calls, content_filter, error).associateBy { it.word }

        /** The word on the wire as a value, known or not. */
        @JvmStatic
        fun of(word: String): FinishReason = knownWords[word] ?: unknown(word)

        /** A word that this version does not know. */
        @JvmStatic
        fun unknown(word: String): FinishReason = FinishReason(word, false)
    }
}

internal object FinishReasonSerializer :
    WordSerializer<FinishReason>("FinishReason", FinishReason::of)

/** One of the answers. */
@Serializable
@JsonIgnoreUnknownKeys
data class ChatCompletionChoice @JvmOverloads constructor(
    /** Which of the `n` answers this is, from 0. Range: at least 0. */
    val index: Long,
    /** The answer. */
    val message: ChatCompletionResponseMessage,
    /** The log probabilities, when they were asked for. */
    @EncodeDefault
    val logprobs: ChoiceLogprobs? = null,
    /** Why the answer ended. */
    val finish_reason: String,
    /** The stop text that ended the answer, as vLLM gives it; absent if none did. */
    val stop_reason: String? = null,
) {
    /** `finish_reason` as a value that tells known words from unknown ones. */
    val finishReasonEnum: FinishReason get() = FinishReason.of(finish_reason)
}

/** What the prompt's tokens were. */
@Serializable
@JsonIgnoreUnknownKeys
data class PromptTokensDetails @JvmOverloads constructor(
    /** How many were found in the prefix cache. Range: at least 0. Unit: tokens. */
    val cached_tokens: Long? = null,
)

/** What the answer's tokens were. */
@Serializable
@JsonIgnoreUnknownKeys
data class CompletionTokensDetails @JvmOverloads constructor(
    /** How many the model spent thinking. Range: at least 0. Unit: tokens. */
    val reasoning_tokens: Long? = null,
    /**
     * How many came from the request's `prediction`. Absent without one. Range: at least
     * 0. Unit: tokens.
     */
    val accepted_prediction_tokens: Long? = null,
    /**
     * How many of the `prediction` were tried and differ from the answer. Absent without
     * one. Range: at least 0. Unit: tokens.
     */
    val rejected_prediction_tokens: Long? = null,
)

/** Measurements of a request, under MLC-LLM's names. */
@Serializable
@JsonIgnoreUnknownKeys
data class CompletionUsageExtra(
    /** The length of the prompt. Range: at least 0. Unit: tokens. */
    val prompt_tokens: Long? = null,
    /** The length of the answers. Range: at least 0. Unit: tokens. */
    val completion_tokens: Long? = null,
    /**
     * How much of the prompt the model read; the rest was cached. Range: at least 0. Unit:
     * tokens.
     */
    val prefill_tokens: Long? = null,
    /** The tokens that were generated one by one. Range: at least 0. Unit: tokens. */
    val decode_tokens: Long? = null,
    /**
     * The tokens that a grammar forced, without the model. Range: at least 0. Unit:
     * tokens.
     */
    val jump_forward_tokens: Long? = null,
    /** How fast the prompt was read. Range: at least 0. Unit: tokens per second. */
    val prefill_tokens_per_s: Double? = null,
    /** How fast the answer was generated. Range: at least 0. Unit: tokens per second. */
    val decode_tokens_per_s: Double? = null,
    /** From the request to its first token. Range: at least 0. Unit: seconds. */
    val ttft_s: Double? = null,
    /** The mean time from token to token. Range: at least 0. Unit: seconds. */
    val inter_token_latency_s: Double? = null,
    /** From the request to its last token. Range: at least 0. Unit: seconds. */
    val end_to_end_latency_s: Double? = null,
    /**
     * The tokens that were guessed ahead, by any kind of draft. Absent if there was none.
     * Range: at least 0. Unit: tokens.
     */
    val drafted_tokens: Long? = null,
    /** Of them those that are in the answer. Range: at least 0. Unit: tokens. */
    val accepted_draft_tokens: Long? = null,
    /**
     * How many times as fast the answer was generated as it would have been without
     * drafts, by the measured times of steps. Range: at least 0.
     */
    val draft_gain: Double? = null,
)

/** What a request cost. */
@Serializable
@JsonIgnoreUnknownKeys
data class CompletionUsage @JvmOverloads constructor(
    /** The length of the prompt. Range: at least 0. Unit: tokens. */
    val prompt_tokens: Long,
    /** The length of all the answers together. Range: at least 0. Unit: tokens. */
    val completion_tokens: Long,
    /** The sum of the two. Range: at least 0. Unit: tokens. */
    val total_tokens: Long,
    /** What the prompt's tokens were. */
    val prompt_tokens_details: PromptTokensDetails? = null,
    /** What the answer's tokens were. */
    val completion_tokens_details: CompletionTokensDetails? = null,
    /** Measurements of this request, when they were asked for. */
    val extra: CompletionUsageExtra? = null,
)

/** Where the time of a request went so far, under llama.cpp's names. */
@Serializable
@JsonIgnoreUnknownKeys
data class Timings @JvmOverloads constructor(
    /** How much of the prompt was cached. Range: at least 0. Unit: tokens. */
    val cache_n: Long,
    /** How much of the prompt the model read. Range: at least 0. Unit: tokens. */
    val prompt_n: Long,
    /** How long that took. Range: at least 0. Unit: milliseconds. */
    val prompt_ms: Double,
    /** The same for each token. Range: at least 0. Unit: milliseconds. */
    val prompt_per_token_ms: Double,
    /** How fast the prompt was read. Range: at least 0. Unit: tokens per second. */
    val prompt_per_second: Double,
    /** The tokens that were generated. Range: at least 0. Unit: tokens. */
    val predicted_n: Long,
    /** From the first of them to the last. Range: at least 0. Unit: milliseconds. */
    val predicted_ms: Double,
    /** The mean time from token to token. Range: at least 0. Unit: milliseconds. */
    val predicted_per_token_ms: Double,
    /** How fast they were generated. Range: at least 0. Unit: tokens per second. */
    val predicted_per_second: Double,
    /** The tokens that were guessed ahead, if any. Range: at least 0. Unit: tokens. */
    val draft_n: Long? = null,
    /** Of them those that are in the answer. Range: at least 0. Unit: tokens. */
    val draft_n_accepted: Long? = null,
)

/** What a schema says and the answer was not held to. */
@Serializable
@JsonIgnoreUnknownKeys
data class SchemaWarning(
    /** The field of the request that holds the schema. */
    val param: String,
    /** The JSON pointer of the keyword in the schema. */
    val path: String,
    /** Why it is left out. */
    val message: String,
)

/** The answers to a request. */
@Serializable
@JsonIgnoreUnknownKeys
data class ChatCompletion @JvmOverloads constructor(
    /** The request's id. */
    val id: String,
    /** When it was made. Range: at least 0. Unit: seconds since 1970, UTC. */
    val created: Long,
    /** The model that answered. */
    val model: String,
    /** The `n` answers. */
    val choices: List<ChatCompletionChoice>,
    /** What the request cost. */
    val usage: CompletionUsage? = null,
    /** Where the time went so far, when `timings_per_token` asks for it. */
    val timings: Timings? = null,
    /** What schemas of the request say and the answer was not held to. */
    val warnings: List<SchemaWarning>? = null,
    /** Names the configuration that answered; equal ones answer a seed equally. */
    val system_fingerprint: String? = null,
    /** The kind of object. */
    @EncodeDefault
    val `object`: String = "chat.completion",
)

/** The kind of a tool. */
@Serializable(with = ToolTypeSerializer::class)
class ToolType private constructor(word: String, isKnown: Boolean) :
    Word(word, isKnown) {
    companion object {
        /** A function. */
        @JvmField
        val function: ToolType = ToolType("function", true)

        private val knownWords = listOf(function).associateBy { it.word }

        /** The word on the wire as a value, known or not. */
        @JvmStatic
        fun of(word: String): ToolType = knownWords[word] ?: unknown(word)

        /** A word that this version does not know. */
        @JvmStatic
        fun unknown(word: String): ToolType = ToolType(word, false)
    }
}

internal object ToolTypeSerializer :
    WordSerializer<ToolType>("ToolType", ToolType::of)

/** A piece of a function call. */
@Serializable
@JsonIgnoreUnknownKeys
data class ChoiceDeltaFunctionCall @JvmOverloads constructor(
    /** The function's name, in the call's first piece. */
    val name: String? = null,
    /** The next piece of the arguments' JSON text. */
    val arguments: String? = null,
)

/** A piece of a tool call. */
@Serializable
@JsonIgnoreUnknownKeys
data class ChoiceDeltaToolCall @JvmOverloads constructor(
    /** Which of the message's calls this piece belongs to. Range: at least 0. */
    val index: Long,
    /** The call's id, in its first piece. */
    val id: String? = null,
    /** The kind of tool, in the call's first piece. */
    val type: String? = null,
    /** The function's piece. */
    val function: ChoiceDeltaFunctionCall? = null,
) {
    /** `type` as a value that tells known words from unknown ones. */
    val typeEnum: ToolType? get() = type?.let(ToolType::of)
}

/** What a chunk adds to an answer. */
@Serializable
@JsonIgnoreUnknownKeys
data class ChatCompletionChunkDelta @JvmOverloads constructor(
    /** Who speaks, in an answer's first chunk. */
    val role: ChatCompletionRole? = null,
    /**
     * The next piece of the text; whole characters only. Never absent in an answer's last
     * chunk, where it may be empty, unless the engine's `openai_last_chunk` is set.
     */
    val content: String? = null,
    /** The next piece of what the model thinks. */
    val reasoning_content: String? = null,
    /** The next piece of a refusal. */
    val refusal: String? = null,
    /** The next pieces of tool calls. */
    val tool_calls: List<ChoiceDeltaToolCall>? = null,
)

/** A piece of one of the answers. */
@Serializable
@JsonIgnoreUnknownKeys
data class ChatCompletionChunkChoice @JvmOverloads constructor(
    /** Which of the `n` answers this belongs to, from 0. Range: at least 0. */
    val index: Long,
    /** What is added. */
    val delta: ChatCompletionChunkDelta,
    /** The log probabilities of the tokens that are added. */
    @EncodeDefault
    val logprobs: ChoiceLogprobs? = null,
    /** Why the answer ended; null until its last chunk. */
    @EncodeDefault
    val finish_reason: String? = null,
    /** The stop text that ended the answer, as vLLM gives it; absent if none did. */
    val stop_reason: String? = null,
) {
    /** `finish_reason` as a value that tells known words from unknown ones. */
    val finishReasonEnum: FinishReason? get() = finish_reason?.let(FinishReason::of)
}

/** How much of a prompt was read so far, under llama.cpp's names. */
@Serializable
@JsonIgnoreUnknownKeys
data class PromptProgress(
    /** The length of the prompt. Range: at least 0. Unit: tokens. */
    val total: Long,
    /** How much of it was cached. Range: at least 0. Unit: tokens. */
    val cache: Long,
    /** How much of it is done, with what was cached. Range: at least 0. Unit: tokens. */
    val processed: Long,
    /** How long it took so far. Range: at least 0. Unit: milliseconds. */
    val time_ms: Double,
)

/** A piece of the answers to a request. */
@Serializable
@JsonIgnoreUnknownKeys
data class ChatCompletionChunk @JvmOverloads constructor(
    /** The request's id, the same in all its chunks. */
    val id: String,
    /**
     * When the request began; the same in all chunks. Range: at least 0. Unit: seconds
     * since 1970, UTC.
     */
    val created: Long,
    /** The model that answers. */
    val model: String,
    /** Pieces of the answers; empty in the chunk that carries the usage. */
    val choices: List<ChatCompletionChunkChoice>,
    /** What the request cost, in the last chunk, when `include_usage` asks for it. */
    val usage: CompletionUsage? = null,
    /** Where the time went so far, when `timings_per_token` asks for it. */
    val timings: Timings? = null,
    /**
     * How much of the prompt was read, in the chunks before the answer, when
     * `return_progress` asks for it.
     */
    val prompt_progress: PromptProgress? = null,
    /** What schemas of the request say and the answer is not held to; in the first chunk. */
    val warnings: List<SchemaWarning>? = null,
    /** Names the configuration that answers; equal ones answer a seed equally. */
    val system_fingerprint: String? = null,
    /** The kind of object. */
    @EncodeDefault
    val `object`: String = "chat.completion.chunk",
)

/** The log probabilities of an answer; the lists run side by side. */
@Serializable
@JsonIgnoreUnknownKeys
data class CompletionLogprobs @JvmOverloads constructor(
    /** The tokens' texts. */
    val tokens: List<String>? = null,
    /** Their log probabilities. */
    val token_logprobs: List<Double>? = null,
    /** At each position from text to log probability, for the likeliest tokens. */
    val top_logprobs: List<Map<String, Double>>? = null,
    /** Where each token begins in the text. Unit: code points. */
    val text_offset: List<Long>? = null,
)

/** One of the answers, or a piece of it. */
@Serializable
@JsonIgnoreUnknownKeys
data class CompletionChoice @JvmOverloads constructor(
    /** Which of the answers this is, from 0. Range: at least 0. */
    val index: Long,
    /** The text, or its next piece. */
    val text: String,
    /** The log probabilities, when they were asked for. */
    @EncodeDefault
    val logprobs: CompletionLogprobs? = null,
    /** Why the answer ended; null until its last chunk. */
    @EncodeDefault
    val finish_reason: String? = null,
    /** The stop text that ended the answer, as vLLM gives it; absent if none did. */
    val stop_reason: String? = null,
) {
    /** `finish_reason` as a value that tells known words from unknown ones. */
    val finishReasonEnum: FinishReason? get() = finish_reason?.let(FinishReason::of)
}

/** The continuations of a prompt; a chunk of a stream has the same form. */
@Serializable
@JsonIgnoreUnknownKeys
data class Completion @JvmOverloads constructor(
    /** The request's id, the same in all its chunks. */
    val id: String,
    /** When it was made. Range: at least 0. Unit: seconds since 1970, UTC. */
    val created: Long,
    /** The model that answered. */
    val model: String,
    /** The answers; empty in the chunk that carries the usage. */
    val choices: List<CompletionChoice>,
    /** What the request cost; in a stream in the last chunk, when it is asked for. */
    val usage: CompletionUsage? = null,
    /** Where the time went so far, when `timings_per_token` asks for it. */
    val timings: Timings? = null,
    /**
     * How much of the prompt was read, in the chunks before the answer, when
     * `return_progress` asks for it.
     */
    val prompt_progress: PromptProgress? = null,
    /**
     * What the schema of the request says and the answer is not held to; in the first
     * chunk of a stream.
     */
    val warnings: List<SchemaWarning>? = null,
    /** Names the configuration that answered; equal ones answer a seed equally. */
    val system_fingerprint: String? = null,
    /** The kind of object. */
    @EncodeDefault
    val `object`: String = "text_completion",
)

/** A vector: its numbers, or their base64. */
@Serializable(with = EmbeddingVectorSerializer::class)
sealed interface EmbeddingVector

/** [EmbeddingVector] as a list. */
data class EmbeddingVectorNumbers(val value: List<Double>) : EmbeddingVector

/** [EmbeddingVector] as a text. */
data class EmbeddingVectorBase64(val value: String) : EmbeddingVector

/** A [EmbeddingVector] of a kind that this version does not know. */
data class EmbeddingVectorUnknown(val json: JsonElement) : EmbeddingVector

internal object EmbeddingVectorSerializer : UnionSerializer<EmbeddingVector>("EmbeddingVector") {
    override fun decode(json: Json, element: JsonElement): EmbeddingVector = when {
        element.isArray -> EmbeddingVectorNumbers(json.decodeFromJsonElement<List<Double>>(element))
        element.isText -> EmbeddingVectorBase64(json.decodeFromJsonElement<String>(element))
        else -> EmbeddingVectorUnknown(element)
    }

    override fun encode(json: Json, value: EmbeddingVector): JsonElement = when (value) {
        is EmbeddingVectorNumbers -> json.encodeToJsonElement<List<Double>>(value.value)
        is EmbeddingVectorBase64 -> json.encodeToJsonElement<String>(value.value)
        is EmbeddingVectorUnknown -> value.json
    }
}

/** The vector of one text. */
@Serializable
@JsonIgnoreUnknownKeys
data class Embedding @JvmOverloads constructor(
    /** Which of the texts this belongs to, from 0. Range: at least 0. */
    val index: Long,
    /** The vector. */
    val embedding: EmbeddingVector,
    /** The kind of object. */
    @EncodeDefault
    val `object`: String = "embedding",
) {
    @JvmOverloads constructor(
        index: Long,
        embedding: List<Double>,
        `object`: String = "embedding",
    ) : this(
        index,
        EmbeddingVectorNumbers(embedding),
        `object`,
    )

    @JvmOverloads constructor(
        index: Long,
        embedding: String,
        `object`: String = "embedding",
    ) : this(
        index,
        EmbeddingVectorBase64(embedding),
        `object`,
    )
}

/** What a request for embeddings cost. */
@Serializable
@JsonIgnoreUnknownKeys
data class EmbeddingUsage(
    /** The length of all texts together. Range: at least 0. Unit: tokens. */
    val prompt_tokens: Long,
    /** The same. Range: at least 0. Unit: tokens. */
    val total_tokens: Long,
)

/** The vectors of the texts, in their order. */
@Serializable
@JsonIgnoreUnknownKeys
data class EmbeddingResponse @JvmOverloads constructor(
    /** The vectors. */
    val data: List<Embedding>,
    /** The model that made them. */
    val model: String,
    /** What the request cost. */
    val usage: EmbeddingUsage,
    /** The kind of object. */
    @EncodeDefault
    val `object`: String = "list",
)

/** How well one document answers the query. */
@Serializable
@JsonIgnoreUnknownKeys
data class RerankResult @JvmOverloads constructor(
    /** Which of the documents it is, from 0. Range: at least 0. */
    val index: Long,
    /** The score; a larger one is better. */
    val relevance_score: Double,
    /** The document. Absent: it was not asked for by `return_documents`. */
    val document: RerankDocument? = null,
)

/** The documents in the order of their scores, the best first. */
@Serializable
@JsonIgnoreUnknownKeys
data class RerankResponse @JvmOverloads constructor(
    /** The answer's id. */
    val id: String,
    /** The model that judged. */
    val model: String,
    /** The results, the best first. */
    val results: List<RerankResult>,
    /** What the request cost. */
    val usage: EmbeddingUsage,
    /** The kind of object. */
    @EncodeDefault
    val `object`: String = "list",
)

/** The tokens of a text. */
@Serializable
@JsonIgnoreUnknownKeys
data class TokenizeResponse(
    /** The token ids. Range: at least 0. */
    val tokens: List<Long>,
    /** How many there are. Range: at least 0. Unit: tokens. */
    val count: Long,
)

/** The text of tokens. */
@Serializable
@JsonIgnoreUnknownKeys
data class DetokenizeResponse(
    /** The text; bytes that are no UTF-8 are replaced by U+FFFD. */
    val text: String,
)

/** The length of a conversation as the model would read it. */
@Serializable
@JsonIgnoreUnknownKeys
data class InputTokensResponse(
    /** The length of the prompt. Range: at least 0. Unit: tokens. */
    val input_tokens: Long,
)

/** A conversation as the model's chat template writes it. */
@Serializable
@JsonIgnoreUnknownKeys
data class RenderResponse(
    /** The text that the model continues. */
    val prompt: String,
)

/** What was saved. */
@Serializable
@JsonIgnoreUnknownKeys
data class KVSaveResponse(
    /** How many tokens the state is of. Range: at least 0. Unit: tokens. */
    val tokens: Long,
    /** The file's size. Range: at least 0. Unit: bytes. */
    val bytes: Long,
)

/** What was loaded. */
@Serializable
@JsonIgnoreUnknownKeys
data class KVLoadResponse(
    /**
     * How many tokens a request that begins like the saved one finds. Range: at least 0.
     * Unit: tokens.
     */
    val tokens: Long,
)

/** A prompt, and how much of it the prefix cache holds. */
@Serializable
@JsonIgnoreUnknownKeys
data class KVHeldPrompt(
    /** The prompt's token ids. Range: at least 0. */
    val tokens: List<Long>,
    /** How many of the first ones are held. Range: at least 0. Unit: tokens. */
    val held: Long,
)

/** The prompts of a request that a state of `kv.save` can stand for. */
@Serializable
@JsonIgnoreUnknownKeys
data class KVHeldResponse(
    /**
     * Those that consist of tokens alone, in their order: prompts with pictures are left
     * out, and so are requests that choose an adapter or want the prompt's `logprobs`.
     */
    val prompts: List<KVHeldPrompt>,
)

/** What was given back. */
@Serializable
@JsonIgnoreUnknownKeys
data class TrimResponse(
    /** KV pages whose memory went back to the system. Range: at least 0. */
    val pages: Long,
    /**
     * The memory of them; 0 on devices that keep their memory. Range: at least 0. Unit:
     * bytes.
     */
    val page_bytes: Long,
    /** Weights that the system may drop and read again. Range: at least 0. Unit: bytes. */
    val weight_bytes: Long,
)

/** What was made ready. */
@Serializable
@JsonIgnoreUnknownKeys
data class PrewarmResponse(
    /** Weights that were read into memory from their files. Range: at least 0. Unit: bytes. */
    val weight_bytes: Long,
)

/** The limits that hold now. */
@Serializable
@JsonIgnoreUnknownKeys
data class ThermalLimits(
    /** Threads that compute. Range: at least 1. */
    val num_threads: Long,
    /** Answers that are generated at the same time. Range: at least 1. */
    val max_num_sequence: Long,
    /** Tokens of one step. Range: at least 1. Unit: tokens. */
    val prefill_chunk_size: Long,
)

/** An adapter that requests may choose. */
@Serializable
@JsonIgnoreUnknownKeys
data class AdapterInfo(
    /** Its name. */
    val name: String,
    /** The rank of its matrices. Range: at least 1. */
    val rank: Long,
    /** What identifies its content. */
    val hash: String,
)

/** The adapters that requests may choose. */
@Serializable
@JsonIgnoreUnknownKeys
data class AdapterList(
    /** In the order of their names. */
    val adapters: List<AdapterInfo>,
    /** How many ranks have room, those of all adapters together. Range: at least 0. */
    val ranks: Long,
    /** How many of them are free; an adapter takes a multiple of 8. Range: at least 0. */
    val free_ranks: Long,
)

/** Whether a server has a model in memory. */
@Serializable(with = ModelStatusSerializer::class)
class ModelStatus private constructor(word: String, isKnown: Boolean) :
    Word(word, isKnown) {
    companion object {
        /** It is known, and a request loads it. */
        @JvmField
        val unloaded: ModelStatus = ModelStatus("unloaded", true)

        /** It is being loaded. */
        @JvmField
        val loading: ModelStatus = ModelStatus("loading", true)

        /** It answers at once. */
        @JvmField
        val loaded: ModelStatus = ModelStatus("loaded", true)

        /** It is loaded, and gave back what can be computed or read again. */
        @JvmField
        val sleeping: ModelStatus = ModelStatus("sleeping", true)

        /** It ends its last requests, and leaves. */
        @JvmField
        val leaving: ModelStatus = ModelStatus("leaving", true)

        /** Its last load failed; it is tried again after some time. */
        @JvmField
        val failed: ModelStatus = ModelStatus("failed", true)

        private val knownWords = listOf(unloaded, loading, loaded, sleeping, leaving, failed).associateBy { it.word }

        /** The word on the wire as a value, known or not. */
        @JvmStatic
        fun of(word: String): ModelStatus = knownWords[word] ?: unknown(word)

        /** A word that this version does not know. */
        @JvmStatic
        fun unknown(word: String): ModelStatus = ModelStatus(word, false)
    }
}

internal object ModelStatusSerializer :
    WordSerializer<ModelStatus>("ModelStatus", ModelStatus::of)

/** What a model reads. */
@Serializable(with = InputModalitySerializer::class)
class InputModality private constructor(word: String, isKnown: Boolean) :
    Word(word, isKnown) {
    companion object {
        /** Texts. */
        @JvmField
        val text: InputModality = InputModality("text", true)

        /** Pictures: parts `image_url` of messages. */
        @JvmField
        val image: InputModality = InputModality("image", true)

        private val knownWords = listOf(text, image).associateBy { it.word }

        /** The word on the wire as a value, known or not. */
        @JvmStatic
        fun of(word: String): InputModality = knownWords[word] ?: unknown(word)

        /** A word that this version does not know. */
        @JvmStatic
        fun unknown(word: String): InputModality = InputModality(word, false)
    }
}

internal object InputModalitySerializer :
    WordSerializer<InputModality>("InputModality", InputModality::of)

/** A model that can answer. */
@Serializable
@JsonIgnoreUnknownKeys
data class ModelObject @JvmOverloads constructor(
    /** The model's name, as requests give it in `model`. */
    val id: String,
    /** When it was made. Range: at least 0. Unit: seconds since 1970, UTC. */
    val created: Long,
    /** Who offers it. */
    val owned_by: String,
    /** Whether it is in memory. Absent: nobody says. */
    val status: String? = null,
    /** How far its load is. Range: at least 0 and at most 1. */
    val progress: Double? = null,
    /** What it reads. Absent: that is known once it is loaded. */
    val input_modalities: List<InputModality>? = null,
    /** Of an adapter: its model. Absent: it is a model. */
    val parent: String? = null,
    /** Of an adapter: where it was loaded from. Absent: nobody says. */
    val root: String? = null,
    /** The kind of object. */
    @EncodeDefault
    val `object`: String = "model",
) {
    /** `status` as a value that tells known words from unknown ones. */
    val statusEnum: ModelStatus? get() = status?.let(ModelStatus::of)
}

/** The models that can answer. */
@Serializable
@JsonIgnoreUnknownKeys
data class ModelList @JvmOverloads constructor(
    /** The models. */
    val data: List<ModelObject>,
    /** The kind of object. */
    @EncodeDefault
    val `object`: String = "list",
)

/** A kind of device, and whether this machine has it. */
@Serializable
@JsonIgnoreUnknownKeys
data class DeviceProbe @JvmOverloads constructor(
    /** The device, such as `cuda:0`. */
    val name: String,
    /** Whether it can be used. */
    val found: Boolean,
    /** Why it cannot be used; empty when it can. */
    val reason: String,
    /** What its driver calls it. Absent: nobody says. */
    val description: String? = null,
    /**
     * The size of its memory; of the CPU: what is free now. Range: at least 0. Unit:
     * bytes.
     */
    val memory_bytes: Long? = null,
    /** The largest tensor it can hold. Range: at least 0. Unit: bytes. */
    val max_buffer_bytes: Long? = null,
    /** Memory that a work-group shares. Range: at least 0. Unit: bytes. */
    val local_memory_bytes: Long? = null,
    /** Work-items of a work-group at most. Range: at least 0. */
    val max_group_size: Long? = null,
    /** Whether it computes with 16-bit floats. */
    val f16: Boolean? = null,
    /** Whether it is the CPU, driven as another device; `auto` passes over it. */
    val is_processor: Boolean? = null,
)

/** Measurements of one request; `usage.extra` has the same. */
@Serializable
@JsonIgnoreUnknownKeys
data class RequestMetrics(
    /** The length of the prompt. Range: at least 0. Unit: tokens. */
    val prompt_tokens: Long? = null,
    /** The length of the answers. Range: at least 0. Unit: tokens. */
    val completion_tokens: Long? = null,
    /**
     * How much of the prompt the model read; the rest was cached. Range: at least 0. Unit:
     * tokens.
     */
    val prefill_tokens: Long? = null,
    /** The tokens that were generated one by one. Range: at least 0. Unit: tokens. */
    val decode_tokens: Long? = null,
    /**
     * The tokens that a grammar forced, without the model. Range: at least 0. Unit:
     * tokens.
     */
    val jump_forward_tokens: Long? = null,
    /** How fast the prompt was read. Range: at least 0. Unit: tokens per second. */
    val prefill_tokens_per_s: Double? = null,
    /** How fast the answer was generated. Range: at least 0. Unit: tokens per second. */
    val decode_tokens_per_s: Double? = null,
    /** From the request to its first token. Range: at least 0. Unit: seconds. */
    val ttft_s: Double? = null,
    /** The mean time from token to token. Range: at least 0. Unit: seconds. */
    val inter_token_latency_s: Double? = null,
    /** From the request to its last token. Range: at least 0. Unit: seconds. */
    val end_to_end_latency_s: Double? = null,
    /**
     * The tokens that were guessed ahead, by any kind of draft. Absent if there was none.
     * Range: at least 0. Unit: tokens.
     */
    val drafted_tokens: Long? = null,
    /** Of them those that are in the answer. Range: at least 0. Unit: tokens. */
    val accepted_draft_tokens: Long? = null,
    /**
     * How many times as fast the answer was generated as it would have been without
     * drafts, by the measured times of steps. Range: at least 0.
     */
    val draft_gain: Double? = null,
)

/** How often a text that was known ahead saved a step. */
@Serializable
@JsonIgnoreUnknownKeys
data class KnownTextMetrics(
    /** Tokens of such text that were computed ahead. Range: at least 0. */
    val draft_count: Long,
    /** Of them those that the model chose: each saved a step. Range: at least 0. */
    val accept_count: Long,
)

/** How speculative decoding fares; each list has one number for each drafted position. */
@Serializable
@JsonIgnoreUnknownKeys
data class SpecDecodeMetrics @JvmOverloads constructor(
    /** How many tokens were drafted. Unit: tokens. */
    val draft_count: List<Long>? = null,
    /** How many were accepted. Unit: tokens. */
    val accept_count: List<Long>? = null,
    /** The share of drafts accepted at each position, by `step=i`. */
    val accept_prob: JsonObject? = null,
    /** The share of accepted among those whose predecessor was, by `step=i`. */
    val accept_rate: JsonObject? = null,
    /** The mean number of tokens accepted up to each position, by `step=i`. */
    val accept_len: JsonObject? = null,
)

/** Counters since the model was loaded or the engine was reset. */
@Serializable
@JsonIgnoreUnknownKeys
data class EngineMetrics(
    /** The model's time on prompts. Range: at least 0. Unit: seconds. */
    val engine_prefill_time_sum: Double? = null,
    /** The model's time on answers. Range: at least 0. Unit: seconds. */
    val engine_decode_time_sum: Double? = null,
    /** The time spent on text that grammars forced. Range: at least 0. Unit: seconds. */
    val engine_jump_forward_time_sum: Double? = null,
    /** The length of all prompts. Range: at least 0. Unit: tokens. */
    val prompt_tokens_sum: Long? = null,
    /** How much of the prompts the model read. Range: at least 0. Unit: tokens. */
    val prefill_tokens_sum: Long? = null,
    /** The tokens that were generated one by one. Range: at least 0. Unit: tokens. */
    val decode_tokens_sum: Long? = null,
    /** The tokens that grammars forced. Range: at least 0. Unit: tokens. */
    val jump_forward_tokens_sum: Long? = null,
    /** The length of all answers. Range: at least 0. Unit: tokens. */
    val completion_tokens_sum: Long? = null,
    /** How fast prompts are read. Range: at least 0. Unit: tokens per second. */
    val prefill_tokens_per_s: Double? = null,
    /** How fast answers are generated. Range: at least 0. Unit: tokens per second. */
    val decode_tokens_per_s: Double? = null,
    /** The pages of the KV cache. Range: at least 0. Unit: pages. */
    val kv_pages_total: Long? = null,
    /** The pages that no sequence holds now. Range: at least 0. Unit: pages. */
    val kv_pages_free: Long? = null,
    /** The sequences that are generated at the moment. Range: at least 0. */
    val num_running_sequences: Long? = null,
    /** The sequences that wait for their turn or for pages. Range: at least 0. */
    val num_waiting_sequences: Long? = null,
    /** The requests that no step has taken in yet. Range: at least 0. */
    val num_queued_requests: Long? = null,
    /** How often the model ran. Range: at least 0. */
    val num_steps: Long? = null,
    /** How often a sequence had to give back its pages and begin again. Range: at least 0. */
    val num_preemptions: Long? = null,
    /**
     * What the prefix cache got from the host's memory (`prefix_cache_ram_bytes`) and from
     * files of `prefix_cache_dir`. Range: at least 0. Unit: tokens.
     */
    val restored_tokens_sum: Long? = null,
    /** The files that were written to `prefix_cache_dir`. Range: at least 0. Unit: files. */
    val written_blocks_sum: Long? = null,
    /**
     * The host's memory that keeps what the prefix cache on the device may have to drop.
     * Range: at least 0. Unit: bytes.
     */
    val prefix_cache_ram_bytes: Long? = null,
    /**
     * What came back from the device: tokens, or rows of logits. Range: at least 0. Unit:
     * bytes.
     */
    val device_read_bytes_sum: Long? = null,
    /** Pictures of which the vision tower made rows. Range: at least 0. Unit: pictures. */
    val encoded_pictures_sum: Long? = null,
    /** The time of the vision tower. Range: at least 0. Unit: seconds. */
    val engine_encode_time_sum: Double? = null,
    /**
     * Pictures whose rows were kept from an earlier request. Range: at least 0. Unit:
     * pictures.
     */
    val picture_cache_hits_sum: Long? = null,
    /** The rows of pictures that are kept. Range: at least 0. Unit: bytes. */
    val picture_cache_bytes: Long? = null,
    /** Requests that ended well. Range: at least 0. */
    val num_finished_requests: Long? = null,
    /** Requests that ended with an error or were cancelled. Range: at least 0. */
    val num_failed_requests: Long? = null,
    /** Measurements of the request that ended last. */
    val last_finished_request: RequestMetrics? = null,
    /** How often text that a grammar forces saved a step. */
    val jump_forward: KnownTextMetrics? = null,
    /** How often a request's `prediction` saved a step. */
    val prediction: KnownTextMetrics? = null,
    /** How often text that came earlier saved a step. `spec_decode` contains it. */
    val prompt_lookup: KnownTextMetrics? = null,
    /**
     * The tokens that were guessed ahead, by any kind of draft. Range: at least 0. Unit:
     * tokens.
     */
    val drafted_tokens_sum: Long? = null,
    /** Of them those that are in the answers. Range: at least 0. Unit: tokens. */
    val accepted_draft_tokens_sum: Long? = null,
    /**
     * How many times as fast answers were generated as they would have been without
     * drafts, by the measured times of steps. Absent until steps with drafts and without
     * were measured. Range: at least 0.
     */
    val draft_gain: Double? = null,
    /** How speculative decoding fares. */
    val spec_decode: SpecDecodeMetrics? = null,
    /** The time of a decode step by the number of sequences in it. Unit: seconds. */
    val decode_time_by_batch_size: JsonObject? = null,
    /** The time of a draft by the number of sequences in it. Unit: seconds. */
    val draft_time_by_batch_size: JsonObject? = null,
    /** The time of a verification by the number of sequences in it. Unit: seconds. */
    val verify_time_by_batch_size: JsonObject? = null,
)

/** What an engine would allocate for a model in a mode, and whether that fits. */
@Serializable
@JsonIgnoreUnknownKeys
data class Plan(
    /** The model's name. */
    val model: String,
    /** The model's family, such as `llama`. */
    val model_type: String,
    /** The scheme of its weights, such as `q4f32_1`. */
    val quantization: String,
    /** The device, such as `cpu:0`. */
    val device: String,
    /** The engine's mode. */
    val mode: String,
    /** How many sequences are generated at the same time. Range: at least 0. */
    val max_num_sequence: Long,
    /**
     * The capacity of the KV cache, all sequences together. Range: at least 0. Unit:
     * tokens.
     */
    val max_total_seq_length: Long,
    /** The longest sequence. Range: at least 0. Unit: tokens. */
    val context_window_size: Long,
    /** What would allow a longer sequence. Missing: nothing would, the model ends there. */
    val context_limit: String? = null,
    /** The most tokens of prompts that one step takes in. Range: at least 0. Unit: tokens. */
    val prefill_chunk_size: Long,
    /** Keys and values of one token. Range: at least 0. Unit: bytes. */
    val kv_bytes_per_token: Long,
    /** The precision of cached keys and values, such as `q8`. */
    val kv_cache_dtype: String,
    /** The weights, without `table_bytes`. Range: at least 0. Unit: bytes. */
    val parameter_bytes: Long,
    /**
     * Tables of which a token reads single rows, as embeddings. On a CPU they stay in the
     * model's files; no sum counts them, since the system keeps of them what fits. Range:
     * at least 0. Unit: bytes.
     */
    val table_bytes: Long,
    /** The KV cache. Range: at least 0. Unit: bytes. */
    val kv_cache_bytes: Long,
    /**
     * The room for adapters that requests choose, in ranks. Range: at least 0. Unit:
     * ranks.
     */
    val lora_ranks: Long,
    /** That room. Range: at least 0. Unit: bytes. */
    val adapter_bytes: Long,
    /** The largest step's temporaries. Range: at least 0. Unit: bytes. */
    val temporary_bytes: Long,
    /** All of it. Range: at least 0. Unit: bytes. */
    val total_bytes: Long,
    /**
     * The most of the host's memory that keeps what the prefix cache on the device has to
     * drop; no sum counts it. Range: at least 0. Unit: bytes.
     */
    val prefix_cache_ram_bytes: Long,
    /**
     * What the device has free now, and at most `memory_limit_bytes`. Range: at least 0.
     * Unit: bytes.
     */
    val available_bytes: Long,
    /** What the model reads. */
    val input_modalities: List<InputModality>,
    /** Whether the engine would load. */
    val fits: Boolean,
    /** Why it would not. */
    val reason: String? = null,
    /** The same for people, a line an item. */
    val summary: List<String>,
)

/** The class of an error. Their order is their number in the C header; append only. */
@Serializable(with = ErrorStatusSerializer::class)
class ErrorStatus private constructor(word: String, isKnown: Boolean) :
    Word(word, isKnown) {
    companion object {
        /** The caller's request or option is wrong. */
        @JvmField
        val invalid_argument: ErrorStatus = ErrorStatus("invalid_argument", true)

        /** A file, model or function that was named does not exist. */
        @JvmField
        val not_found: ErrorStatus = ErrorStatus("not_found", true)

        /** A file exists but does not hold what it must. */
        @JvmField
        val corrupt: ErrorStatus = ErrorStatus("corrupt", true)

        /** The request is understood, but not offered. */
        @JvmField
        val unsupported: ErrorStatus = ErrorStatus("unsupported", true)

        /** Memory, disk, pages or the queue are full. */
        @JvmField
        val resource_exhausted: ErrorStatus = ErrorStatus("resource_exhausted", true)

        /** The caller aborted it. */
        @JvmField
        val cancelled: ErrorStatus = ErrorStatus("cancelled", true)

        /** Not possible now, but perhaps later. */
        @JvmField
        val unavailable: ErrorStatus = ErrorStatus("unavailable", true)

        /** A time limit has passed. */
        @JvmField
        val deadline_exceeded: ErrorStatus = ErrorStatus("deadline_exceeded", true)

        /** A mistake of the engine or of this package. */
        @JvmField
        val internal: ErrorStatus = ErrorStatus("internal", true)

        private val knownWords = listOf(invalid_argument, not_found, corrupt, unsupported, resource_exhausted, cancelled, unavailable, deadline_exceeded, internal).associateBy { it.word }

        /** The word on the wire as a value, known or not. */
        @JvmStatic
        fun of(word: String): ErrorStatus = knownWords[word] ?: unknown(word)

        /** A word that this version does not know. */
        @JvmStatic
        fun unknown(word: String): ErrorStatus = ErrorStatus(word, false)
    }
}

internal object ErrorStatusSerializer :
    WordSerializer<ErrorStatus>("ErrorStatus", ErrorStatus::of)

/** What went wrong. */
@Serializable
@JsonIgnoreUnknownKeys
data class ErrorObject @JvmOverloads constructor(
    /** What went wrong and what to do about it. */
    val message: String,
    /** The class of the error, such as `invalid_request_error`. */
    val type: String,
    /** The path of the field at fault, such as `messages[2].content`. */
    @EncodeDefault
    val param: String? = null,
    /** A short machine-readable reason, such as `context_length_exceeded`. */
    @EncodeDefault
    val code: String? = null,
    /** The class of the reason: what a program does that does not know the reason. */
    val status: String? = null,
) {
    /** `status` as a value that tells known words from unknown ones. */
    val statusEnum: ErrorStatus? get() = status?.let(ErrorStatus::of)
}

/** The answer to a request that failed. */
@Serializable
@JsonIgnoreUnknownKeys
data class ErrorResponse(
    /** What went wrong. */
    val error: ErrorObject,
)

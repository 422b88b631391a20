// Generated from codegen/schema by `python -m codegen`. Do not edit.
// Schema hash: 5c6e83c1dd599df1
package ai.mlc.mlcllm

/** How many calls a loop makes unless it is told; then the model must answer without. */
const val MAX_TOOL_CALLS: Long = 16

/** What became of a call. */
enum class ToolOutcome(val word: String) {
    /** The function gave a result. */
    RETURNED("returned"),
    /** The function failed; the model reads why. */
    FAILED("failed"),
    /** It was not approved. */
    DENIED("denied"),
    /** There is no such function, its arguments do not fit, or it was one more than the limit. */
    REFUSED("refused"),
}

/** What a call came to. */
data class ToolResult(
    /** The call. */
    val call: ChatCompletionMessageToolCall,
    /** What the model reads of it. */
    val content: String,
    /** What became of it. */
    val outcome: ToolOutcome,
)

/** How a loop of tool calls ended. */
data class ToolRun(
    /** The last answer. */
    val completion: ChatCompletion,
    /** The last answer's text. */
    val content: String?,
    /** The whole conversation, the last answer included: to be continued with the next request. */
    val messages: List<ChatCompletionMessage>,
    /** The calls that the model made, the denied and failed ones too. */
    val numCalls: Long,
    /** Whether there would have been more. */
    val limitReached: Boolean,
)

/** What happens while the model's tool calls are run, in its order. */
sealed interface ToolRunEvent {
    /** A chunk of an answer, as it came. */
    data class Chunk(val chunk: ChatCompletionChunk) : ToolRunEvent

    /** The next piece of an answer's text. */
    data class Text(val text: String) : ToolRunEvent

    /** The model calls a tool. All calls of an answer are told, then approved, then made. */
    data class Call(val call: ChatCompletionMessageToolCall) : ToolRunEvent

    /** A call has come to its end. Results come in the order of the calls. */
    data class Result(val result: ToolResult) : ToolRunEvent

    /** The last event: how it ended. */
    data class End(val run: ToolRun) : ToolRunEvent
}

/** The texts. */
internal object ToolsTexts {
    /** What the model reads in place of a result. */
    const val DENIED =
        "error: the call was denied"

    /** What the model reads in place of a result. */
    const val LIMIT =
        "error: the call was not made: the limit of calls is reached; answer without it"

    /** What the model reads in place of a result. */
    fun noSuch(name: String, names: String): String =
        "error: there is no tool ${name}; there are: ${names}"

    /** What the model reads in place of a result. */
    fun unfit(why: String): String =
        "error: the arguments do not fit: ${why}"

    /** What the model reads in place of a result. */
    fun failed(why: String): String =
        "error: ${why}"

    /** What whoever begins a loop wrongly is told. */
    const val NAMES =
        "at least one tool is needed, each of another name"

    /** What whoever begins a loop wrongly is told. */
    const val TOO_FEW =
        "max_calls must be at least 1"

    /** What whoever begins a loop wrongly is told. */
    const val ONE_ANSWER =
        "a loop of tool calls follows one answer: leave n out"
}

@file:JvmName("ToolLoops")

package ai.mlc.mlcllm

import java.util.concurrent.CompletableFuture
import java.util.function.Consumer
import java.util.function.Predicate
import kotlinx.coroutines.CancellationException
import kotlinx.coroutines.CoroutineScope
import kotlinx.coroutines.Dispatchers
import kotlinx.coroutines.async
import kotlinx.coroutines.coroutineScope
import kotlinx.coroutines.currentCoroutineContext
import kotlinx.coroutines.ensureActive
import kotlinx.coroutines.flow.Flow
import kotlinx.coroutines.flow.FlowCollector
import kotlinx.coroutines.flow.flow
import kotlinx.coroutines.flow.last
import kotlinx.coroutines.flow.onEach
import kotlinx.coroutines.future.future

/** Decides whether a call may be made. */
typealias Approve = suspend (ChatCompletionMessageToolCall) -> Boolean

/**
 * Runs the tools that the model calls, and sends it their results, until it answers with text.
 *
 * An error in a call becomes the call's result, so that the model may try again. The calls of one
 * answer run at the same time, on the dispatcher of the caller. Cancelling the coroutine ends
 * everything.
 *
 * @param request its `tool_choice` applies only to the first round, or the loop would not end.
 * @param maxCalls the limit for all rounds together; then the model must answer without calls.
 * @param approve called before each call, one after another. If it returns no, the model gets a
 *     message about that.
 */
suspend fun ChatCompletions.runTools(
    tools: List<Tool>,
    request: ChatCompletionRequest,
    maxCalls: Long = MAX_TOOL_CALLS,
    approve: Approve? = null,
): ToolRun = (streamTools(tools, request, maxCalls, approve).last() as ToolRunEvent.End).run

/**
 * [runTools] as a cold flow of events; the last event has the run. Leaving the flow ends the loop: it
 * cancels the running calls and the request to the model.
 */
fun ChatCompletions.streamTools(
    tools: List<Tool>,
    request: ChatCompletionRequest,
    maxCalls: Long = MAX_TOOL_CALLS,
    approve: Approve? = null,
): Flow<ToolRunEvent> = toolEvents(tools, request, maxCalls, approve) { stream(it) }

/** [runTools] for Java; `onEvent` gets the events, on a background thread. */
@JvmOverloads
fun runToolsAsync(
    completions: ChatCompletions,
    tools: List<Tool>,
    request: ChatCompletionRequest,
    maxCalls: Long = MAX_TOOL_CALLS,
    approve: Predicate<ChatCompletionMessageToolCall> = Predicate { true },
    onEvent: Consumer<ToolRunEvent> = Consumer { },
): CompletableFuture<ToolRun> = CoroutineScope(Dispatchers.Default).future {
    val events = completions.streamTools(tools, request, maxCalls) { approve.test(it) }
    (events.onEach { onEvent.accept(it) }.last() as ToolRunEvent.End).run
}

internal fun toolEvents(
    tools: List<Tool>,
    request: ChatCompletionRequest,
    maxCalls: Long,
    approve: Approve?,
    ask: (ChatCompletionRequest) -> Flow<ChatCompletionChunk>,
): Flow<ToolRunEvent> = flow {
    val loop = ToolLoop(tools, request, maxCalls)
    do {
        val calls = loop.take(answer(ask(loop.request)))
        val approved = calls.map { planned ->
            emit(ToolRunEvent.Call(planned.call))
            planned.work != null && (approve == null || approve(planned.call))
        }
        coroutineScope {
            val results = calls.zip(approved) { planned, yes -> async { planned.result(yes) } }
            for (result in results) emit(loop.answer(result.await()))
        }
    } while (calls.isNotEmpty())
    emit(ToolRunEvent.End(loop.ended()))
}

/** The whole answer; its chunks are sent as events. */
private suspend fun FlowCollector<ToolRunEvent>.answer(chunks: Flow<ChatCompletionChunk>): ChatCompletion {
    val fold = AnswerFold()
    chunks.collect { chunk ->
        fold.add(chunk)
        emit(ToolRunEvent.Chunk(chunk))
        val text = chunk.choices.firstOrNull()?.delta?.content
        if (!text.isNullOrEmpty()) emit(ToolRunEvent.Text(text))
    }
    return fold.completion()
}

/** A call that the model makes: the function to run, or the reason why none can run. */
internal class PlannedCall(
    val call: ChatCompletionMessageToolCall,
    val work: (suspend () -> String)?,
    private val refusal: String = "",
) {
    suspend fun result(approved: Boolean): ToolResult = when {
        work == null -> ToolResult(call, refusal, ToolOutcome.REFUSED)
        !approved -> ToolResult(call, ToolsTexts.DENIED, ToolOutcome.DENIED)
        else -> made(work)
    }

    private suspend fun made(work: suspend () -> String): ToolResult = try {
        ToolResult(call, work(), ToolOutcome.RETURNED)
    } catch (error: CancellationException) {
        currentCoroutineContext().ensureActive() // else it is the function's own, as of a timeout
        failed(error)
    } catch (error: Exception) {
        failed(error)
    }

    private fun failed(error: Exception): ToolResult {
        val why = error.message.orEmpty().ifEmpty { error.javaClass.simpleName }
        return ToolResult(call, ToolsTexts.failed(why), ToolOutcome.FAILED)
    }
}

/** The decisions of the loop, without any waiting: what to ask, what to call, and when it ends. */
internal class ToolLoop(tools: List<Tool>, asked: ChatCompletionRequest, private val maxCalls: Long) {
    private val tools = tools.associateBy { it.definition.name }
    private var numCalls = 0L
    private var limitReached = false
    private var completion: ChatCompletion? = null

    /** The next request. `tool_choice` applies only to the first request. */
    var request: ChatCompletionRequest = asked.copy(
        tools = tools.map { ChatCompletionTool(it.definition) },
        stream_options = StreamOptions(include_usage = true),
    )
        private set

    init {
        if (tools.isEmpty() || this.tools.size < tools.size) {
            throw MLCReason.INVALID_REQUEST.exception(ToolsTexts.NAMES, param = "tools")
        }
        if (maxCalls < 1) throw MLCReason.INVALID_REQUEST.exception(ToolsTexts.TOO_FEW, param = "max_calls")
        if (asked.n != 1L) throw MLCReason.INVALID_REQUEST.exception(ToolsTexts.ONE_ANSWER, param = "n")
    }

    /** The calls of an answer; none when it is the last one. */
    fun take(completion: ChatCompletion): List<PlannedCall> {
        this.completion = completion
        val message = completion.choices.first().message
        say(
            ChatCompletionMessage(
                role = ChatCompletionRole.assistant,
                content = message.content?.let(::ChatCompletionMessageContentText),
                tool_calls = message.tool_calls,
                reasoning_content = message.reasoning_content,
            ),
        )
        if (limitReached) return emptyList()
        val calls = message.tool_calls.orEmpty().map(::plan)
        val choice = if (limitReached) ToolChoiceMode.none else ToolChoiceMode.auto
        if (limitReached || request.tool_choice != null) request = request.copy(tool_choice = choice)
        return calls
    }

    /** Takes the results, in the order of the calls. */
    fun answer(result: ToolResult): ToolRunEvent.Result {
        val content = ChatCompletionMessageContentText(result.content)
        say(ChatCompletionMessage(ChatCompletionRole.tool, content, tool_call_id = result.call.id))
        return ToolRunEvent.Result(result)
    }

    fun ended(): ToolRun {
        val last = checkNotNull(completion)
        return ToolRun(last, last.choices.first().message.content, request.messages, numCalls, limitReached)
    }

    private fun say(message: ChatCompletionMessage) {
        request = request.copy(messages = request.messages + message)
    }

    private fun plan(call: ChatCompletionMessageToolCall): PlannedCall {
        if (numCalls == maxCalls) {
            limitReached = true
            return PlannedCall(call, null, ToolsTexts.LIMIT)
        }
        numCalls++
        val name = call.function.name
        val tool = tools[name]
            ?: return PlannedCall(call, null, ToolsTexts.noSuch(name, tools.keys.joinToString()))
        return try {
            PlannedCall(call, tool.bind(call.function.arguments))
        } catch (error: Tool.UnfitArguments) {
            PlannedCall(call, null, ToolsTexts.unfit(error.message))
        }
    }
}

package ai.mlc.mlcllm

import java.util.concurrent.CompletableFuture
import java.util.function.Consumer
import kotlinx.coroutines.CoroutineScope
import kotlinx.coroutines.Dispatchers
import kotlinx.coroutines.Job
import kotlinx.coroutines.channels.Channel
import kotlinx.coroutines.channels.ReceiveChannel
import kotlinx.coroutines.currentCoroutineContext
import kotlinx.coroutines.flow.Flow
import kotlinx.coroutines.flow.flow
import kotlinx.coroutines.future.future
import kotlinx.serialization.KSerializer

/**
 * A route of the engine that answers as a whole or in chunks.
 *
 * A wrong request, or a later failure, is an [MLCException]. Cancelling the coroutine that waits ends
 * the request in the engine and frees its memory.
 */
abstract class Route<Q : Any, C : Any, A : Any> internal constructor(
    private val requests: Requests,
    private val route: String,
    private val request: KSerializer<Q>,
    private val chunk: KSerializer<C>,
    private val answer: KSerializer<A>,
) {
    internal abstract fun streaming(request: Q, stream: Boolean): Q

    /**
     * Sends a request; its chunks come through a channel, in order. A failure closes the channel, so
     * that reading it throws. The request ends when the channel is cancelled
     * ([ReceiveChannel.cancel]), or when the calling coroutine fails or is cancelled.
     */
    suspend fun create(request: Q): ReceiveChannel<C> =
        open(bodyOf(request, stream = true), { it }, failed = null)

    /**
     * The channel of [create]: [of] converts a chunk. If [failed] is given, it converts a failure, or
     * returns null for one that is no news: the end that the program itself asked for.
     */
    internal suspend fun <T> open(
        body: ByteArray,
        of: (C) -> T,
        failed: ((MLCException) -> T?)?,
    ): ReceiveChannel<T> {
        val chunks = Channel<T>(Channel.UNLIMITED)
        val sent = Request(requests.engine) { event -> chunks.deliver(event, of, failed) }
        val job = currentCoroutineContext()[Job]
        val watch = job?.invokeOnCompletion { cause ->
            if (cause != null) chunks.cancel()
        }
        if (failed != null) requests.quiet.add(chunks)
        chunks.invokeOnClose {
            requests.quiet.remove(chunks)
            watch?.dispose()
            sent.cancel()
        }
        try {
            requests.start(sent, route, body)
        } catch (error: Throwable) {
            chunks.cancel()
            throw error
        }
        return chunks
    }

    /** The chunks of an answer as a cold flow: each collector sends the request again. */
    fun stream(request: Q): Flow<C> = flow {
        requests.events(route, bodyOf(request, stream = true)) { events ->
            for (event in events) {
                event.failure()?.let { throw it }
                if (event.kind == NativeBridge.CHUNK) emit(decode(chunk, event.json))
            }
        }
    }

    /** Sends a request and waits for the whole answer. */
    suspend fun complete(request: Q): A =
        decode(answer, requests.result(route, bodyOf(request, stream = false)))

    /** [complete] for Java. Cancelling the future ends the request. */
    fun completeAsync(request: Q): CompletableFuture<A> =
        CoroutineScope(Dispatchers.Default).future { complete(request) }

    /**
     * [stream] for Java: `onChunk` gets the chunks in order, on a background thread, which it may
     * block. The future ends after the last one; cancelling it ends the request.
     */
    fun streamAsync(request: Q, onChunk: Consumer<C>): CompletableFuture<Void?> =
        CoroutineScope(Dispatchers.Default).future {
            stream(request).collect { onChunk.accept(it) }
            null
        }

    internal fun checkStreams(stream: Boolean) {
        if (!stream) throw needsStream()
    }

    internal fun needsStream() = MLCReason.INVALID_REQUEST.exception(
        "create(...) gives a stream; complete(...) waits for the whole answer",
        param = "stream",
    )

    private fun bodyOf(request: Q, stream: Boolean): ByteArray =
        encode(this.request, streaming(request, stream))

    private fun <T> Channel<T>.deliver(event: Event, of: (C) -> T, failed: ((MLCException) -> T?)?) {
        val failure = try {
            if (event.kind == NativeBridge.CHUNK) {
                put(of(decode(chunk, event.json)))
                return
            }
            event.failure()
        } catch (error: MLCException) {
            error
        }
        if (failure == null || failed == null) {
            close(failure)
        } else {
            failed(failure)?.let(::put)
            close()
        }
    }
}

package ai.mlc.mlcllm

import kotlinx.coroutines.Dispatchers
import kotlinx.coroutines.channels.Channel
import kotlinx.coroutines.channels.ReceiveChannel
import kotlinx.coroutines.withContext

/** How the engine's routes are reached. */
internal class Requests(val engine: NativeEngine) {
    /**
     * Starts a request and gives its events to [consume]; when that returns or throws, or the
     * coroutine is cancelled, the request ends in the core too.
     *
     * Events wait in a buffer of the request's own, which an answer's length bounds: a slow consumer
     * never holds up the thread that serves all requests.
     */
    suspend fun <T> events(
        route: String,
        body: ByteArray,
        consume: suspend (ReceiveChannel<Event>) -> T,
    ): T {
        val events = Channel<Event>(Channel.UNLIMITED)
        val request = Request(engine) { event ->
            events.trySend(event)
            if (event.kind != NativeBridge.CHUNK) events.close()
        }
        try {
            start(request, route, body)
            return consume(events)
        } finally {
            request.cancel()
        }
    }

    /** The one event of a request that is not streamed. */
    suspend fun result(route: String, body: ByteArray): ByteArray = events(route, body) { events ->
        val event = events.receive()
        event.failure()?.let { throw it }
        event.json
    }

    /** Checking, rendering and tokenizing take a moment: never on the caller's own thread. */
    suspend fun start(request: Request, route: String, body: ByteArray) =
        withContext(Dispatchers.Default) { request.start(route, body) }
}

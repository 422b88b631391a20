package ai.mlc.mlcllm

import kotlinx.coroutines.Dispatchers
import kotlinx.coroutines.channels.Channel
import kotlinx.coroutines.channels.ReceiveChannel
import kotlinx.coroutines.withContext

/** Sends requests to the engine's routes. */
internal class Requests(val engine: NativeEngine) {
    /** The channels that a call which ends all requests closes without a word. */
    val quiet = QuietChannels()

    /**
     * Starts a request and gives its events to [consume]. When that returns or throws, or when the
     * coroutine is cancelled, the request ends in the core too.
     *
     * Each request has its own buffer of events, whose size is limited by the length of the answer.
     * So a slow consumer never blocks the thread that serves all requests.
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

    /** Checking, rendering and tokenizing take time, so they never run on the caller's thread. */
    suspend fun start(request: Request, route: String, body: ByteArray) =
        withContext(Dispatchers.Default) { request.start(route, body) }
}

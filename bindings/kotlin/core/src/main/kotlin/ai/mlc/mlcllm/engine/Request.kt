package ai.mlc.mlcllm

/** An event of a request. The last one is of another kind than [NativeBridge.CHUNK]. */
internal class Event(val kind: Int, val json: ByteArray) {
    /** The exception of an ERROR, else null. */
    fun failure(): MLCException? =
        if (kind == NativeBridge.ERROR) MLCException.ofJson(json) else null
}

/**
 * One request in the core. [deliver] gets its events in order, on the engine's callback thread, and
 * never blocks. [cancel] may come at any time, also before [start] has returned.
 */
internal class Request(private val engine: NativeEngine, private val deliver: (Event) -> Unit) :
    NativeSink {
    @Volatile
    private var id = NONE

    @Volatile
    private var isCancelled = false

    @Volatile
    private var hasEnded = false

    /** Queues the request. Throws if the request is wrong. */
    fun start(route: String, body: ByteArray) {
        id = engine.call { NativeBridge.submit(it, route.encodeToByteArray(), body, this) }
        if (isCancelled) abort()
    }

    fun cancel() {
        isCancelled = true
        if (id != NONE) abort()
    }

    private fun abort() {
        if (hasEnded || engine.isClosed) return
        try {
            engine.call { NativeBridge.abort(it, id) }
        } catch (_: UnavailableException) {
            // Closed in between, which ends the request too.
        }
    }

    override fun onEvent(kind: Int, json: ByteArray?) {
        engine.callbackThread = Thread.currentThread()
        if (kind != NativeBridge.CHUNK) hasEnded = true
        deliver(if (json != null) Event(kind, json) else outOfMemory())
    }

    private fun outOfMemory(): Event {
        val error = MLCReason.OUT_OF_RESOURCES.error("no memory for an event")
        return Event(NativeBridge.ERROR, encode(ErrorResponse.serializer(), ErrorResponse(error)))
    }

    private companion object {
        const val NONE = -1L
    }
}

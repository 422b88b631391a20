package ai.mlc.mlcllm

import java.util.concurrent.locks.ReentrantLock
import kotlin.concurrent.thread
import kotlin.concurrent.withLock

/**
 * The handle of an engine in the core. Any thread may call it. The handle lives until the last call
 * that uses it has returned; calls after [close] are refused.
 */
internal class NativeEngine(config: ByteArray) {
    private val lock = ReentrantLock()
    private val isQuiet = lock.newCondition() // no call is inside
    private val handle = NativeBridge.create(config)
    private var callsInside = 0
    private val isInside = ThreadLocal<Boolean>() // set while this thread is within a call

    @Volatile
    var isClosed = false
        private set

    /** The engine's thread that delivered the last event. Each load makes a new one. */
    @Volatile
    var callbackThread: Thread? = null

    fun <T> call(function: (Long) -> T): T {
        enter()
        val wasInside = isInside.get()
        isInside.set(true)
        try {
            return function(handle)
        } finally {
            if (wasInside == null) isInside.remove()
            leave()
        }
    }

    /**
     * Ends every request with an error and frees the model. The core cannot be destroyed in its own
     * callback, where a consumer without a dispatcher runs, nor in the progress function of a load.
     * Then another thread destroys it.
     */
    fun close() {
        lock.withLock {
            if (isClosed) return
            isClosed = true
        }
        if (Thread.currentThread() === callbackThread || isInside.get() != null) {
            thread(name = "mlc_llm close") { destroy() }
        } else {
            destroy()
        }
    }

    private fun destroy() {
        lock.withLock {
            while (callsInside > 0) isQuiet.awaitUninterruptibly()
        }
        NativeBridge.destroy(handle)
    }

    private fun enter() = lock.withLock {
        if (isClosed) throw MLCReason.UNAVAILABLE.exception("the engine is closed; make a new one")
        callsInside++
    }

    private fun leave() = lock.withLock {
        callsInside--
        if (callsInside == 0) isQuiet.signalAll()
    }
}

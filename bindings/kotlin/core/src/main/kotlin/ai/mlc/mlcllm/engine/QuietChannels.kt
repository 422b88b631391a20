package ai.mlc.mlcllm

import java.util.concurrent.ConcurrentHashMap
import kotlinx.coroutines.channels.Channel
import kotlinx.coroutines.channels.SendChannel

/**
 * The open channels of MLC-LLM's form of a request. After a call such as `reset` has returned,
 * nothing more comes out of them, not even what was in them already: an app clears its screen then.
 */
internal class QuietChannels {
    private val channels = ConcurrentHashMap.newKeySet<Channel<*>>()

    fun add(channel: Channel<*>) {
        channels.add(channel)
    }

    fun remove(channel: Channel<*>) {
        channels.remove(channel)
    }

    /** Runs [end], which ends every request, and closes and empties the channels of before it. */
    fun endedBy(end: () -> Unit) {
        // `toList` asks for the size first, and fails if a request ends in between.
        val open = channels.toTypedArray()
        end()
        for (channel in open) {
            synchronized(channel) {
                channel.close() // first, so that nothing comes in behind what is taken out
                while (channel.tryReceive().isSuccess) Unit
            }
        }
    }
}

/**
 * Puts [element] into an unlimited channel. [QuietChannels.endedBy] waits until this is done: a
 * reader that already waits is then on its way to its own thread, ahead of what the app does next.
 */
internal fun <T> SendChannel<T>.put(element: T) {
    synchronized(this) { trySend(element) }
}

package ai.mlc.mlcllm

import java.util.concurrent.atomic.AtomicBoolean
import kotlin.concurrent.thread
import kotlinx.coroutines.channels.Channel
import org.junit.Assert.assertTrue
import org.junit.Test

class QuietChannelsTest {
    @Test
    fun `requests may end while all of them are ended`() {
        val channels = QuietChannels()
        val done = AtomicBoolean()
        val requests = thread {
            while (!done.get()) {
                val channel = Channel<Int>(Channel.UNLIMITED)
                channels.add(channel)
                channels.remove(channel)
            }
        }
        try {
            repeat(20_000) { channels.endedBy {} }
        } finally {
            done.set(true)
            requests.join()
        }
    }

    @Test
    fun `nothing comes out of a channel of before`() {
        val channels = QuietChannels()
        val channel = Channel<Int>(Channel.UNLIMITED)
        channels.add(channel)
        channel.put(1)
        channels.endedBy { channel.put(2) }
        assertTrue(channel.tryReceive().isClosed)
    }
}

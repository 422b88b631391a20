package ai.mlc.chatkit

import com.sun.net.httpserver.HttpExchange
import com.sun.net.httpserver.HttpServer
import java.net.InetAddress
import java.net.InetSocketAddress
import java.security.MessageDigest
import java.util.concurrent.CopyOnWriteArrayList
import java.util.concurrent.CountDownLatch
import java.util.concurrent.Executors
import kotlinx.serialization.json.JsonArray
import kotlinx.serialization.json.JsonPrimitive

/** A hub on this machine that has one model and can do everything wrong. */
class LoopbackHub(val files: MutableMap<String, ByteArray> = model()) : AutoCloseable {
    /** How it answers next to a file's name, in order; then as it should. */
    private val next = mutableMapOf<String, ArrayDeque<(HttpExchange, ByteArray) -> Unit>>()
    private val threads = Executors.newCachedThreadPool { Thread(it).apply { isDaemon = true } }
    private val server = HttpServer.create(InetSocketAddress(InetAddress.getLoopbackAddress(), 0), 0)

    /** Ends the waiting of answers that stall. */
    private val isOver = CountDownLatch(1)

    /** The requests so far: `name` or `name bytes=5-`. */
    val requests = CopyOnWriteArrayList<String>()

    val url: String get() = "http://127.0.0.1:${server.address.port}/owner/model"

    init {
        server.executor = threads
        server.createContext("/owner/model/resolve/main/") { exchange ->
            exchange.use { answer(it, it.requestURI.path.substringAfter("/resolve/main/")) }
        }
        server.start()
    }

    fun then(name: String, act: (HttpExchange, ByteArray) -> Unit): LoopbackHub = apply {
        synchronized(next) { next.getOrPut(name) { ArrayDeque() }.addLast(act) }
    }

    fun thenStatus(name: String, status: Int, retryAfter: String? = null) = then(name) { exchange, _ ->
        if (retryAfter != null) exchange.responseHeaders.add("Retry-After", retryAfter)
        exchange.sendResponseHeaders(status, -1)
    }

    /** Says that everything comes, and ends the connection after a part. */
    fun thenCut(name: String, bytes: Int) = then(name) { exchange, content ->
        exchange.sendResponseHeaders(200, content.size.toLong())
        exchange.responseBody.write(content, 0, bytes)
        exchange.responseBody.flush()
    }

    /** Sends a part, and then nothing. `arrived` is called after the part. */
    fun thenStall(name: String, bytes: Int, arrived: () -> Unit = {}) = then(name) { exchange, content ->
        exchange.sendResponseHeaders(200, content.size.toLong())
        exchange.responseBody.write(content, 0, bytes)
        exchange.responseBody.flush()
        arrived()
        isOver.await()
    }

    fun thenContent(name: String, other: ByteArray) = then(name) { exchange, _ -> whole(exchange, other) }

    /** The whole file, though a range was asked for. */
    fun thenWhole(name: String) = then(name) { exchange, content -> whole(exchange, content) }

    private fun answer(exchange: HttpExchange, name: String) {
        val range = exchange.requestHeaders.getFirst("Range")
        requests += listOfNotNull(name, range).joinToString(" ")
        val content = files[name]
        val act = synchronized(next) { next[name]?.removeFirstOrNull() }
        when {
            act != null -> act(exchange, content ?: ByteArray(0))
            content == null -> exchange.sendResponseHeaders(404, -1)
            range != null -> part(exchange, content, range.removePrefix("bytes=").removeSuffix("-").toInt())
            else -> whole(exchange, content)
        }
    }

    private fun whole(exchange: HttpExchange, content: ByteArray) {
        exchange.sendResponseHeaders(200, content.size.toLong().let { if (it == 0L) -1 else it })
        exchange.responseBody.write(content)
    }

    private fun part(exchange: HttpExchange, content: ByteArray, first: Int) {
        exchange.responseHeaders.add("Content-Range", "bytes $first-${content.size - 1}/${content.size}")
        exchange.sendResponseHeaders(206, (content.size - first).toLong())
        exchange.responseBody.write(content, first, content.size - first)
    }

    override fun close() {
        isOver.countDown()
        server.stop(0)
        threads.shutdownNow()
    }

    companion object {
        const val SHARD_BYTES = 200_000

        /** Four shards, of which each has other bytes. */
        fun model(): MutableMap<String, ByteArray> {
            val shards = (0 until 4).associate { index ->
                "params_shard_$index.bin" to ByteArray(SHARD_BYTES) { (it * 31 + index * 7 + it / 251).toByte() }
            }
            val records = shards.map { (name, bytes) ->
                """{"dataPath": "$name", "nbytes": ${bytes.size}, "md5sum": "${md5(bytes)}"}"""
            }
            val tokenizer = JsonArray(listOf(JsonPrimitive("tokenizer.json")))
            return mutableMapOf(
                "mlc-chat-config.json" to """{"tokenizer_files": $tokenizer}""".encodeToByteArray(),
                "tensor-cache.json" to """{"records": $records}""".encodeToByteArray(),
                "tokenizer.json" to "{}".encodeToByteArray(),
            ).also { it.putAll(shards) }
        }

        private fun md5(bytes: ByteArray): String =
            MessageDigest.getInstance("MD5").digest(bytes).joinToString("") { "%02x".format(it) }
    }
}

private inline fun HttpExchange.use(act: (HttpExchange) -> Unit) {
    try {
        act(this)
    } finally {
        close()
    }
}

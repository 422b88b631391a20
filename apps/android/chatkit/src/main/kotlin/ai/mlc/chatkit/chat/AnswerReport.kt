package ai.mlc.chatkit.chat

import ai.mlc.chatkit.lenient
import java.io.IOException
import java.net.HttpURLConnection
import java.net.URL
import kotlinx.coroutines.Dispatchers
import kotlinx.coroutines.withContext
import kotlinx.serialization.Serializable

/** What a user says about an answer that a model should not have given. It has nothing else of the chat. */
@Serializable
data class AnswerReport(val model: String, val answer: String, val reason: String) {
    /** Sends it as JSON by POST. Throws an [IOException] whose message the user can read. */
    suspend fun send(address: String): Unit = withContext(Dispatchers.IO) {
        val connection = URL(address).openConnection() as HttpURLConnection
        try {
            connection.connectTimeout = TIMEOUT_MS
            connection.readTimeout = TIMEOUT_MS
            connection.requestMethod = "POST"
            connection.doOutput = true
            connection.setRequestProperty("Content-Type", "application/json")
            val body = lenient.encodeToString(serializer(), this@AnswerReport).encodeToByteArray()
            connection.outputStream.use { it.write(body) }
            val status = connection.responseCode
            if (status / HUNDRED != 2) throw IOException("The report was not taken: status $status of ${connection.url.host}")
        } finally {
            connection.disconnect()
        }
    }

    private companion object {
        const val TIMEOUT_MS = 30_000
        const val HUNDRED = 100
    }
}

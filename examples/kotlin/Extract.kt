// Data out of a text: what comes on standard input becomes a value of the type `Invoice`.
//
// ExtractKt MODEL_FOLDER MODEL_LIBRARY < invoice.txt
import ai.mlc.mlcllm.*
import kotlinx.serialization.Serializable

@Serializable
enum class Currency { EUR, USD, other }

@Serializable
data class Item(val name: String, val count: Int)

@Serializable
data class Invoice(
    @Description("Who wrote the invoice.") val sender: String,
    val currency: Currency,
    val total: Double,
    val items: List<Item>,
)

suspend fun main(arguments: Array<String>) {
    MLCEngine().use { engine ->
        engine.load(arguments[0], arguments[1])
        val text = generateSequence(::readLine).joinToString("\n")
        val question = ChatCompletionMessage(ChatCompletionRole.user, "Read this invoice:\n\n$text")
        val request = ChatCompletionRequest(listOf(question), temperature = 0.0, max_tokens = 1000)
        val invoice: Invoice = engine.chat.completions.completeAs(request)
        println("${invoice.sender} ${invoice.total} ${invoice.currency}")
        for (item in invoice.items) println("- ${item.count} ${item.name}")
    }
}

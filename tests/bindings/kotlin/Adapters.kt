/** Adapters that requests choose, and what is left of them when they are gone. */
package ai.mlc.mlcllm.program

import ai.mlc.mlcllm.Lora
import ai.mlc.mlcllm.LoraName
import ai.mlc.mlcllm.LoraUse
import ai.mlc.mlcllm.LoraUses
import ai.mlc.mlcllm.MLCException
import kotlinx.serialization.json.JsonObject

suspend fun adapter(model: Model, options: Options): JsonObject {
    val prompt = options.needed("prompt")
    val path = options.needed("adapter")
    options.end()
    return model.use(ranks = 16) { engine ->
        suspend fun say(lora: Lora? = null): String? {
            val request = request(prompt, maxTokens = 8, temperature = 0.0, ignoreEos = true)
            val answer = engine.chat.completions.complete(request.copy(lora = lora))
            return answer.choices[0].message.content
        }
        val plain = say()
        val full = engine.loadAdapter("style", path)
        val named = say(LoraName("style"))
        val scaled = say(LoraUses(listOf(LoraUse("style", scale = 0.0))))
        val listed = engine.adapters().adapters
        val empty = engine.unloadAdapter("style")
        result(
            "plain" to plain,
            "named" to named,
            "scaled" to scaled,
            "listed" to listed.map { listOf(it.name, it.rank) },
            "free" to listOf(full.free_ranks, empty.free_ranks),
            "error" to failure { say(LoraName("style")) },
        )
    }
}

suspend fun loadError(model: Model, options: Options): JsonObject {
    options.end()
    return failure { model.engine().close() }
}

/** The typed error with which it fails, or its lack. */
private suspend fun failure(work: suspend () -> Unit): JsonObject = try {
    work()
    result("type" to null)
} catch (error: MLCException) {
    result(
        "type" to error.type,
        "code" to error.code,
        "param" to error.param,
        "status" to error.status?.word,
        "message" to error.message,
    )
}

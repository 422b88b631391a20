package ai.mlc.chatkit.engine

import ai.mlc.chatkit.chat.bytesText
import ai.mlc.chatkit.chat.rounded
import ai.mlc.mlcllm.CompletionRequest
import ai.mlc.mlcllm.DebugConfig
import ai.mlc.mlcllm.MLCEngine
import ai.mlc.mlcllm.PromptItemToken
import ai.mlc.mlcllm.PromptItems
import ai.mlc.mlcllm.TokenizeRequest
import java.io.File

/** One measurement; speeds are in tokens per second. */
data class BenchmarkRun(
    val promptTokens: Long,
    val promptSpeed: Double,
    val decodeTokens: Long,
    val decodeSpeed: Double,
)

data class BenchmarkResult(
    val model: String,
    val device: String,
    val runs: List<BenchmarkRun>,
    /** The most memory that the process has had; null where the system does not say it. */
    val peakBytes: Long?,
) {
    /** The text that the user can copy. */
    val text: String
        get() = buildString {
            append("$model on $device\n")
            for (run in runs) {
                append("prompt ${run.promptTokens}: ${rounded(run.promptSpeed, 1)} tokens/s, ")
                append("answer ${run.decodeTokens}: ${rounded(run.decodeSpeed, 1)} tokens/s\n")
            }
            if (peakBytes != null) append("peak memory: ${bytesText(peakBytes)}\n")
        }
}

/** Measures a loaded model with prompts of given lengths. Running answers end with an error. */
class Benchmark(private val engine: MLCEngine, private val model: String, private val device: String) {
    suspend fun run(
        promptLengths: List<Int> = listOf(128, 512),
        answerTokens: Long = 64,
        onRun: (BenchmarkRun) -> Unit = {},
    ): BenchmarkResult {
        val words = engine.tokenize(TokenizeRequest(TEXT)).tokens
        one(words, 8, 4) // the first step reads the weights
        val runs = promptLengths.map { length -> one(words, length, answerTokens).also(onRun) }
        return BenchmarkResult(model, device, runs, peakBytes())
    }

    private suspend fun one(words: List<Long>, length: Int, answerTokens: Long): BenchmarkRun {
        engine.reset() // no part of the prompt is in a cache
        val prompt = List(length) { PromptItemToken(words[it % words.size]) }
        val request = CompletionRequest(
            prompt = PromptItems(prompt),
            max_tokens = answerTokens,
            temperature = 0.0,
            debug_config = DebugConfig(ignore_eos = true),
        )
        engine.completions.complete(request)
        val measured = engine.metrics().last_finished_request
        return BenchmarkRun(
            measured?.prompt_tokens ?: length.toLong(),
            measured?.prefill_tokens_per_s ?: 0.0,
            measured?.completion_tokens ?: 0,
            measured?.decode_tokens_per_s ?: 0.0,
        )
    }

    companion object {
        private const val TEXT = "The quick brown fox jumps over the lazy dog, and the dog sleeps on."
        private const val BYTES_PER_KB = 1024L

        /** Linux and Android keep the highest resident size of a process. */
        fun peakBytes(status: File = File("/proc/self/status")): Long? =
            status.takeIf { it.canRead() }?.readLines().orEmpty()
                .firstOrNull { it.startsWith("VmHWM:") }
                ?.split(Regex("\\s+"))?.getOrNull(1)?.toLongOrNull()?.times(BYTES_PER_KB)
    }
}

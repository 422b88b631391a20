package ai.mlc.mlcllm

import java.io.File
import kotlinx.coroutines.delay
import kotlinx.coroutines.withTimeout

/** The scripted model of the tests; see tests/fixtures. */
object FakeModel {
    @JvmField
    val folder: String = File(System.getProperty("mlc_llm.root"), "tests/fixtures/fake-model").path

    const val DEVICE = "fake"
    const val END_TOKEN = 498

    suspend fun engine(maxNumSequence: Long = 4): MLCEngine {
        val engine = MLCEngine(
            EngineConfig(
                max_num_sequence = maxNumSequence,
                prefix_cache_mode = PrefixCacheMode.disable,
            ),
        )
        engine.load(folder, device = DEVICE)
        return engine
    }
}

/** Milliseconds that nothing takes, on a machine that has much else to do either. */
const val PATIENCE = 120_000L

/** More tokens than are made before an answer is left or ended. */
const val ENDLESS = 100_000L

fun user(prompt: String) = ChatCompletionMessage(ChatCompletionRole.user, prompt)

/** A request for exactly so many tokens. */
fun request(prompt: String, tokens: Long, seed: Long = 1) = ChatCompletionRequest(
    messages = listOf(user(prompt)),
    max_tokens = tokens,
    seed = seed,
    debug_config = DebugConfig(ignore_eos = true),
)

val ChatCompletionChunk.text: String get() = choices.firstOrNull()?.delta?.content.orEmpty()

/** Waits until all pages are back, and fails when they do not come. */
suspend fun MLCEngine.awaitFreePages() = withTimeout(PATIENCE) {
    while (metrics().run { kv_pages_free != kv_pages_total }) delay(1)
}

package ai.mlc.chatkit.engine

import ai.mlc.mlcllm.ChatCompletionMessage
import ai.mlc.mlcllm.ChatCompletionRequest
import ai.mlc.mlcllm.ChatCompletionRole
import ai.mlc.mlcllm.Description
import ai.mlc.mlcllm.MLCEngine
import ai.mlc.mlcllm.completeAs
import kotlinx.serialization.Serializable

/** What the demonstration of structured answers asks for. */
@Serializable
data class Recipe(
    @Description("The name of the dish.") val name: String,
    @Description("How long it takes.") val minutes: Int,
    val ingredients: List<String>,
)

/** Asks for a recipe; the answer is a value, whatever the model is. */
suspend fun recipeFor(engine: MLCEngine, dish: String, maxTokens: Long = 300, seed: Long? = null): Recipe =
    engine.chat.completions.completeAs(
        ChatCompletionRequest(
            messages = listOf(ChatCompletionMessage(ChatCompletionRole.user, "A recipe for $dish, short.")),
            max_tokens = maxTokens,
            seed = seed,
        ),
    )

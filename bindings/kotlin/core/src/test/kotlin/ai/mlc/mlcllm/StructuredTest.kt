package ai.mlc.mlcllm

import kotlinx.coroutines.runBlocking
import kotlinx.serialization.SerialName
import kotlinx.serialization.Serializable
import kotlinx.serialization.json.Json
import kotlinx.serialization.serializer
import org.junit.Assert.assertEquals
import org.junit.Assert.assertThrows
import org.junit.Assert.assertTrue
import org.junit.Test

class StructuredTest {
    @Serializable
    enum class Continent {
        @SerialName("africa")
        AFRICA,

        @SerialName("asia")
        ASIA,
    }

    @Serializable
    data class Country(
        val name: String,
        val continent: Continent,
        val people: Long?,
        val large: Boolean = false,
        val cities: List<String> = emptyList(),
        val areas: Map<String, Double> = emptyMap(),
    )

    @Serializable
    data class Tree(val children: List<Tree>)

    @Serializable
    data class Coin(val isHeads: Boolean)

    @Test
    fun `a type has the schema of its properties`() {
        val expected = """{
            "type": "object",
            "properties": {
                "name": {"type": "string"},
                "continent": {"enum": ["africa", "asia"]},
                "people": {"anyOf": [{"type": "integer"}, {"type": "null"}]},
                "large": {"type": "boolean"},
                "cities": {"type": "array", "items": {"type": "string"}},
                "areas": {"type": "object", "additionalProperties": {"type": "number"}}
            },
            "required": ["name", "continent", "people"],
            "additionalProperties": false
        }"""
        assertEquals(Json.parseToJsonElement(expected), jsonSchemaOf<Country>())
    }

    @Test
    fun `a type within itself is refused`() {
        val error = assertThrows(UnsupportedException::class.java) { jsonSchemaOf<Tree>() }
        assertTrue(error.message, "Tree" in error.message)
    }

    @Test
    fun `an answer is held to the type and read`(): Unit = runBlocking {
        FakeModel.engine().use { engine ->
            // Whatever the script says, the grammar leaves only these.
            val request = request("Heads or tails?", 40).copy(debug_config = null)
            val coin = engine.chat.completions.completeAs<Coin>(request)
            assertTrue(coin in setOf(Coin(true), Coin(false)))
        }
    }

    @Test
    fun `an answer that was cut short says so`() {
        val message = ChatCompletionResponseMessage(content = "{\"isHeads\": tr")
        val choice = ChatCompletionChoice(0, message, finish_reason = "length")
        val error = assertThrows(InternalException::class.java) {
            answerAs(serializer<Coin>(), ChatCompletion("id", 1, "m", listOf(choice)))
        }
        assertTrue(error.message, "length" in error.message)
    }
}

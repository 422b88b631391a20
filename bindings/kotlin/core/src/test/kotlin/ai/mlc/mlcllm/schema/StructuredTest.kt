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
    data class Box<T>(val held: T)

    @Serializable
    data class Chain(val next: Chain?)

    @Serializable
    sealed interface Shape {
        @Serializable
        @SerialName("circle")
        data class Circle(val radius: Double) : Shape

        @Serializable
        @SerialName("group")
        data class Group(val parts: List<Shape>) : Shape
    }

    @Serializable
    @Description("A note.")
    data class Noted(@Description("By continent.") val days: Map<Continent, Boolean>, val grade: Char)

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

    private inline fun <reified T> assertSchema(expected: String) =
        assertEquals(Json.parseToJsonElement(expected), jsonSchemaOf<T>())

    @Test
    fun `a type within itself is referred to`() {
        val tree = { self: String ->
            """"type": "object", "properties": {"children": {"type": "array", "items": {"${D}ref": "$self"}}},
            "required": ["children"], "additionalProperties": false"""
        }
        assertSchema<Tree>("{${tree("#")}}")
        val definition = """"${D}defs": {"Tree": {${tree("#/${D}defs/Tree")}}}"""
        assertSchema<List<Tree>>("""{"type": "array", "items": {"${D}ref": "#/${D}defs/Tree"}, $definition}""")
        val none = """{"type": "null"}"""
        assertSchema<Tree?>("""{"anyOf": [{"${D}ref": "#/${D}defs/Tree"}, $none], $definition}""")
    }

    @Test
    fun `a generic class of itself is no type within itself`() {
        val box = { of: String ->
            """{"type": "object", "properties": {"held": $of}, "required": ["held"], "additionalProperties": false}"""
        }
        assertSchema<Box<Box<Int>>>(box(box("""{"type": "integer"}""")))
    }

    @Test
    fun `a sealed class is any of its classes`() {
        val schema = jsonSchemaOf<Shape>().toString()
        assertTrue(schema, """"properties":{"type":{"const":"circle"},"radius":{"type":"number"}}""" in schema)
        assertTrue(schema, """"items":{"${D}ref":"#"}""" in schema)
        val group: Shape = Shape.Group(listOf(Shape.Circle(1.0)))
        assertEquals(group, Json.decodeFromString<Shape>(Json.encodeToString(group)))
    }

    @Test
    fun `what a model is told of a type`() {
        assertSchema<Noted>(
            """{"type": "object", "description": "A note.", "properties": {
            "days": {"type": "object", "additionalProperties": {"type": "boolean"},
            "propertyNames": {"enum": ["africa", "asia"]}, "description": "By continent."},
            "grade": {"type": "string", "minLength": 1, "maxLength": 1}},
            "required": ["days", "grade"], "additionalProperties": false}""",
        )
    }

    @Test
    fun `a type that may be any other is refused`() {
        val error = assertThrows(UnsupportedException::class.java) { jsonSchemaOf<Map<List<Int>, Int>>() }
        assertTrue(error.message, "no JSON Schema" in error.message)
    }

    @Test
    fun `an answer is held to a type within itself`(): Unit = runBlocking {
        FakeModel.engine().use { engine ->
            val request = request("A list?", 400).copy(debug_config = null)
            engine.chat.completions.completeAs<Chain>(request)
        }
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
    fun `an answer that max_tokens cuts short is an error of its own`(): Unit = runBlocking {
        FakeModel.engine().use { engine ->
            val request = request("Heads or tails?", 2).copy(debug_config = null)
            assertThrows(UnfinishedAnswerException::class.java) {
                runBlocking { engine.chat.completions.completeAs<Coin>(request) }
            }
        }
    }

    @Test
    fun `an answer that was cut short says so`() {
        val message = ChatCompletionResponseMessage(content = "{\"isHeads\": tr")
        val choice = ChatCompletionChoice(0, message, finish_reason = "length")
        val error = assertThrows(UnfinishedAnswerError::class.java) {
            answerAs(serializer<Coin>(), ChatCompletion("id", 1, "m", listOf(choice)))
        }
        assertTrue(error.message, "length" in error.message)
        assertEquals("unfinished_answer" to "choices[0]", error.code to error.param)
    }
}

private const val D = '$'

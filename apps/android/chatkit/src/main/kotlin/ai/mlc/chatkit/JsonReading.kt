package ai.mlc.chatkit

import java.math.BigDecimal
import kotlinx.serialization.json.Json
import kotlinx.serialization.json.JsonElement
import kotlinx.serialization.json.JsonNull
import kotlinx.serialization.json.JsonPrimitive

/** Files of this app, and of its newer versions. */
internal val lenient = Json { ignoreUnknownKeys = true }

internal val pretty = Json {
    ignoreUnknownKeys = true
    prettyPrint = true
}

internal val JsonElement.isNull: Boolean get() = this is JsonNull

internal val JsonElement.text: String? get() = (this as? JsonPrimitive)?.takeIf { it.isString }?.content

/** The value of a number without a fraction, such as `10` and `10.0`. */
internal val JsonElement.wholeNumber: Long?
    get() {
        val number = (this as? JsonPrimitive)?.takeUnless { it.isString || it.isNull } ?: return null
        return try {
            BigDecimal(number.content).longValueExact()
        } catch (error: ArithmeticException) {
            null
        } catch (error: NumberFormatException) { // true and false
            null
        }
    }

/** Whether a path of a config stays inside its folder, on every system. */
internal fun isInside(path: String): Boolean =
    path.isNotEmpty() && path.none { it == '\\' || it == ':' || it.code < SPACE } &&
        path.split('/').none { it.isEmpty() || it == "." || it == ".." }

private const val SPACE = 0x20

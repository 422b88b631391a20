package ai.mlc.chatkit.tools

import kotlin.math.abs
import kotlin.math.ceil
import kotlin.math.cos
import kotlin.math.exp
import kotlin.math.floor
import kotlin.math.ln
import kotlin.math.log10
import kotlin.math.pow
import kotlin.math.sin
import kotlin.math.sqrt
import kotlin.math.tan

/** What is wrong with a call, in words for the model. */
class ToolException(message: String) : Exception(message)

/** Computes an arithmetic expression: `calculate("2 * (3 + sqrt(16))")` is 14. Throws [ToolException]. */
fun calculate(expression: String): Double {
    val text = expression.trim()
    if (text.isEmpty()) throw ToolException("the expression is empty")
    if (text.length > MAX_LENGTH) throw ToolException("the expression is longer than $MAX_LENGTH")
    val reader = ExpressionReader(tokensOf(text))
    val value = reader.sum()
    reader.next?.let { throw ToolException("'$it' is not expected here") }
    if (!value.isFinite()) throw ToolException("the result is no finite number")
    return value
}

private fun tokensOf(text: String): List<String> {
    val tokens = mutableListOf<String>()
    var at = 0
    while (at < text.length) {
        val found = TOKEN.find(text, at)?.takeIf { it.range.first == at }
            ?: throw ToolException("cannot read '${text.drop(at).take(SHOWN)}'")
        val (number, name, sign) = found.destructured
        tokens += number.ifEmpty { name.lowercase().ifEmpty { SAME[sign] ?: sign } }
        at = found.range.last + 1
    }
    return tokens
}

private class ExpressionReader(private val tokens: List<String>) {
    private var at = 0
    private var depth = 0

    val next: String? get() = tokens.getOrNull(at)

    /** Takes the next token if it is one of these. */
    private fun take(vararg wanted: String): String? = next?.takeIf { it in wanted }?.also { at++ }

    fun sum(): Double {
        var value = product()
        while (true) {
            val sign = take("+", "-") ?: return value
            value += if (sign == "+") product() else -product()
        }
    }

    private fun product(): Double {
        var value = signed()
        while (true) {
            val sign = take("*", "/", "%") ?: return value
            val right = signed()
            value = if (sign == "*") value * right else if (sign == "/") value / right else value % right
        }
    }

    /** The calls below nest; a thread's stack does not hold a thousand of them. */
    private fun signed(): Double {
        if (++depth > DEEPEST) throw ToolException("the brackets nest too deep")
        return power().also { depth-- }
    }

    private fun power(): Double = when {
        take("-") != null -> -signed()
        take("+") != null -> signed()
        else -> atom().let { base -> if (take("^") != null) base.pow(signed()) else base }
    }

    private fun atom(): Double {
        if (take("(") != null) return bracketed()
        val token = next ?: throw ToolException("the expression ends too early")
        at++
        if (token[0].isDigit() || token[0] == '.') return token.toDouble()
        CONSTANTS[token]?.let { return it }
        val function = FUNCTIONS[token] ?: throw ToolException("'$token' is not known")
        if (take("(") == null) throw ToolException("'$token' needs brackets")
        return function(bracketed())
    }

    private fun bracketed(): Double {
        val value = sum()
        if (take(")") == null) throw ToolException("a bracket is not closed")
        return value
    }
}

private val FUNCTIONS: Map<String, (Double) -> Double> = mapOf(
    "sqrt" to { x -> sqrt(x) },
    "abs" to { x -> abs(x) },
    "round" to { x -> floor(x + 0.5) },
    "floor" to { x -> floor(x) },
    "ceil" to { x -> ceil(x) },
    "sin" to { x -> sin(x) },
    "cos" to { x -> cos(x) },
    "tan" to { x -> tan(x) },
    "ln" to { x -> ln(x) },
    "log" to { x -> log10(x) },
    "exp" to { x -> exp(x) },
)
private val CONSTANTS = mapOf("pi" to Math.PI, "e" to Math.E)
private val TOKEN = Regex(
    """\s*(?:(\d+\.?\d*(?:e[+-]?\d+)?|\.\d+(?:e[+-]?\d+)?)|([a-z]+)|(\*\*|[-+*/%^()×÷−]))""",
    RegexOption.IGNORE_CASE,
)
private val SAME = mapOf("×" to "*", "÷" to "/", "−" to "-", "**" to "^")
private const val MAX_LENGTH = 1000
private const val DEEPEST = 200
private const val SHOWN = 10

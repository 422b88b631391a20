package ai.mlc.chatkit

/** The numbers of the engine's plan that the decision needs, in bytes and tokens. */
data class MemoryNeed(
    val parameterBytes: Long,
    val temporaryBytes: Long,
    val totalBytes: Long,
    val availableBytes: Long,
    val kvBytesPerToken: Long,
    val contextTokens: Long,
    val fits: Boolean,
)

/** Whether a model is loaded. The numbers are shown to the user. */
sealed interface MemoryDecision {
    object Load : MemoryDecision

    /** With a smaller context it fits. */
    data class Offer(val contextTokens: Long, val needsBytes: Long, val hasBytes: Long) : MemoryDecision

    data class Refuse(val needsBytes: Long, val hasBytes: Long) : MemoryDecision
}

/** The app counts on 85 % of the free memory: the rest is for the system and for other apps. */
fun usableBytes(availableBytes: Long): Long = availableBytes / 100 * 85 + availableBytes % 100 * 85 / 100

fun memoryDecision(need: MemoryNeed): MemoryDecision {
    if (need.fits) return MemoryDecision.Load
    val has = usableBytes(need.availableBytes)
    val room = has - need.parameterBytes - need.temporaryBytes
    val tokens = if (need.kvBytesPerToken > 0 && room > 0) room / need.kvBytesPerToken else 0
    val offered = minOf(tokens, need.contextTokens) / STEP * STEP
    return if (offered >= LEAST_TOKENS) {
        MemoryDecision.Offer(offered, need.totalBytes, has)
    } else {
        MemoryDecision.Refuse(need.totalBytes, has)
    }
}

/** A warning before a download; null: no warning. */
data class MemoryWarning(val needsBytes: Long, val hasBytes: Long)

fun memoryWarning(estimatedBytes: Long?, availableBytes: Long?): MemoryWarning? {
    if (estimatedBytes == null || availableBytes == null) return null
    val has = usableBytes(availableBytes)
    return if (estimatedBytes > has) MemoryWarning(estimatedBytes, has) else null
}

private const val STEP = 256L
private const val LEAST_TOKENS = 512L

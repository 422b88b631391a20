package ai.mlc.chatkit.download

import java.time.Duration
import java.time.Instant
import java.time.ZonedDateTime
import java.time.format.DateTimeFormatter
import java.time.format.DateTimeParseException

/** What went wrong with a file. */
sealed interface FetchFailure {
    object Network : FetchFailure

    /** No byte came for too long. */
    object Stalled : FetchFailure

    object DiskFull : FetchFailure

    object Disk : FetchFailure

    /** The hub sent it corrupt three times. */
    object Corrupt : FetchFailure

    data class Status(val status: Int, val retryAfter: String? = null) : FetchFailure

    /** The answer is not the file that the index names. */
    data class OtherFile(val why: String) : FetchFailure
}

/** Wait and try again, or stop. */
sealed interface Retry {
    data class Wait(val ms: Long) : Retry

    data class Stop(val reason: StopReason) : Retry
}

/** `attempt` counts the failures since the last byte arrived, this one included. */
fun retryOf(failure: FetchFailure, attempt: Int, now: Instant): Retry = when (failure) {
    FetchFailure.Network, FetchFailure.Stalled -> again(attempt, StopReason.NETWORK)
    FetchFailure.DiskFull -> Retry.Stop(StopReason.DISK_FULL)
    FetchFailure.Disk -> Retry.Stop(StopReason.DISK)
    FetchFailure.Corrupt -> Retry.Stop(StopReason.CORRUPT)
    is FetchFailure.OtherFile -> Retry.Stop(StopReason.REFUSED)
    is FetchFailure.Status -> ofStatus(failure, attempt, now)
}

private fun ofStatus(failure: FetchFailure.Status, attempt: Int, now: Instant): Retry = when (failure.status) {
    429, 503 -> again(attempt, StopReason.BUSY, asked(failure.retryAfter, now))
    408, 425, 500, 502, 504 -> again(attempt, StopReason.SERVER)
    401, 403 -> Retry.Stop(StopReason.FORBIDDEN)
    404, 410 -> Retry.Stop(StopReason.MISSING)
    else -> Retry.Stop(StopReason.REFUSED)
}

/** Our own time doubles with each failure; the hub may ask for a longer one, up to a limit. */
private fun again(attempt: Int, reason: StopReason, askedMs: Long = 0): Retry =
    if (attempt > MOST_WAITS || askedMs > LONGEST_WAIT_MS) {
        Retry.Stop(reason)
    } else {
        Retry.Wait(maxOf(askedMs, FIRST_WAIT_MS shl (attempt - 1)))
    }

/** The milliseconds of a `Retry-After`: seconds, or a date. What nobody can read is none. */
private fun asked(header: String?, now: Instant): Long {
    val text = header?.trim() ?: return 0
    text.toLongOrNull()?.let { return it.coerceIn(0, LONGEST_WAIT_MS) * MS }
    return try {
        val date = ZonedDateTime.parse(text, DateTimeFormatter.RFC_1123_DATE_TIME)
        maxOf(0, Duration.between(now, date.toInstant()).toMillis())
    } catch (error: DateTimeParseException) {
        0
    }
}

private const val MOST_WAITS = 5
private const val FIRST_WAIT_MS = 1000L
private const val LONGEST_WAIT_MS = 600_000L
private const val MS = 1000L

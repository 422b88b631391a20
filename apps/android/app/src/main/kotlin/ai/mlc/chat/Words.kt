package ai.mlc.chat

import ai.mlc.chat.app.R
import ai.mlc.chatkit.chat.ExportWords
import ai.mlc.chatkit.chat.StatsWords
import ai.mlc.chatkit.chat.bytesText
import ai.mlc.chatkit.download.DownloadState
import ai.mlc.chatkit.download.DownloadStatus
import ai.mlc.chatkit.download.StopReason
import android.content.Context
import android.text.format.DateUtils
import java.util.Locale

/** States in the user's language. */
object Words {
    fun of(context: Context, status: DownloadStatus): String = when (status.state) {
        DownloadState.DOWNLOADING -> progress(context, status)
        DownloadState.WAITING -> context.getString(R.string.state_waiting, duration((status.waitMs ?: 0) / MS))
        DownloadState.FAILED -> reason(context, status)
        else -> context.getString(PLAIN.getValue(status.state))
    }

    private fun progress(context: Context, status: DownloadStatus): String {
        val bytes = bytesText(status.bytes)
        val total = bytesText(status.totalBytes ?: 0)
        val rate = status.bytesPerSecond?.let(::bytesText)
        val left = status.secondsLeft?.let(::duration)
        if (rate == null || left == null) return context.getString(R.string.state_downloading, bytes, total)
        return context.getString(R.string.state_downloading_rate, bytes, total, rate, left)
    }

    private fun reason(context: Context, status: DownloadStatus): String = context.getString(
        when (status.reason ?: StopReason.DAMAGED) {
            StopReason.NETWORK -> R.string.reason_network
            StopReason.BUSY -> R.string.reason_busy
            StopReason.SERVER -> R.string.reason_server
            StopReason.FORBIDDEN -> R.string.reason_forbidden
            StopReason.MISSING -> R.string.reason_missing
            StopReason.REFUSED -> R.string.reason_refused
            StopReason.DISK_FULL -> R.string.reason_disk_full
            StopReason.DISK -> R.string.reason_disk
            StopReason.SIZE, StopReason.RANGE -> R.string.reason_other_file
            StopReason.HASH -> R.string.reason_hash
            StopReason.MODEL -> R.string.reason_model
            StopReason.CUT -> R.string.reason_cut
            StopReason.DAMAGED -> R.string.reason_damaged
        },
        status.detail,
    )

    fun export(context: Context) = ExportWords(
        context.getString(R.string.you), context.getString(R.string.model), context.getString(R.string.tool),
        context.getString(R.string.system_prompt), context.getString(R.string.thoughts),
        context.getString(R.string.picture),
    )

    fun stats(context: Context) = StatsWords(
        context.getString(R.string.stats_tokens), context.getString(R.string.stats_speed),
        context.getString(R.string.stats_first), context.getString(R.string.stats_total),
        context.getString(R.string.stats_prompt), context.getString(R.string.stats_cached),
        context.getString(R.string.stats_thoughts), context.getString(R.string.stats_cut),
        context.getString(R.string.stats_stopped), Locale.getDefault(),
    )

    private fun duration(seconds: Long): String = DateUtils.formatElapsedTime(seconds)

    private val PLAIN = mapOf(
        DownloadState.ABSENT to R.string.state_absent,
        DownloadState.LISTING to R.string.state_listing,
        DownloadState.QUEUED to R.string.state_queued,
        DownloadState.PAUSED to R.string.state_paused,
        DownloadState.VERIFYING to R.string.state_verifying,
        DownloadState.READY to R.string.state_ready,
        DownloadState.DELETING to R.string.state_deleting,
    )
    private const val MS = 1000
}

package ai.mlc.chatkit.download

/** Collects samples and gives the numbers of a status. */
internal class Progress(private val clock: () -> Long) {
    private val samples = ArrayDeque<Sample>()

    @Synchronized
    fun take(bytes: Long) {
        val now = clock()
        if (samples.lastOrNull()?.let { it.ms == now } == true) samples.removeLast()
        samples.addLast(Sample(now, bytes))
        while (samples.size > 2 && now - samples[1].ms > KEPT_MS) samples.removeFirst()
    }

    @Synchronized
    fun rate(totalBytes: Long?): Rate = rateOf(samples.toList(), clock(), totalBytes)

    @Synchronized
    fun clear() = samples.clear()

    private companion object {
        const val KEPT_MS = 10_000L
    }
}

package ai.mlc.chatkit.download

import ai.mlc.chatkit.FieldException
import ai.mlc.chatkit.HubAddress
import ai.mlc.chatkit.ModelFile
import ai.mlc.chatkit.ModelFiles
import ai.mlc.chatkit.lenient
import java.io.File
import java.io.IOException
import kotlinx.coroutines.CoroutineScope
import kotlinx.coroutines.Dispatchers
import kotlinx.coroutines.Job
import kotlinx.coroutines.SupervisorJob
import kotlinx.coroutines.async
import kotlinx.coroutines.coroutineScope
import kotlinx.coroutines.currentCoroutineContext
import kotlinx.coroutines.ensureActive
import kotlinx.coroutines.flow.MutableStateFlow
import kotlinx.coroutines.flow.StateFlow
import kotlinx.coroutines.launch
import kotlinx.coroutines.sync.Semaphore
import kotlinx.coroutines.sync.withPermit
import kotlinx.serialization.SerializationException
import kotlinx.serialization.json.JsonObject

/**
 * The download of one model into a folder. Its state survives the app: files that are complete have
 * their names, others end in `.partial` and are continued. Any thread may call it.
 */
class ModelDownload internal constructor(
    private val repository: String,
    val folder: File,
    private val rules: DownloadRules,
    private val scope: CoroutineScope,
    private val slots: Semaphore,
) {
    private val lock = Any()
    private val saved = SavedState(File(folder.parentFile, "${folder.name}.state"))

    /** Whether the app ended while it ran, and the user has said nothing since. */
    @Volatile
    var wasInterrupted = saved.wasActive()
        private set
    private val status = MutableStateFlow(saved.relaunched(folder))
    private val progress = Progress(rules::monotonicMs)
    private val corrupt = mutableMapOf<String, Int>()
    private var tries = Tries()
    private var files: List<ModelFile> = emptyList()
    private var run: Job? = null
    private var shownMs = Long.MIN_VALUE / 2

    val states: StateFlow<DownloadStatus> get() = status

    /** Begins or continues. Starting what is running, or ready, has no effect. */
    fun start(): Unit = synchronized(lock) {
        wasInterrupted = false
        if (!send(DownloadEvent.START)) return
        val job = Job(scope.coroutineContext[Job])
        run = job
        scope.launch(job) {
            try {
                work()
            } finally {
                job.complete()
            }
        }
    }

    /** What has arrived stays. */
    fun pause(): Unit = synchronized(lock) {
        wasInterrupted = false
        send(DownloadEvent.PAUSE) { it.copy(bytes = arrived(), bytesPerSecond = null, secondsLeft = null) }
        run?.cancel()
        run = null
    }

    /** Ends the download and removes all files. */
    fun delete(): Unit = synchronized(lock) {
        wasInterrupted = false
        send(DownloadEvent.DELETE)
        run?.cancel()
        run = null
        folder.deleteRecursively()
        progress.clear()
        send(DownloadEvent.DELETED) { DownloadStatus(it.state) }
    }

    /** The engine has found a file damaged: the next start checks all files, and fetches damaged ones again. */
    fun reportCorrupt(detail: String): Unit = synchronized(lock) {
        if (status.value.state != DownloadState.READY) return
        send(DownloadEvent.CORRUPT) { it.copy(reason = StopReason.DAMAGED, detail = detail) }
        Mark.askForCheck(folder)
    }

    // ---- What the coroutine does -----------------------------------------------------------

    private suspend fun work() {
        tries = Tries()
        ifCurrent { Mark.removeDamaged(folder) }
        while (true) {
            try {
                once()
                return
            } catch (error: FieldException) {
                return fail(StopReason.MODEL, error.message.orEmpty())
            } catch (error: FetchException) {
                val attempt = tries.failed(files.sumOf(::bytesOf), files.count(::isThere))
                when (val retry = retryOf(error.failure, attempt, rules.now())) {
                    is Retry.Stop -> return fail(retry.reason, error.path)
                    is Retry.Wait -> waitFor(retry.ms, error.path)
                }
            } catch (error: IOException) { // a file that is there cannot be read or closed
                return fail(StopReason.DISK, error.message.orEmpty())
            }
        }
    }

    private suspend fun waitFor(ms: Long, path: String) {
        ifCurrent {
            send(DownloadEvent.LOST) { it.copy(waitMs = ms, detail = path, bytesPerSecond = null, secondsLeft = null) }
        }
        rules.pause(ms)
        ifCurrent { send(DownloadEvent.RETRY) { it.copy(waitMs = null, detail = "") } }
    }

    private suspend fun fail(reason: StopReason, detail: String): Unit = ifCurrent {
        if (reason in OTHER_FILE) { // the repository may have changed: the next start reads its index again
            for (name in listOf(ModelFiles.CONFIG) + ModelFiles.INDEXES) File(folder, name).delete()
            corrupt.clear()
        }
        send(DownloadEvent.FAIL) { it.copy(reason = reason, detail = detail) }
        Unit
    }

    /** From the list of files to the verified model. */
    private suspend fun once() {
        files = list()
        val total = files.sumOf { it.bytes ?: 0 }
        progress.clear()
        ifCurrent { send(DownloadEvent.LISTED) { it.copy(totalBytes = total, bytes = arrived()) } }
        requireSpace(total)
        while (true) {
            fetchAll()
            ifCurrent { send(DownloadEvent.FETCHED) }
            if (verifyAll()) break
            ifCurrent { send(DownloadEvent.CORRUPT) }
        }
        ifCurrent {
            Mark.write(folder, files)
            send(DownloadEvent.VERIFIED) { DownloadStatus(it.state, total, total) }
        }
    }

    private suspend fun list(): List<ModelFile> {
        val config = json(ModelFiles.CONFIG)
        val statuses = mutableMapOf<String, Int>()
        var name = ModelFiles.index(statuses).next
        while (name != null) {
            try {
                val index = json(name)
                return ModelFiles.list(config, name, index)
            } catch (error: FetchException) {
                val failure = error.failure as? FetchFailure.Status
                if (failure?.status != NOT_FOUND) throw error
                statuses[name] = failure.status
                name = ModelFiles.index(statuses).next
            }
        }
        error("an index was found, or an error was thrown")
    }

    private suspend fun json(path: String): JsonObject {
        val file = File(folder, path)
        if (!file.exists()) {
            fetch(ModelFile(path))
            keep(path)
        }
        return try {
            lenient.decodeFromString(JsonObject.serializer(), file.readText())
        } catch (error: SerializationException) {
            file.delete()
            throw FieldException(path, "is not JSON")
        }
    }

    private fun requireSpace(total: Long) {
        val missing = total - arrived()
        if (rules.freeBytes(folder) < missing) throw FetchException("", FetchFailure.DiskFull)
    }

    private suspend fun fetchAll() = coroutineScope {
        for (file in files.filterNot(::isThere)) {
            launch {
                slots.withPermit {
                    ifCurrent { send(DownloadEvent.SLOT) }
                    fetch(file)
                }
            }
        }
        if (files.all(::isThere)) ifCurrent { send(DownloadEvent.SLOT) }
    }

    /**
     * The read of a dead connection may block for long, and nothing can end it on some platforms. So
     * it is nobody's child: who waits for it can be cancelled, and it can no longer write then.
     */
    private suspend fun fetch(file: ModelFile) {
        val owner = currentCoroutineContext()
        val write = { act: () -> Unit ->
            synchronized(lock) {
                owner.ensureActive()
                act()
            }
        }
        val fetch = FileFetch(HubAddress.file(repository, file.path), file, folder, rules, write, ::arrivedMore)
        val work = detached.async { fetch.run() }
        try {
            work.await()
        } finally {
            if (!work.isCompleted) detached.launch { fetch.abort() }
        }
    }

    private suspend fun verifyAll(): Boolean {
        var isGood = true
        for (file in files.filterNot(::isThere)) {
            val partial = File(folder, file.path + ModelFiles.PARTIAL)
            val context = currentCoroutineContext()
            val earlier = corrupt[file.path] ?: 0
            val check = checkFile(partial.length(), file, earlier) { md5Of(partial) { context.ensureActive() } }
            when (check) {
                FileCheck.Keep -> keep(file.path)
                FileCheck.Continue -> isGood = false
                is FileCheck.FetchAgain -> isGood = false.also { dropCorrupt(file.path, partial) }
                is FileCheck.Fail -> {
                    dropCorrupt(file.path, partial)
                    throw FetchException(file.path, FetchFailure.OtherFile(check.why))
                }
            }
        }
        return isGood
    }

    private suspend fun dropCorrupt(path: String, partial: File) {
        corrupt[path] = (corrupt[path] ?: 0) + 1
        tries = Tries() // what is there became less
        ifCurrent { partial.delete() }
    }

    private suspend fun keep(path: String) = ifCurrent {
        val partial = File(folder, path + ModelFiles.PARTIAL)
        if (!partial.renameTo(File(folder, path))) throw FetchException(path, FetchFailure.Disk)
    }

    // ---- State ---------------------------------------------------------------------------------

    private fun isThere(file: ModelFile): Boolean {
        val path = File(folder, file.path)
        return path.isFile && (file.bytes == null || path.length() == file.bytes)
    }

    /** The bytes of the files whose sizes are known. */
    private fun arrived(): Long = files.filter { it.bytes != null }.sumOf(::bytesOf)

    private fun bytesOf(file: ModelFile): Long {
        val whole = File(folder, file.path)
        return if (whole.isFile) whole.length() else File(folder, file.path + ModelFiles.PARTIAL).length()
    }

    /** Called for each block; files are looked at, and the status changes, ten times a second. */
    private fun arrivedMore() {
        val nowMs = rules.monotonicMs()
        synchronized(lock) {
            if (nowMs - shownMs < SHOWN_EVERY_MS) return
            shownMs = nowMs
            val bytes = arrived()
            progress.take(bytes)
            val now = status.value
            if (now.state != DownloadState.DOWNLOADING) return
            val (speed, left) = progress.rate(now.totalBytes)
            status.value = now.copy(bytes = bytes, bytesPerSecond = speed, secondsLeft = left)
        }
    }

    /** Only the run that was not paused or deleted meanwhile may change something. */
    private suspend fun <T> ifCurrent(act: () -> T): T {
        val context = currentCoroutineContext()
        return synchronized(lock) {
            context.ensureActive()
            act()
        }
    }

    /** Returns whether the state changed. */
    private fun send(event: DownloadEvent, change: (DownloadStatus) -> DownloadStatus = { it }): Boolean {
        val before = status.value
        val state = before.state.after(event)
        if (state == before.state) return false
        val cleared = if (event == DownloadEvent.START) before.copy(reason = null, detail = "", waitMs = null) else before
        val next = change(cleared.copy(state = state))
        saved.write(next)
        status.value = next
        return true
    }

    private companion object {
        const val NOT_FOUND = 404
        const val SHOWN_EVERY_MS = 100L
        val OTHER_FILE = setOf(StopReason.HASH, StopReason.SIZE, StopReason.MODEL)
        val detached = CoroutineScope(SupervisorJob() + Dispatchers.IO)
    }
}

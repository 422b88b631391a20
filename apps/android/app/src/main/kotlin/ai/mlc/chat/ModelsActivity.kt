package ai.mlc.chat

import ai.mlc.chat.app.R
import ai.mlc.chatkit.FieldException
import ai.mlc.chatkit.MemoryDecision
import ai.mlc.chatkit.ModelEntry
import ai.mlc.chatkit.ModelLibrary
import ai.mlc.chatkit.chat.bytesText
import ai.mlc.chatkit.download.DownloadState
import ai.mlc.chatkit.download.DownloadStatus
import ai.mlc.chatkit.engine.RunnerState
import ai.mlc.chatkit.engine.load
import ai.mlc.chatkit.memoryWarning
import android.app.AlertDialog
import android.content.Intent
import android.view.Menu
import android.view.MenuItem
import android.view.View
import android.widget.LinearLayout
import android.widget.ScrollView
import android.widget.TextView
import java.io.File
import kotlinx.coroutines.CoroutineScope
import kotlinx.coroutines.Dispatchers
import kotlinx.coroutines.Job
import kotlinx.coroutines.launch
import kotlinx.coroutines.withContext

/** The list of models: their downloads, and the way into a chat. */
class ModelsActivity : Screen() {
    private lateinit var list: LinearLayout
    private lateinit var loading: TextView
    private var rows: Job? = null

    override fun build() {
        val whole = column()
        whole.addView(button(R.string.chats) { startActivity(Intent(this, ChatsActivity::class.java)) }, WIDE)
        loading = text("", SMALL).apply { accessibilityLiveRegion = View.ACCESSIBILITY_LIVE_REGION_POLITE }
        whole.addView(loading, WIDE)
        list = LinearLayout(this).apply { orientation = LinearLayout.VERTICAL }
        whole.addView(ScrollView(this).apply { addView(list) }, REST)
        whole.addView(button(R.string.add_model) { askModel() }, WIDE)
        setContentView(whole)
        launch { app.library.models.collect(::show) }
        launch { app.runner.states.collect(::showLoading) }
    }

    override fun onCreateOptionsMenu(menu: Menu): Boolean {
        for (words in listOf(R.string.benchmark, R.string.clear_data, R.string.licences)) {
            menu.add(Menu.NONE, words, Menu.NONE, words)
        }
        return true
    }

    override fun onOptionsItemSelected(item: MenuItem): Boolean {
        when (item.itemId) {
            R.string.benchmark -> startActivity(Intent(this, BenchmarkActivity::class.java))
            R.string.licences -> AlertDialog.Builder(this).setTitle(R.string.licences)
                .setMessage(Licences.text).setPositiveButton(R.string.ok, null).show()
            R.string.clear_data -> ask(getString(R.string.clear_data_question), R.string.delete) { clear() }
            else -> return super.onOptionsItemSelected(item)
        }
        return true
    }

    private fun show(models: ModelLibrary.Models) {
        list.removeAllViews()
        rows?.cancel()
        rows = scope.launch {
            for (entry in models.models) addRow(this@launch, entry)
            models.error?.let { list.addView(text(it)) }
            for (bad in models.bad) list.addView(text(getString(R.string.bad_entry, bad.field, bad.why), SMALL))
        }
    }

    private fun addRow(owner: CoroutineScope, entry: ModelEntry) {
        val box = column().also(design::card)
        val state = text("", SMALL).atStart().apply { setTextColor(getColor(R.color.quiet)) }
        val buttons = row()
        box.addView(text(entry.modelId).atStart())
        box.addView(state)
        box.addView(buttons)
        list.addView(box, WIDE)
        val download = app.library.download(entry)
        if (download == null) {
            state.setText(R.string.state_ready)
            buttons.addView(openButton(entry))
            return
        }
        owner.launch {
            var shown: DownloadState? = null
            download.states.collect { status ->
                state.text = Words.of(this@ModelsActivity, status)
                if (status.state != shown) showButtons(buttons, entry, status)
                shown = status.state
            }
        }
    }

    private fun showButtons(buttons: LinearLayout, entry: ModelEntry, status: DownloadStatus) {
        buttons.removeAllViews()
        val download = app.library.download(entry) ?: return
        val state = status.state
        if (state == DownloadState.READY) {
            buttons.addView(openButton(entry))
        } else if (state.isActive) {
            buttons.addView(button(R.string.pause, label(R.string.pause, entry)) { download.pause() })
        } else if (state != DownloadState.DELETING) {
            val words = if (state == DownloadState.ABSENT) R.string.download else R.string.resume
            buttons.addView(button(words, label(words, entry)) { begin(entry) })
        }
        if (state != DownloadState.ABSENT) {
            buttons.addView(button(R.string.delete, label(R.string.delete, entry)) { remove(entry) })
        }
    }

    private fun openButton(entry: ModelEntry) =
        button(R.string.open_chat, label(R.string.open_chat, entry), isMain = true) { load(entry) }

    private fun label(words: Int, entry: ModelEntry) = "${getString(words)}: ${entry.modelId}"

    private fun begin(entry: ModelEntry) {
        val questions = mutableListOf<String>()
        memoryWarning(entry.estimatedVramBytes, PhoneMemory.of(this).availMem)?.let {
            questions += getString(R.string.memory_warning, bytesText(it.needsBytes), bytesText(it.hasBytes))
        }
        if (PhoneNetwork.isMetered(this)) questions += getString(R.string.metered_question)
        if (questions.isEmpty()) return start(entry)
        ask(questions.joinToString("\n\n"), R.string.download) { start(entry) }
    }

    /** The download does not wait for the user's word about notifications: without it only the sign is missing. */
    private fun start(entry: ModelEntry) {
        app.library.download(entry)?.start()
        WorkService.follow(this)
        DownloadJob.follow(this)
        if (Notifications.mustAsk(this)) requestPermissions(arrayOf(Notifications.PERMISSION), 0)
    }

    override fun onRequestPermissionsResult(code: Int, permissions: Array<String>, results: IntArray) {
        super.onRequestPermissionsResult(code, permissions, results)
        if (app.isWorking) WorkService.follow(this) // it shows its notification now
    }

    private fun load(entry: ModelEntry, contextTokens: Long? = null) {
        launch {
            val isReady = app.loadedModel()?.id == entry.modelId || app.runner.load(app.library, entry, contextTokens)
            if (isReady) startActivity(Intent(this, ChatActivity::class.java))
        }
    }

    private fun showLoading(state: RunnerState) {
        loading.text = when (state) {
            RunnerState.Empty -> ""
            is RunnerState.Loading -> getString(R.string.loading, state.modelId, (state.fraction * PERCENT).toInt())
            is RunnerState.Ready -> state.modelId
            is RunnerState.Failed -> getString(R.string.load_failed, state.message)
            is RunnerState.Unloaded -> getString(R.string.unloaded_for_memory, state.modelId)
            is RunnerState.NoMemory -> memoryWords(state)
        }
    }

    private fun memoryWords(state: RunnerState.NoMemory): String = when (val decision = state.decision) {
        is MemoryDecision.Offer -> {
            val words = getString(
                R.string.memory_offer,
                bytesText(decision.needsBytes), bytesText(decision.hasBytes), decision.contextTokens,
            )
            ask(words, R.string.ok) { app.library.model(state.modelId)?.let { load(it, decision.contextTokens) } }
            words
        }
        is MemoryDecision.Refuse ->
            getString(R.string.memory_refused, bytesText(decision.needsBytes), bytesText(decision.hasBytes))
        MemoryDecision.Load -> ""
    }

    /** A model that is loaded ends first, with its answers. */
    private fun remove(entry: ModelEntry) = ask(getString(R.string.delete_question, entry.modelId), R.string.delete) {
        launch { delete(entry) }
    }

    private suspend fun delete(entry: ModelEntry) {
        if (app.loadedModel()?.id == entry.modelId) app.runner.unload()
        withContext(Dispatchers.IO) { app.library.delete(entry) }
    }

    private fun clear() = launch {
        app.runner.unload()
        withContext(Dispatchers.IO) { app.library.clear() }
    }

    private fun askModel() {
        val box = column()
        val place = box.with(field(R.string.add_model_hint, lines = HINT_LINES))
        val known = app.library.models.value.models.firstOrNull()?.modelLib.orEmpty()
        val library = box.with(field(R.string.model_library, known))
        askText(R.string.add_model, box) { add(place.text.toString().trim(), library.text.toString().trim()) }
    }

    private fun add(place: String, library: String) = try {
        val models = app.library
        if (File(place).isDirectory) models.addFolder(File(place), library) else models.addRepository(place, library)
        Unit
    } catch (error: FieldException) {
        say(error.message.orEmpty())
    }

    private companion object {
        const val PERCENT = 100
        const val HINT_LINES = 5
    }
}

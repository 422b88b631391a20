package ai.mlc.chat

import ai.mlc.chat.app.R
import ai.mlc.chatkit.chat.AnswerReport
import ai.mlc.chatkit.chat.Chat
import ai.mlc.chatkit.chat.ChatMessage
import ai.mlc.chatkit.chat.ChosenPictures
import ai.mlc.chatkit.engine.ChatSession
import ai.mlc.chatkit.engine.SessionState
import android.app.AlertDialog
import android.content.Intent
import android.os.Bundle
import android.view.Menu
import android.view.MenuItem
import android.view.View
import android.widget.Button
import android.widget.EditText
import android.widget.HorizontalScrollView
import android.widget.LinearLayout
import android.widget.ScrollView

/** One chat. */
class ChatActivity : Screen() {
    private lateinit var session: ChatSession
    private lateinit var list: LinearLayout
    private lateinit var scroll: ScrollView
    private lateinit var input: EditText
    private lateinit var action: Button
    private lateinit var notice: LinearLayout
    private lateinit var attach: LinearLayout
    private lateinit var chosen: LinearLayout // the pictures of the next question
    private val rows = LinkedHashMap<String, MessageView>()
    private var isAnswering = false

    override fun onCreate(state: Bundle?) {
        session = app.session(state?.getString(CHAT) ?: intent.getStringExtra(CHAT))
        super.onCreate(state)
    }

    override fun onSaveInstanceState(state: Bundle) {
        super.onSaveInstanceState(state)
        state.putString(CHAT, session.chats.value.id)
    }

    override fun build() {
        val whole = column()
        list = LinearLayout(this).apply { orientation = LinearLayout.VERTICAL }
        scroll = ScrollView(this).apply { addView(list) }
        whole.addView(scroll, REST)
        notice = column().apply { accessibilityLiveRegion = View.ACCESSIBILITY_LIVE_REGION_POLITE }
        whole.addView(notice, WIDE)
        chosen = LinearLayout(this).apply {
            orientation = LinearLayout.VERTICAL
            accessibilityLiveRegion = View.ACCESSIBILITY_LIVE_REGION_POLITE
        }
        whole.addView(chosen, WIDE)
        val bottom = row()
        attach = row()
        bottom.addView(attach)
        input = field(R.string.message, lines = INPUT_LINES)
        bottom.addView(input, REST_OF_ROW)
        action = button(R.string.send, isMain = true) { if (isAnswering) launch { session.stop() } else send() }
        bottom.addView(action)
        whole.addView(bottom, WIDE)
        setContentView(whole)
        launch { session.chats.collect(::show) }
        launch { session.states.collect(::showState) }
        launch { session.pictures.collect(::showPictures) }
        launch {
            app.runner.states.collect {
                session.modelChanged()
                showPictureButton()
            }
        }
    }

    private fun send() {
        val words = input.text.toString().trim()
        if (words.isEmpty() && session.pictures.value.urls.isEmpty()) return
        input.setText("")
        WorkService.follow(this)
        launch { session.send(words) }
    }

    /** The button is there only where the model takes pictures. */
    private fun showPictureButton() {
        attach.removeAllViews()
        if (app.loadedModel()?.takesPictures != true) return
        attach.addView(button(R.string.picture) { choose(Intent.ACTION_OPEN_DOCUMENT, ChatFiles.PICTURES, PICTURE) })
    }

    /** Each chosen picture can be taken back. */
    private fun showPictures(pictures: ChosenPictures) {
        chosen.removeAllViews()
        if (pictures.leftOut > 0) chosen.addView(text(getString(R.string.pictures_left_out, pictures.leftOut), SMALL))
        if (pictures.urls.isEmpty()) return
        val line = row()
        for (at in pictures.urls.indices) {
            val words = getString(R.string.take_back, at + 1)
            line.addView(button(R.string.take_back, words) { session.takeBack(at) }.apply { text = words })
        }
        chosen.addView(HorizontalScrollView(this).apply { addView(line) }, WIDE)
    }

    // ---- Messages --------------------------------------------------------------------------

    /** Changes only the views whose messages changed: an answer that grows is one of them. */
    private fun show(chat: Chat) {
        title = chat.shownTitle.ifEmpty { getString(R.string.new_chat) }
        val ids = chat.messages.map { it.id }.toSet()
        for (id in rows.keys.filter { it !in ids }) list.removeView(rows.remove(id)?.view)
        val isAtEnd = !scroll.canScrollVertically(1)
        chat.messages.forEachIndexed { at, message ->
            val row = rows.getOrPut(message.id) { newRow(message) }
            row.show(message)
            row.view.alpha = if (at < chat.dropped) FAINT else 1f // the model does not get it
        }
        if (isAtEnd) scroll.post { scroll.fullScroll(View.FOCUS_DOWN) }
    }

    private fun newRow(message: ChatMessage) =
        MessageView(this, message) { showMenu(message.id) }.also { list.addView(it.view, WIDE) }

    private fun showMenu(id: String) {
        val message = session.chats.value.messages.firstOrNull { it.id == id } ?: return
        val choices = mutableListOf<Pair<Int, () -> Unit>>(
            R.string.copy to { copy(message.content) },
            R.string.retry to { launch { session.retry(id) } },
        )
        if (message.role == ChatMessage.USER) choices += R.string.edit to { edit(message) }
        val reports = Publisher.reports
        if (message.role == ChatMessage.ASSISTANT && reports != null) {
            choices += R.string.report to { report(message, reports) }
        }
        AlertDialog.Builder(this)
            .setItems(choices.map { getString(it.first) }.toTypedArray()) { _, at -> choices[at].second() }
            .show()
    }

    /** The user sees what is sent, and does not leave the app. */
    private fun report(message: ChatMessage, address: String) {
        val box = column()
        box.addView(text(getString(R.string.report_question), SMALL))
        val reason = box.with(field(R.string.report_reason, lines = INPUT_LINES))
        askText(R.string.report, box) {
            val report = AnswerReport(app.loadedModel()?.id.orEmpty(), message.content, reason.text.toString().trim())
            launch {
                report.send(address)
                say(getString(R.string.report_sent))
            }
        }
    }

    private fun edit(message: ChatMessage) {
        val words = field(R.string.message, message.content, lines = INPUT_LINES)
        askText(R.string.edit, words) { launch { session.edit(message.id, words.text.toString()) } }
    }

    // ---- State -----------------------------------------------------------------------------

    private fun showState(state: SessionState) {
        isAnswering = state is SessionState.Answering
        action.setText(if (isAnswering) R.string.stop else R.string.send)
        action.contentDescription = action.text
        notice.removeAllViews()
        when (state) {
            is SessionState.Approval -> {
                notice.addView(text(getString(R.string.approve_call, state.call.name, state.call.arguments)))
                val buttons = row()
                buttons.addView(button(R.string.allow, isMain = true) { launch { session.decide(state.call.id, isAllowed = true) } })
                buttons.addView(button(R.string.deny) { launch { session.decide(state.call.id, isAllowed = false) } })
                notice.addView(buttons)
            }
            is SessionState.TooLong -> {
                notice.addView(text(getString(R.string.too_long, state.promptTokens, state.limit)))
                if (state.drop != null) notice.addView(button(R.string.drop_oldest) { launch { session.dropOldest() } })
            }
            SessionState.ContextReached -> notice.addView(text(getString(R.string.context_reached)))
            is SessionState.Failed -> notice.addView(text(state.message))
            else -> Unit
        }
    }

    // ---- Menu ------------------------------------------------------------------------------

    override fun onCreateOptionsMenu(menu: Menu): Boolean {
        for (words in MENU) menu.add(Menu.NONE, words, Menu.NONE, words)
        return true
    }

    override fun onOptionsItemSelected(item: MenuItem): Boolean {
        val chat = session.chats.value
        when (item.itemId) {
            R.string.settings ->
                startActivity(Intent(this, SettingsActivity::class.java).putExtra(CHAT, chat.id))
            R.string.rename -> rename(chat)
            R.string.reset -> launch { session.reset() }
            R.string.export_json -> export(chat, ChatFiles.Format.JSON)
            R.string.export_markdown -> export(chat, ChatFiles.Format.MARKDOWN)
            else -> return super.onOptionsItemSelected(item)
        }
        return true
    }

    private fun rename(chat: Chat) {
        val words = field(R.string.rename, chat.shownTitle)
        askText(R.string.rename, words) { launch { session.rename(words.text.toString().trim()) } }
    }

    // ---- Files ---------------------------------------------------------------------------------

    private fun export(chat: Chat, format: ChatFiles.Format) =
        choose(Intent.ACTION_CREATE_DOCUMENT, format.type, format.ordinal, ChatFiles.name(chat, format))

    /** Another app lets the user choose a file. The request code says for what, also after this screen was made anew. */
    private fun choose(action: String, type: String, code: Int, name: String? = null) {
        val asked = Intent(action).setType(type).addCategory(Intent.CATEGORY_OPENABLE)
        startActivityForResult(asked.putExtra(Intent.EXTRA_TITLE, name), code)
    }

    override fun onActivityResult(code: Int, result: Int, data: Intent?) {
        super.onActivityResult(code, result, data)
        val place = data?.data?.takeIf { result == RESULT_OK } ?: return
        launch {
            if (code == PICTURE) {
                session.choose(ChatFiles.picture(this, place))
            } else {
                ChatFiles.save(this, session.chats.value, ChatFiles.Format.values()[code], place)
            }
        }
    }

    companion object {
        const val CHAT = "chat"
        private val MENU = listOf(
            R.string.settings, R.string.rename, R.string.reset, R.string.export_json, R.string.export_markdown,
        )
        private const val INPUT_LINES = 5
        private const val FAINT = 0.9f // its contrast is enough to be read
        private const val PICTURE = 100
    }
}

package ai.mlc.chat

import ai.mlc.chat.app.R
import ai.mlc.chatkit.chat.ChatStore
import android.content.Intent
import android.text.Editable
import android.text.TextWatcher
import android.view.Gravity
import android.widget.LinearLayout
import android.widget.ScrollView
import kotlinx.coroutines.Dispatchers
import kotlinx.coroutines.Job
import kotlinx.coroutines.launch
import kotlinx.coroutines.withContext

/** All chats, with a search. */
class ChatsActivity : Screen() {
    private lateinit var list: LinearLayout
    private var words = ""
    private var reading: Job? = null

    override fun build() {
        val whole = column()
        val search = field(R.string.search)
        search.addTextChangedListener(object : TextWatcher {
            override fun afterTextChanged(text: Editable) = read(text.toString())

            override fun beforeTextChanged(text: CharSequence?, start: Int, count: Int, after: Int) = Unit

            override fun onTextChanged(text: CharSequence?, start: Int, before: Int, count: Int) = Unit
        })
        whole.addView(search, WIDE)
        whole.addView(button(R.string.new_chat, isMain = true) { open(null) }, WIDE)
        list = LinearLayout(this).apply { orientation = LinearLayout.VERTICAL }
        whole.addView(ScrollView(this).apply { addView(list) }, REST)
        setContentView(whole)
    }

    override fun onResume() {
        super.onResume()
        read(words)
    }

    private fun read(search: String) {
        words = search
        reading?.cancel()
        reading = scope.launch { show(withContext(Dispatchers.IO) { app.chats.load(search) }) }
    }

    private fun show(found: ChatStore.Found) {
        list.removeAllViews()
        val unreadable = found.numUnreadable
        if (unreadable > 0) list.addView(text(getString(R.string.unreadable_chats, unreadable), SMALL))
        for (chat in found.chats) {
            val line = row()
            val title = text(chat.shownTitle.ifEmpty { getString(R.string.new_chat) }).apply {
                minHeight = dp(TOUCH)
                setGravity(Gravity.CENTER_VERTICAL or Gravity.START)
                setOnClickListener { open(chat.id) }
            }
            line.addView(title, REST_OF_ROW)
            line.addView(
                button(R.string.delete, "${getString(R.string.delete)}: ${title.text}") {
                    app.deleteChat(chat.id)
                    list.removeView(line)
                },
            )
            list.addView(line, WIDE)
        }
    }

    private fun open(id: String?) {
        startActivity(Intent(this, ChatActivity::class.java).putExtra(ChatActivity.CHAT, id))
    }
}

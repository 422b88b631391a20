package ai.mlc.chat

import ai.mlc.chat.app.R
import ai.mlc.chatkit.chat.ChatSettings
import ai.mlc.chatkit.tools.Tools
import android.text.InputType
import android.widget.CheckBox
import android.widget.EditText
import android.widget.ScrollView

/** The settings of one chat. An empty number means the model's own value. */
class SettingsActivity : Screen() {
    private class WrongNumber(val label: String) : Exception()

    override fun build() {
        val session = app.session(intent.getStringExtra(ChatActivity.CHAT))
        val now = session.chats.value.settings
        val box = column()
        val system = box.with(field(R.string.system_prompt, now.system, lines = LINES))
        val temperature = box.with(number(R.string.temperature, now.temperature))
        val topP = box.with(number(R.string.top_p, now.top_p))
        val maxTokens = box.with(number(R.string.max_tokens, now.max_tokens))
        val context = box.with(number(R.string.context, now.context))
        val seed = box.with(number(R.string.seed, now.seed))
        val schema = box.with(field(R.string.schema, now.schema, lines = LINES))
        val tools = listOf(Tools.CALCULATOR to R.string.use_calculator, Tools.CLOCK to R.string.use_clock)
            .map { (name, words) -> name to check(words, name in now.tools).also { box.addView(it, WIDE) } }
        box.addView(
            button(R.string.save, isMain = true) {
                save {
                    ChatSettings(
                        system.text.toString(), decimal(temperature), decimal(topP), whole(maxTokens),
                        whole(context), whole(seed), schema.text.toString(), now.extra,
                        tools.filter { it.second.isChecked }.map { it.first },
                    )
                }
            },
            WIDE,
        )
        setContentView(ScrollView(this).apply { addView(box) })
    }

    private fun save(read: () -> ChatSettings) {
        val settings = try {
            read()
        } catch (error: WrongNumber) {
            return say(getString(R.string.wrong_number, error.label))
        }
        launch {
            app.session(intent.getStringExtra(ChatActivity.CHAT)).settings(settings)
            finish()
        }
    }

    private fun number(label: Int, value: Number?): EditText = field(
        label, value?.toString().orEmpty(),
        InputType.TYPE_CLASS_NUMBER or InputType.TYPE_NUMBER_FLAG_DECIMAL or InputType.TYPE_NUMBER_FLAG_SIGNED,
    )

    private fun check(words: Int, isOn: Boolean) = CheckBox(this).apply {
        setText(words)
        isChecked = isOn
        setTextColor(getColor(R.color.text))
        minHeight = dp(TOUCH)
    }

    private fun decimal(field: EditText): Double? = parsed(field) { it.toDoubleOrNull() }

    private fun whole(field: EditText): Long? = parsed(field) { it.toLongOrNull() }

    private fun <T : Any> parsed(field: EditText, parse: (String) -> T?): T? {
        val words = field.text.toString().trim()
        return if (words.isEmpty()) null else parse(words) ?: throw WrongNumber(field.hint.toString())
    }

    private companion object {
        const val LINES = 6
    }
}

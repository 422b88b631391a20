package standin

import ai.mlc.chat.BenchmarkActivity
import ai.mlc.chat.ChatActivity
import ai.mlc.chat.ChatApp
import ai.mlc.chat.ChatFiles
import ai.mlc.chat.ChatsActivity
import ai.mlc.chat.DownloadJob
import ai.mlc.chat.MessageView
import ai.mlc.chat.ModelsActivity
import ai.mlc.chat.Notifications
import ai.mlc.chat.Publisher
import ai.mlc.chat.Screen
import ai.mlc.chat.SettingsActivity
import ai.mlc.chat.WorkService
import ai.mlc.chat.app.R
import ai.mlc.chatkit.chat.AnswerStats
import ai.mlc.chatkit.chat.Chat
import ai.mlc.chatkit.chat.ChatMessage
import ai.mlc.chatkit.chat.ChatSettings
import ai.mlc.chatkit.chat.ChatStore
import ai.mlc.chatkit.chat.ToolCall
import ai.mlc.chatkit.download.DownloadState
import ai.mlc.chatkit.engine.LoadTarget
import android.app.ActivityManager
import android.app.AlertDialog
import android.app.job.JobParameters
import android.app.job.JobScheduler
import android.content.ClipboardManager
import android.content.Intent
import android.net.ConnectivityManager
import android.net.Uri
import android.os.Looper
import android.text.Spanned
import android.view.View
import android.view.ViewGroup
import android.widget.Button
import android.widget.CheckBox
import android.widget.EditText
import android.widget.TextView
import android.widget.Toast
import android.widget.all
import com.sun.net.httpserver.HttpServer
import java.io.File
import java.net.InetSocketAddress
import java.util.Locale
import java.util.concurrent.LinkedBlockingQueue
import javax.imageio.ImageIO
import kotlinx.coroutines.runBlocking
import org.junit.After
import org.junit.Assert.assertEquals
import org.junit.Assert.assertNull
import org.junit.Assert.assertTrue
import org.junit.Rule
import org.junit.Test
import org.junit.rules.TemporaryFolder

/** The app's own screens in several phones: all texts fit, and each becomes a picture. */
class ScreensTest {
    @get:Rule
    val folder = TemporaryFolder()
    private val open = mutableListOf<Screen>()
    private val wrong = mutableListOf<String>()

    @After
    fun close() {
        open.forEach { it.end() }
        Locale.setDefault(Locale.ROOT)
    }

    @Test
    fun english() = draw("light", Device())

    @Test
    fun dark() = draw("dark", Device(isDark = true))

    @Test
    fun german() = draw("german", Device("de"))

    @Test
    fun arabic() = draw("arabic", Device("ar"))

    @Test
    fun chinese() = draw("chinese", Device("zh"))

    @Test
    fun `large letters on a small phone`() = draw("large", Device("de", fontScale = 1.5f, widthDp = 320))

    @Test
    fun `a tablet`() = draw("tablet", Device(widthDp = 800, heightDp = 600, density = 1.2f))

    @Test
    fun `an Arabic tablet in the dark`() =
        draw("tablet-arabic", Device("ar", isDark = true, widthDp = 800, heightDp = 600, density = 1.2f))

    @Test
    fun `the checks find what does not fit`() {
        val app = begin(Device())
        val screen = show(app, BenchmarkActivity(), R.string.benchmark)
        screen.all<Button>().first().text = "A".repeat(2000)
        screen.layOut()
        assertTrue(wrong(screen).toString(), wrong(screen).isNotEmpty())
    }

    @Test
    fun `messages that the model gets no more can still be read`() {
        for (device in listOf(Device(), Device(isDark = true))) {
            val app = begin(device)
            val store = ChatStore(File(app.filesDir, "chats"))
            store.save(store.all().first { it.id == "c1" }.copy(dropped = 2))
            val screen = show(app, ChatActivity(), 0, "c1")
            assertEquals(2, screen.content.all().count { it.alpha < 1f })
            assertEquals(emptyList<String>(), screen.hardToRead())
        }
    }

    @Test
    fun `the checks find what is hard to read and what has no name`() {
        val screen = show(begin(Device()), BenchmarkActivity(), R.string.benchmark)
        assertEquals(emptyList<String>(), screen.hardToRead() + screen.nameless())
        val (first, second) = screen.all<Button>()
        first.alpha = 0.4f
        first.contentDescription = second.contentDescription
        second.text = ""
        screen.all<Button>()[2].contentDescription = ""
        assertEquals(1, screen.hardToRead().size)
        assertEquals(2, screen.nameless().size)
    }

    @Test
    fun `an export goes to the file that the user chooses`() {
        val screen = show(begin(Device()), ChatActivity(), 0, "c1")
        val exports = mapOf(R.string.export_markdown to "md", R.string.export_json to "json")
        for ((item, ending) in exports) {
            screen.choose(item)
            val asked = screen.asked!!.first
            assertEquals(Intent.ACTION_CREATE_DOCUMENT, asked.action)
            assertEquals("How-does-a-paged-cache-work.$ending", asked.getStringExtra(Intent.EXTRA_TITLE))
            screen.answer(null) // the user goes back
            val file = File(folder.root, "export.$ending").apply { writeText("an older and longer file".repeat(10_000)) }
            screen.answer(Intent("").apply { data = Uri(file.path) })
            Looper.runUntil { "block table" in file.readText() }
            assertTrue("an older and longer file" !in file.readText())
        }
        screen.answer(Intent("").apply { data = Uri("/no/such/folder") })
        Looper.runUntil { Toast.shown.any { "/no/such/folder" in it } }
    }

    @Test
    fun `a picture goes with the question, where the model takes pictures`() {
        val app = begin(Device())
        val screen = show(app, ChatActivity(), 0, "c2")
        val fake = File(app.folder, "sees").also { File(System.getProperty("fake.model")).copyRecursively(it) }
        fun button(words: String) = screen.all<Button>().firstOrNull { it.text.toString() == words }
        fun load() = runBlocking { assertTrue(app.runner.load(LoadTarget("sees", fake, "none", "fake"))) }
        load()
        Looper.runUntil { true }
        assertNull(button("Picture"))
        val config = File(fake, "mlc-chat-config.json")
        config.writeText(config.readText().trimStart().replaceFirst("{", "{\"image_token_id\": 496, "))
        load()
        Looper.runUntil { button("Picture") != null }
        button("Picture")!!.run { click!!(this) }
        assertEquals("image/*", screen.asked!!.first.type)
        for ((name, size) in mapOf("large" to ChatFiles.MOST_PICTURE_BYTES.toInt() + 1, "small" to 3)) {
            val file = File(folder.root, name).apply { writeBytes(ByteArray(size) { it.toByte() }) }
            screen.answer(Intent("").apply { data = Uri(file.path) })
        }
        Looper.runUntil { button("Remove picture 1") != null && "A picture may have 17 MB at most" in Toast.shown }
        screen.all<EditText>().single().type("What is it?")
        button("Send")!!.run { click!!(this) }
        val store = ChatStore(File(app.filesDir, "chats"))
        assertEquals(listOf(WorkService::class.java), screen.started.map { it.target }) // a foreground service
        Looper.runUntil { store.search("What is it").any { it.messages[0].pictures == listOf("data:;base64,AAEC") } }
        Looper.runUntil { button("Remove picture 1") == null }
        runBlocking { app.runner.unload() }
    }

    @Test
    fun `a chosen picture is taken back, or left out with a word`() {
        val app = begin(Device())
        val screen = show(app, ChatActivity(), 0, "c2")
        val session = app.session("c2")
        fun button(words: String) = screen.all<Button>().firstOrNull { it.text.toString() == words }
        for (name in 1..3) session.choose("data:,$name")
        Looper.runUntil { button("Remove picture 3") != null }
        button("Remove picture 2")!!.run { click!!(this) }
        Looper.runUntil { button("Remove picture 3") == null }
        assertEquals(listOf("data:,1", "data:,3"), session.pictures.value.urls)
        val fake = LoadTarget("fake", File(System.getProperty("fake.model")), "none", "fake")
        runBlocking { assertTrue(app.runner.load(fake)) }
        Looper.runUntil { screen.all<TextView>().any { it.text.toString() == "$LEFT_OUT 2" } }
        assertNull(button("Remove picture 1"))
        screen.layOut()
        assertEquals(emptyList<String>(), wrong(screen))
        screen.all<EditText>().single().type("What is it?")
        button("Send")!!.run { click!!(this) }
        val store = ChatStore(File(app.filesDir, "chats"))
        Looper.runUntil { store.search("What is it").any { it.messages[0].pictures == null } }
        Looper.runUntil { screen.all<TextView>().none { LEFT_OUT in it.text } }
        runBlocking { app.runner.unload() }
    }

    @Test
    fun `a chat that cannot be read hides no other`() {
        val app = begin(Device())
        File(app.filesDir, "chats/bad.json").writeText("{")
        File(app.filesDir, "chats/folder.json").mkdirs()
        val screen = show(app, ChatsActivity(), R.string.chats)
        Looper.runUntil { screen.all<TextView>().any { it.text.toString() == "Chats that cannot be read: 2" } }
        assertEquals(3, screen.all<Button>().count { "Delete" in it.contentDescription!! })
    }

    @Test
    fun `a chat gets a title of the user`() {
        val app = begin(Device())
        val screen = show(app, ChatActivity(), 0, "c1")
        screen.choose(R.string.rename)
        val dialog = screen.dialog!!
        dialog.content.all().filterIsInstance<EditText>().single().type(" Pages ")
        dialog.accept()
        Looper.runUntil { screen.title.toString() == "Pages" }
        assertEquals("Pages", ChatStore(File(app.filesDir, "chats")).all().first { it.id == "c1" }.title)
    }

    @Test
    fun `a model that goes because memory is short is said`() {
        val app = begin(Device())
        val screen = show(app, ModelsActivity(), R.string.app_name)
        val fake = LoadTarget("fake", File(System.getProperty("fake.model")), "none", "fake")
        runBlocking { assertTrue(app.runner.load(fake)) }
        app.onActivityStarted(screen)
        ActivityManager.isLow = true
        try {
            repeat(2) { app.onTrimMemory(UI_HIDDEN) } // the second one within a minute unloads
            val words = "fake was unloaded because memory was short"
            Looper.runUntil { screen.all<TextView>().any { it.text.toString() == words } }
        } finally {
            ActivityManager.isLow = false
            app.onActivityStopped(screen)
        }
        assertNull(app.loadedModel())
    }

    @Test
    fun `a network that costs by volume is a question, and notifications are asked for`() {
        val app = begin(Device())
        val screen = show(app, ModelsActivity(), R.string.app_name)
        val resume = { screen.all<Button>().first { it.text.toString() == "Resume" }.run { click!!(this) } }
        val download = app.library.download(app.library.model(PAUSED)!!)!!
        ConnectivityManager.isActiveNetworkMetered = true
        try {
            resume()
        } finally {
            ConnectivityManager.isActiveNetworkMetered = false
        }
        val question = screen.dialog!!.content.all().filterIsInstance<TextView>().first().text
        assertEquals(app.device.text(R.string.metered_question), question)
        assertEquals(DownloadState.PAUSED, download.states.value.state)
        assertEquals(emptyList<String>(), screen.wanted)
        screen.dialog!!.accept()
        assertTrue(download.states.value.state.isActive)
        assertEquals(listOf(Notifications.PERMISSION), screen.wanted)
        screen.grant() // the service shows its notification then
        assertEquals(listOf(WorkService::class.java, WorkService::class.java), screen.started.map { it.target })
        val service = WorkService() // after six hours the system ends it: the job goes on
        service.onTimeout(1, DATA_SYNC)
        assertTrue(service.isStopped && download.states.value.state.isActive)
        download.pause()
        resume()
        assertEquals(listOf(Notifications.PERMISSION), screen.wanted) // once
        download.pause()
    }

    @Test
    fun `a download goes on after the system ended the app`() {
        val app = begin(Device())
        val screen = show(app, ModelsActivity(), R.string.app_name)
        JobScheduler.scheduled.clear()
        screen.all<Button>().first { it.text.toString() == "Resume" }.run { click!!(this) }
        val asked = JobScheduler.scheduled.single()
        assertTrue(asked.service == DownloadJob::class.java && asked.isUserInitiated)
        val state = File(app.filesDir, "models/$PAUSED.state")
        Looper.runUntil { state.readText().startsWith("waiting") || state.readText().startsWith("listing") }
        // Another process of the app: the state on the disk is that of a download that ran.
        val again = ChatApp().also {
            it.device = app.device
            it.folder = app.folder
            it.onCreate()
        }
        val download = again.library.download(again.library.model(PAUSED)!!)!!
        assertEquals(DownloadState.PAUSED, download.states.value.state)
        val job = DownloadJob().also {
            it.device = again.device
            it.folder = again.folder
        }
        assertTrue(job.onStartJob(JobParameters()))
        assertTrue(download.states.value.state.isActive)
        assertEquals(listOf(WorkService.NOTIFICATION), job.notified)
        assertTrue(job.onStopJob(JobParameters())) // the network is gone: start it again
        download.pause()
        assertTrue(!job.onStopJob(JobParameters())) // the user's word holds
        val other = DownloadJob().also {
            it.device = again.device
            it.folder = again.folder
        }
        assertTrue(other.onStartJob(JobParameters()))
        assertEquals(DownloadState.PAUSED, download.states.value.state)
        Looper.runUntil { other.wantsMore == false }
        app.library.download(app.library.model(PAUSED)!!)!!.pause()
    }

    @Test
    fun `a model is deleted after a question`() {
        val app = begin(Device())
        val screen = show(app, ModelsActivity(), R.string.app_name)
        val delete = "Delete: $READY"
        screen.all<Button>().first { it.contentDescription.toString() == delete }.run { click!!(this) }
        val download = app.library.download(app.library.model(READY)!!)!!
        assertEquals(DownloadState.READY, download.states.value.state)
        screen.dialog!!.accept()
        Looper.runUntil { download.states.value.state == DownloadState.ABSENT }
    }

    @Test
    fun `the Markdown of an answer becomes views, and only what grows changes`() {
        val app = begin(Device())
        val screen = show(app, ChatActivity(), 0, "c1")
        val answer = "# Title\n\nSome **bold** words\n\n- one\n- two\n\n```kt\nval a = 1\n```\n\n| a | b |\n|---|---|\n| 1 | 2 |\n"
        val message = ChatMessage("x", ChatMessage.ASSISTANT, answer)
        val view = MessageView(screen, message) {}
        val texts = { view.view.all().filterIsInstance<TextView>().map { it.text.toString() } }
        assertEquals(
            listOf("Model", "Title", "Some bold words", "• ", "one", "• ", "two", "val a = 1", "a", "1", "b", "2"), texts(),
        )
        val before = view.view.all().filterIsInstance<TextView>()
        val bold = (before[2].text as Spanned).spans.single()
        assertEquals("bold", "Some bold words".substring(bold.begin, bold.end))
        view.show(message.copy(content = "$answer\nThe end"))
        val after = view.view.all().filterIsInstance<TextView>()
        assertTrue(before.zip(after).all { (old, new) -> old === new })
        assertEquals("The end", after.last().text.toString())
    }

    @Test
    fun `an answer is reported to the publisher, and a refusal is said`() {
        val app = begin(Device())
        val screen = show(app, ChatActivity(), 0, "c1")
        val message = { of: String ->
            val words = screen.all<TextView>().first { of in it.text && it !is EditText }
            generateSequence(words as View) { it.parent }.first { it.click != null }.run { click!!(this) }
        }
        message("block table")
        assertTrue("Report this answer" !in screen.dialog!!.items) // no publisher is named
        val taken = LinkedBlockingQueue<String>()
        val server = HttpServer.create(InetSocketAddress("localhost", 0), 0)
        server.createContext("/") { exchange ->
            taken += exchange.requestBody.readBytes().decodeToString()
            exchange.sendResponseHeaders(if (taken.size == 1) 204 else 503, -1)
            exchange.close()
        }
        server.start()
        Publisher.reports = "http://localhost:${server.address.port}/reports"
        try {
            for (said in listOf("The report was sent", "The report was not taken: status 503 of localhost")) {
                message("block table")
                screen.dialog!!.pick("Report this answer")
                screen.layOut()
                assertEquals(emptyList<String>(), wrong(screen))
                screen.dialog!!.content.all().filterIsInstance<EditText>().single().type(" rude ")
                screen.dialog!!.accept()
                Looper.runUntil { said in Toast.shown }
            }
            message("How does a paged")
            assertTrue("Report this answer" !in screen.dialog!!.items) // it is the user's own
        } finally {
            Publisher.reports = null
            server.stop(0)
        }
        val answer = WORDS.getValue("en")[1]
        assertEquals("""{"model":"","answer":"$answer","reason":"rude"}""", taken.first())
    }

    @Test
    fun `the result of a benchmark can be copied`() {
        val app = begin(Device())
        val fake = File(System.getProperty("fake.model"))
        runBlocking { assertTrue(app.runner.load(LoadTarget("fake", fake, "none", "fake"))) }
        val screen = show(app, BenchmarkActivity(), R.string.benchmark)
        val (measure, _, copy) = screen.all<Button>()
        measure.run { click!!(this) }
        Looper.runUntil { copy.isEnabled && screen.content.all().any { it is TextView && "prompt 512" in it.text } }
        copy.run { click!!(this) }
        val lines = ClipboardManager.copied.lines()
        assertTrue("$lines", STARTS.zip(lines).all { (start, line) -> line.startsWith(start) })
        runBlocking { app.runner.unload() }
    }

    private fun draw(name: String, device: Device) {
        wrong.clear()
        Locale.setDefault(device.locale) // as the system does
        val app = begin(device)
        keep(name, "models", show(app, ModelsActivity(), R.string.app_name))
        val adding = show(app, ModelsActivity(), R.string.app_name)
        adding.all<Button>().first { it.text == device.text(R.string.add_model) }.run { click!!(this) }
        keep(name, "add", adding)
        val licences = show(app, ModelsActivity(), R.string.app_name)
        licences.choose(R.string.licences)
        keep(name, "licences", licences)
        val chats = show(app, ChatsActivity(), R.string.chats)
        Looper.runUntil { chats.all<Button>().size > 3 }
        keep(name, "chats", chats)
        val chat = ChatStore(File(app.filesDir, "chats")).all().first { it.messages.size > 2 }
        repeat(2) { app.session(chat.id).choose("data:,") } // they wait for a model
        keep(name, "chat", show(app, ChatActivity(), 0, chat.id))
        keep(name, "settings", show(app, SettingsActivity(), R.string.settings, chat.id))
        keep(name, "benchmark", show(app, BenchmarkActivity(), R.string.benchmark))
        assertEquals("", wrong.joinToString("\n"))
    }

    private inline fun <reified T : View> Screen.all(): List<T> = content.all().filterIsInstance<T>()

    private fun begin(device: Device): ChatApp {
        val root = folder.newFolder()
        File(root, "mlc-app-config.json").writeText(CONFIG)
        File(root, "files/models").mkdirs()
        for ((model, state) in STATES) File(root, "files/models/$model.state").writeText(state)
        val ready = File(root, "files/models/$READY").apply { mkdirs() }
        File(ready, ".chatkit.json").writeText("""{"files": [{"path": "a", "bytes": 1}]}""")
        File(ready, "a").writeText("x")
        val store = ChatStore(File(root, "files/chats"))
        chats(device.language).forEach(store::save)
        return ChatApp().also {
            it.device = device
            it.folder = root
            it.onCreate()
        }
    }

    private fun show(app: ChatApp, screen: Screen, title: Int, chat: String? = null): Screen {
        val intent = Intent(app, screen.javaClass).putExtra(ChatActivity.CHAT, chat)
        open += screen
        screen.begin(intent, if (title == 0) "" else app.device.text(title))
        screen.layOut()
        Looper.runUntil { true }
        return screen
    }

    private fun keep(name: String, screen: String, shown: Screen) {
        val picture = shown.picture()
        ImageIO.write(picture, "png", File(System.getProperty("pictures"), "$name-$screen.png"))
        wrong += wrong(shown).map { "$name $screen: $it" }
    }

    /** What a user could not read or touch. */
    private fun wrong(screen: Screen): List<String> {
        val device = screen.device
        val least = device.dp(Screen.TOUCH.toFloat())
        val views = screen.content.all() + (screen.dialog?.content?.all() ?: emptyList())
        return views.filterIsInstance<TextView>().mapNotNull { it.cut() } +
            views.filter { it.click != null && it.height < least }.map { "${it.contentDescription} is ${it.height} high" } +
            views.filter { it.click != null && it.width < least }.map { "${it.contentDescription} is ${it.width} wide" } +
            views.filter { it.parent == null && it in screen.content.all() }.flatMap { behindBars(it as ViewGroup) } +
            views.filter { it.isOutside() }.map { "${it.contentDescription ?: it} is outside of its parent" } +
            screen.hardToRead() + screen.nameless()
    }

    /** Texts whose contrast is below WCAG's 4.5. */
    private fun Screen.hardToRead(): List<String> {
        val theme = Theme(device.isDark)
        val inDialog = dialog?.content?.all().orEmpty()
        return (content.all() + inDialog).filterIsInstance<TextView>().filter { it.isEnabled }.mapNotNull { view ->
            val filled = generateSequence(view as View) { it.parent }.mapNotNull { it.background?.fill }.firstOrNull()
            val behind = filled ?: if (view in inDialog) theme.card else windowColour
            val colour = view.inked
            val opacity = generateSequence(view as View) { it.parent }.map { it.alpha }.reduce(Float::times)
            val ratio = contrast(colour, behind, opacity)
            if (ratio < LEAST_CONTRAST) "'${view.text}' has a contrast of $ratio" else null
        }
    }

    /** What can be touched, and has no name for a screen reader, or that of another button. */
    private fun Screen.nameless(): List<String> {
        val controls = content.all().filter { it.click != null || it is EditText || it is CheckBox }
        // A screen reader says the words inside of what can be touched.
        val words = { view: View -> view.all().filterIsInstance<TextView>().joinToString(" ") { it.text } }
        val names = controls.map { it to (it.contentDescription ?: words(it)).toString() }
        val buttons = names.filter { it.first is Button }.groupBy { it.second }.filterValues { it.size > 1 }
        return names.filter { it.second.isBlank() }.map { "${it.first} has no name" } +
            buttons.filterKeys { it.isNotBlank() }.map { "${it.value.size} buttons are called '${it.key}'" }
    }

    /** Since Android 15 the system's bars cover what is below them. */
    private fun behindBars(whole: ViewGroup): List<String> {
        val (least, most) = whole.device.run { statusBar to height - navigationBar }
        return whole.children.filter { it.top < least || it.top + it.height > most }.map { "$it is behind the system's bars" }
    }

    private fun View.isOutside(): Boolean {
        val box: ViewGroup = parent ?: return false
        if (box is android.widget.HorizontalScrollView) return false
        val isScrolled = box is android.widget.ScrollView
        return left < 0 || left + width > box.width || (!isScrolled && top + height > box.height)
    }

    private fun chats(language: String): List<Chat> {
        val words = WORDS[language] ?: WORDS.getValue("en")
        val stats = AnswerStats(96, 412, 256, null, 41.3, null, 0.18, 2.5)
        val call = ToolCall("c", "calculator", """{"expression": "ceil(100 / 16)"}""")
        val messages = listOf(
            ChatMessage("u1", ChatMessage.USER, words[0]),
            ChatMessage("a1", ChatMessage.ASSISTANT, words[1], reasoning = words[2], finish = "stop", stats = stats),
            ChatMessage("u2", ChatMessage.USER, words[3]),
            ChatMessage("a2", ChatMessage.ASSISTANT, "", calls = listOf(call)),
        )
        val settings = ChatSettings(words[2], 0.7, 0.95, 512, 4096, 7, "", "", listOf("calculator"))
        return listOf(
            Chat("c1", updated = 3, messages = messages, settings = settings),
            Chat("c2", updated = 2, title = words[4]), Chat("c3", updated = 1),
        )
    }

    private companion object {
        const val LEAST_CONTRAST = 4.5
        const val UI_HIDDEN = 20
        const val LEFT_OUT = "This model takes no pictures. Left out:"
        val STARTS = listOf("fake on", "prompt 128: ", "prompt 512: ")
        const val DATA_SYNC = 1
        const val PAUSED = "Qwen2.5-0.5B-Instruct-q4f16_1-MLC"
        const val READY = "SmolLM2-135M-Instruct-q4f16_1-MLC"
        val STATES = mapOf(
            READY to "ready\n\n", PAUSED to "paused\n\n",
            "gemma-3-1b-it-q4f16_1-MLC" to "failed\nbusy\n",
        )
        val CONFIG = STATES.keys.plus("Llama-3.2-3B-Instruct-q4f16_1-MLC").joinToString(
            ", ", """{"model_list": [""", """, {"model_id": "no model"}]}""",
        ) { """{"model_id": "$it", "model_lib": "l", "model_url": "https://localhost:9/mlc-ai/$it"}""" }
        val WORDS = mapOf(
            "en" to listOf(
                "How does a paged cache work?",
                "It keeps keys and values in **pages** of `16` tokens. A *block table* says which pages a sequence owns.",
                "The user wants the idea.", "How many pages do 100 tokens need?", "Names for a boat",
            ),
            "de" to listOf(
                "Wie funktioniert ein Cache mit Seiten?",
                "Er hält Schlüssel und Werte in **Seiten** zu `16` Tokens. Eine Blocktabelle nennt die Seiten einer Sequenz.",
                "Gefragt ist die Idee.", "Wie viele Seiten brauchen 100 Tokens?", "Einkaufsliste für Samstag",
            ),
            "zh" to listOf(
                "分页缓存如何工作？", "它把键和值存放在每页 `16` 个词元的**页**中。块表记录一个序列拥有哪些页。",
                "用户想了解思路。", "100 个词元需要多少页？", "船的名字",
            ),
            "ar" to listOf(
                "كيف تعمل الذاكرة المؤقتة؟", "تحفظ المفاتيح والقيم في **صفحات** من `16` رمزًا. لكل تسلسل جدول صفحات.",
                "يريد المستخدم الفكرة.", "كم صفحة يحتاج 100 رمز؟", "أسماء لقارب",
            ),
        )
    }
}

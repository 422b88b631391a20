package ai.mlc.chat

import ai.mlc.chatkit.ModelLibrary
import ai.mlc.chatkit.chat.Chat
import ai.mlc.chatkit.chat.ChatStore
import ai.mlc.chatkit.engine.ChatSession
import ai.mlc.chatkit.engine.LoadedModel
import ai.mlc.chatkit.engine.ModelRunner
import ai.mlc.chatkit.engine.SessionState
import ai.mlc.mlcllm.MLCEngine
import ai.mlc.mlcllm.MLCException
import android.app.Activity
import android.app.Application
import android.os.Bundle
import android.util.Log
import java.io.File
import kotlinx.coroutines.CoroutineScope
import kotlinx.coroutines.Dispatchers
import kotlinx.coroutines.Job
import kotlinx.coroutines.SupervisorJob
import kotlinx.coroutines.launch

/** What outlives the screens: models, the engine, chats. */
class ChatApp : Application(), Application.ActivityLifecycleCallbacks {
    val scope = CoroutineScope(SupervisorJob() + Dispatchers.Default)
    val runner = ModelRunner()
    lateinit var library: ModelLibrary
        private set
    lateinit var chats: ChatStore
        private set
    private val sessions = mutableMapOf<String, ChatSession>()
    private var visible = 0
    private var watch: Job? = null

    override fun onCreate() {
        super.onCreate()
        try {
            MLCEngine.setDirectories(cache = cacheDir.path)
        } catch (error: MLCException) { // the list of models says it when a model is loaded
            Log.e("mlc_chat", error.message)
        }
        val config = assets.open("mlc-app-config.json").use { it.readBytes().decodeToString() }
        val root = getExternalFilesDir(null) ?: filesDir // a computer can put models there
        library = ModelLibrary(config, File(root, "models"), File(root, "bundle"), scope)
        chats = ChatStore(File(filesDir, "chats"))
        registerActivityLifecycleCallbacks(this)
    }

    /** The session of a chat; a screen that comes back finds the answer that still runs. */
    @Synchronized
    fun session(id: String?): ChatSession {
        sessions[id]?.let { return it }
        val chat = chats.all().firstOrNull { it.id == id } ?: Chat(created = System.currentTimeMillis())
        return ChatSession(chat, chats, scope) { loadedModel() }.also { sessions[chat.id] = it }
    }

    @Synchronized
    fun deleteChat(id: String) {
        val session = sessions.remove(id)
        scope.launch {
            session?.stop()
            chats.delete(id)
        }
    }

    fun loadedModel(): LoadedModel? = runner.loaded

    override fun onTrimMemory(level: Int) {
        super.onTrimMemory(level)
        scope.launch { runner.onTrimMemory(level, PhoneMemory.of(this@ChatApp).lowMemory) }
    }

    // An answer that runs keeps the foreground service, and so the engine; else the engine pauses.
    override fun onActivityStarted(activity: Activity) {
        if (visible++ > 0) return
        runner.resume()
        watch = scope.launch { PhoneMemory.watch(this@ChatApp, runner) }
    }

    override fun onActivityStopped(activity: Activity) {
        if (--visible == 0) watch?.cancel()
        pauseIfHidden()
    }

    fun pauseIfHidden() {
        if (visible == 0 && !WorkService.isRunning) runner.pause()
    }

    /** Whether an answer or a download runs. */
    val isWorking: Boolean
        @Synchronized get() = sessions.values.any { it.states.value == SessionState.Answering } || isDownloading

    val isDownloading: Boolean
        get() = library.models.value.models.any { library.download(it)?.states?.value?.state?.isActive == true }

    override fun onActivityCreated(activity: Activity, state: Bundle?) = Unit

    override fun onActivityResumed(activity: Activity) = Unit

    override fun onActivityPaused(activity: Activity) = Unit

    override fun onActivitySaveInstanceState(activity: Activity, state: Bundle) = Unit

    override fun onActivityDestroyed(activity: Activity) = Unit
}

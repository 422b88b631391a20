package ai.mlc.chat.compose

import ai.mlc.chat.app.R
import ai.mlc.chatkit.ModelEntry
import ai.mlc.chatkit.chat.ChatMessage
import ai.mlc.chatkit.chat.bytesText
import ai.mlc.chatkit.chat.line
import ai.mlc.chatkit.download.DownloadState
import ai.mlc.chatkit.engine.LoadTarget
import ai.mlc.chatkit.engine.RunnerState
import ai.mlc.chatkit.engine.SessionState
import android.content.Intent
import android.os.Bundle
import androidx.activity.ComponentActivity
import androidx.activity.compose.setContent
import androidx.activity.enableEdgeToEdge
import androidx.compose.foundation.layout.Column
import androidx.compose.foundation.layout.Row
import androidx.compose.foundation.layout.fillMaxWidth
import androidx.compose.foundation.layout.padding
import androidx.compose.foundation.layout.safeDrawingPadding
import androidx.compose.foundation.lazy.LazyColumn
import androidx.compose.foundation.lazy.items
import androidx.compose.material3.Button
import androidx.compose.material3.MaterialTheme
import androidx.compose.material3.OutlinedTextField
import androidx.compose.material3.Text
import androidx.compose.material3.darkColorScheme
import androidx.compose.material3.lightColorScheme
import androidx.compose.foundation.isSystemInDarkTheme
import androidx.compose.runtime.Composable
import androidx.compose.runtime.getValue
import androidx.compose.runtime.mutableStateOf
import androidx.compose.runtime.remember
import androidx.compose.runtime.setValue
import androidx.compose.ui.Modifier
import androidx.compose.ui.platform.LocalContext
import androidx.compose.ui.res.stringResource
import androidx.compose.ui.semantics.LiveRegionMode
import androidx.compose.ui.semantics.liveRegion
import androidx.compose.ui.semantics.semantics
import androidx.compose.ui.unit.dp
import androidx.lifecycle.compose.collectAsStateWithLifecycle
import kotlinx.coroutines.launch

/** The face in Compose: models, then a chat. Never built in this repository. */
class MainActivity : ComponentActivity() {
    override fun onCreate(state: Bundle?) {
        super.onCreate(state)
        enableEdgeToEdge()
        setContent {
            val colors = if (isSystemInDarkTheme()) darkColorScheme() else lightColorScheme()
            MaterialTheme(colors) { Face(application as ComposeApp) }
        }
    }

    override fun onStart() {
        super.onStart()
        (application as ComposeApp).runner.resume()
    }

    override fun onStop() {
        val app = application as ComposeApp
        if (app.session.states.value != SessionState.Answering) app.runner.pause()
        super.onStop()
    }
}

@Composable
private fun Face(app: ComposeApp) {
    val state by app.runner.states.collectAsStateWithLifecycle()
    Column(Modifier.safeDrawingPadding().padding(12.dp)) {
        if (state is RunnerState.Ready) ChatScreen(app) else ModelList(app, state)
    }
}

@Composable
private fun ModelList(app: ComposeApp, state: RunnerState) {
    val models by app.library.models.collectAsStateWithLifecycle()
    val words = when (state) {
        is RunnerState.Loading -> stringResource(R.string.loading, state.modelId, (state.fraction * 100).toInt())
        is RunnerState.Failed -> stringResource(R.string.load_failed, state.message)
        else -> ""
    }
    Text(words, Modifier.semantics { liveRegion = LiveRegionMode.Polite })
    LazyColumn {
        items(models.models, key = { it.modelId }) { ModelRow(app, it) }
        items(models.bad) { Text(stringResource(R.string.bad_entry, it.field, it.why)) }
    }
}

@Composable
private fun ModelRow(app: ComposeApp, entry: ModelEntry) {
    val context = LocalContext.current
    val download = remember(entry) { app.library.download(entry) } ?: return
    val status by download.states.collectAsStateWithLifecycle()
    Column(Modifier.fillMaxWidth().padding(vertical = 8.dp)) {
        Text(entry.modelId)
        if (status.state.isActive) Text("${bytesText(status.bytes)} / ${bytesText(status.totalBytes ?: 0)}")
        Row {
            when {
                status.state == DownloadState.READY -> WordButton(R.string.open_chat) { load(app, entry) }
                status.state.isActive -> WordButton(R.string.pause) { download.pause() }
                else -> WordButton(R.string.download) { DownloadWorker.start(context, entry.modelId) }
            }
            if (status.state != DownloadState.ABSENT) WordButton(R.string.delete) { app.library.delete(entry) }
        }
    }
}

@Composable
private fun WordButton(words: Int, act: () -> Unit) = Button(act) { Text(stringResource(words)) }

private fun load(app: ComposeApp, entry: ModelEntry) {
    val folder = app.library.folder(entry) ?: return
    app.scope.launch { app.runner.load(LoadTarget(entry.modelId, folder, entry.modelLib)) }
}

@Composable
private fun ChatScreen(app: ComposeApp) {
    val session = remember { app.session }
    val chat by session.chats.collectAsStateWithLifecycle()
    val state by session.states.collectAsStateWithLifecycle()
    Column {
        LazyColumn(Modifier.weight(1f)) { items(chat.messages, key = { it.id }) { MessageRow(it) } }
        StateRow(app, state)
        InputRow(app, isAnswering = state is SessionState.Answering)
    }
}

@Composable
private fun MessageRow(message: ChatMessage) {
    val speaker = if (message.role == ChatMessage.USER) R.string.you else R.string.model
    Column(Modifier.fillMaxWidth().padding(vertical = 6.dp)) {
        Text(stringResource(speaker), style = MaterialTheme.typography.labelMedium)
        Text(message.content)
        message.stats?.let { Text(it.line(message.finish, ""), style = MaterialTheme.typography.bodySmall) }
    }
}

@Composable
private fun StateRow(app: ComposeApp, state: SessionState) {
    val session = app.session
    when (state) {
        is SessionState.Approval -> Column {
            Text(stringResource(R.string.approve_call, state.call.name, state.call.arguments))
            Row {
                WordButton(R.string.allow) { app.scope.launch { session.decide(state.call.id, true) } }
                WordButton(R.string.deny) { app.scope.launch { session.decide(state.call.id, false) } }
            }
        }
        is SessionState.TooLong -> Column {
            Text(stringResource(R.string.too_long, state.promptTokens, state.limit))
            if (state.drop != null) {
                WordButton(R.string.drop_oldest) { app.scope.launch { session.dropOldest() } }
            }
        }
        is SessionState.Failed -> Text(state.message)
        else -> Unit
    }
}

@Composable
private fun InputRow(app: ComposeApp, isAnswering: Boolean) {
    val context = LocalContext.current
    var words by remember { mutableStateOf("") }
    Row {
        val label = stringResource(R.string.message)
        OutlinedTextField(words, { words = it }, Modifier.weight(1f), label = { Text(label) })
        Button({
            if (isAnswering) {
                app.scope.launch { app.session.stop() }
            } else if (words.isNotBlank()) {
                val question = words.trim()
                words = ""
                context.startForegroundService(Intent(context, AnswerService::class.java))
                app.scope.launch { app.session.send(question) }
            }
        }) { Text(stringResource(if (isAnswering) R.string.stop else R.string.send)) }
    }
}

package dev.stepwell.example

import androidx.compose.foundation.layout.Arrangement
import androidx.compose.foundation.layout.Column
import androidx.compose.foundation.layout.PaddingValues
import androidx.compose.foundation.layout.Row
import androidx.compose.foundation.layout.fillMaxWidth
import androidx.compose.foundation.layout.imePadding
import androidx.compose.foundation.layout.padding
import androidx.compose.foundation.lazy.LazyColumn
import androidx.compose.foundation.lazy.items
import androidx.compose.foundation.lazy.rememberLazyListState
import androidx.compose.material3.AlertDialog
import androidx.compose.material3.Button
import androidx.compose.material3.Card
import androidx.compose.material3.MaterialTheme
import androidx.compose.material3.OutlinedTextField
import androidx.compose.material3.Scaffold
import androidx.compose.material3.Text
import androidx.compose.material3.TextButton
import androidx.compose.runtime.Composable
import androidx.compose.runtime.LaunchedEffect
import androidx.compose.runtime.getValue
import androidx.compose.runtime.mutableStateOf
import androidx.compose.runtime.saveable.rememberSaveable
import androidx.compose.runtime.setValue
import androidx.compose.ui.Alignment
import androidx.compose.ui.Modifier
import androidx.compose.ui.text.style.TextAlign
import androidx.compose.ui.unit.dp
import androidx.lifecycle.compose.collectAsStateWithLifecycle
import dev.stepwell.ChatConnection
import dev.stepwell.ChatMessage
import dev.stepwell.ChatPart
import dev.stepwell.ChatRole
import dev.stepwell.ChatSession
import dev.stepwell.ChatState
import dev.stepwell.PendingKind
import dev.stepwell.ToolCallStatus
import dev.stepwell.ToolCard
import dev.stepwell.example.chat.Chat
import dev.stepwell.isBusy
import kotlinx.serialization.json.JsonPrimitive

@Composable
fun ChatScreen(
    chat: Chat,
    session: ChatSession?,
    problem: String?,
    draft: String,
    onType: (String) -> Unit,
    onSend: () -> Unit,
) {
    val shown = session?.state?.collectAsStateWithLifecycle()?.value
    val messages = shown?.messages.orEmpty()
    val list = rememberLazyListState()
    LaunchedEffect(messages) {
        if (messages.isNotEmpty()) list.scrollToItem(messages.lastIndex, Int.MAX_VALUE)
    }
    Scaffold(bottomBar = { Entry(shown, draft, onType, onSend, onStop = { session?.cancel() }) }) { inner: PaddingValues ->
        LazyColumn(
            modifier = Modifier.padding(inner).padding(horizontal = 16.dp),
            state = list,
            verticalArrangement = Arrangement.spacedBy(12.dp),
        ) {
            items(messages, key = { it.id }) { Item(it) }
            if (shown?.connection is ChatConnection.Offline) item { Text("There is no network.") }
            (shown?.problem?.message ?: problem)?.let { message ->
                item { Text(message, color = MaterialTheme.colorScheme.error) }
            }
            if (shown?.problem?.isRetryable == true) item { TextButton({ chat.retry() }) { Text("Try again") } }
        }
    }
    if (shown != null) Ask(shown, chat)
}

@Composable
private fun Item(message: ChatMessage) {
    Column(Modifier.fillMaxWidth(), verticalArrangement = Arrangement.spacedBy(8.dp)) {
        for (part in message.parts) {
            when (part) {
                is ChatPart.Text -> Words(part.text, message.role)
                is ChatPart.Tool -> Tool(part.card)
                else -> Unit
            }
        }
    }
}

@Composable
private fun Words(text: String, role: ChatRole) {
    if (role == ChatRole.USER) {
        Text(text, Modifier.fillMaxWidth(), color = MaterialTheme.colorScheme.primary, textAlign = TextAlign.End)
    } else {
        Text(text)
    }
}

@Composable
private fun Tool(card: ToolCard) {
    Card(Modifier.fillMaxWidth()) {
        Column(Modifier.padding(12.dp)) {
            Text("${sign(card.status)} ${card.name}", style = MaterialTheme.typography.labelLarge)
            (card.result ?: card.failure)?.let { Text(it, style = MaterialTheme.typography.bodySmall) }
        }
    }
}

private fun sign(status: ToolCallStatus): String = when (status) {
    ToolCallStatus.COMPLETED -> "✓"
    ToolCallStatus.FAILED, ToolCallStatus.DENIED, ToolCallStatus.CANCELLED -> "✗"
    else -> "…"
}

@Composable
private fun Entry(
    state: ChatState?,
    draft: String,
    onType: (String) -> Unit,
    onSend: () -> Unit,
    onStop: () -> Unit,
) {
    Row(
        Modifier.fillMaxWidth().imePadding().padding(16.dp),
        horizontalArrangement = Arrangement.spacedBy(8.dp),
        verticalAlignment = Alignment.CenterVertically,
    ) {
        OutlinedTextField(draft, onType, Modifier.weight(1f), label = { Text("Message") })
        val isBusy = state?.status?.isBusy == true
        if (isBusy) Button(onStop) { Text("Stop") }
        if (!isBusy || draft.isNotBlank()) Button(onSend, enabled = state != null && draft.isNotBlank()) { Text("Send") }
    }
}

/** One question after the other. */
@Composable
private fun Ask(state: ChatState, chat: Chat) {
    val pending = state.pending.firstOrNull { it.kind != PendingKind.RESULT }
    val interrupt = state.interrupts.firstOrNull()
    when {
        pending?.kind == PendingKind.APPROVAL ->
            AskApproval("Allow ${pending.tool}?", pending.arguments.toString(), { chat.approve(pending.id) }, { chat.deny(pending.id) })
        pending != null ->
            AskText(pending.id, pending.message ?: "The tool asks you.", chat)
        interrupt != null ->
            AskText(interrupt.id, interrupt.message ?: "The agent asks you.", chat)
    }
}

@Composable
private fun AskApproval(title: String, text: String, onAllow: () -> Unit, onDeny: () -> Unit) {
    AlertDialog(
        onDismissRequest = onDeny,
        title = { Text(title) },
        text = { Text(text) },
        confirmButton = { TextButton(onAllow) { Text("Allow") } },
        dismissButton = { TextButton(onDeny) { Text("Deny") } },
    )
}

@Composable
private fun AskText(id: String, message: String, chat: Chat) {
    var answer by rememberSaveable(id) { mutableStateOf("") }
    AlertDialog(
        onDismissRequest = { chat.deny(id) },
        title = { Text(message) },
        text = { OutlinedTextField(answer, { answer = it }, label = { Text("Answer") }) },
        confirmButton = { TextButton({ chat.answer(id, JsonPrimitive(answer)) }) { Text("Answer") } },
        dismissButton = { TextButton({ chat.deny(id) }) { Text("Dismiss") } },
    )
}

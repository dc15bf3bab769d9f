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
import androidx.compose.ui.Alignment
import androidx.compose.ui.Modifier
import androidx.compose.ui.text.style.TextAlign
import androidx.compose.ui.unit.dp
import dev.stepwell.ToolCallStatus
import dev.stepwell.ToolInvocation
import dev.stepwell.example.chat.ChatItem
import dev.stepwell.example.chat.ChatState

@Composable
fun ChatScreen(
    state: ChatState,
    draft: String,
    onType: (String) -> Unit,
    onSend: () -> Unit,
    onStop: () -> Unit,
    onAnswer: (Boolean) -> Unit,
) {
    val list = rememberLazyListState()
    LaunchedEffect(state.items) {
        if (state.items.isNotEmpty()) list.scrollToItem(state.items.lastIndex, Int.MAX_VALUE)
    }
    Scaffold(bottomBar = { Entry(state, draft, onType, onSend, onStop) }) { inner: PaddingValues ->
        LazyColumn(
            modifier = Modifier.padding(inner).padding(horizontal = 16.dp),
            state = list,
            verticalArrangement = Arrangement.spacedBy(12.dp),
        ) {
            items(state.items, key = { it.id }) { Item(it) }
            state.problem?.let { problem ->
                item { Text(problem, color = MaterialTheme.colorScheme.error) }
            }
        }
    }
    state.asking?.let { Question(it, onAnswer) }
}

@Composable
private fun Item(item: ChatItem) {
    when (item) {
        is ChatItem.Person -> Text(
            item.text,
            Modifier.fillMaxWidth(),
            color = MaterialTheme.colorScheme.primary,
            textAlign = TextAlign.End,
        )
        is ChatItem.Model -> Text(item.text)
        is ChatItem.Tool -> Card(Modifier.fillMaxWidth()) {
            Column(Modifier.padding(12.dp)) {
                Text("${sign(item.status)} ${item.name}", style = MaterialTheme.typography.labelLarge)
                if (item.result.isNotEmpty()) Text(item.result, style = MaterialTheme.typography.bodySmall)
            }
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
    state: ChatState,
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
        if (state.running) Button(onStop) { Text("Stop") } else Button(onSend, enabled = draft.isNotBlank()) { Text("Send") }
    }
}

@Composable
private fun Question(invocation: ToolInvocation, onAnswer: (Boolean) -> Unit) {
    AlertDialog(
        onDismissRequest = { onAnswer(false) },
        title = { Text("Allow ${invocation.name}?") },
        text = { Text(invocation.argumentsJson) },
        confirmButton = { TextButton({ onAnswer(true) }) { Text("Allow") } },
        dismissButton = { TextButton({ onAnswer(false) }) { Text("Deny") } },
    )
}

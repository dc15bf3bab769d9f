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
import dev.stepwell.ToolCallStatus
import dev.stepwell.example.chat.Answer
import dev.stepwell.example.chat.ChatItem
import dev.stepwell.example.chat.ChatState
import dev.stepwell.example.chat.Question

@Composable
fun ChatScreen(
    state: ChatState,
    draft: String,
    onType: (String) -> Unit,
    onSend: () -> Unit,
    onStop: () -> Unit,
    onAnswer: (Question, Answer) -> Unit,
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
    state.questions.firstOrNull()?.let { question -> Ask(question) { onAnswer(question, it) } }
}

@Composable
private fun Item(item: ChatItem) {
    when (item) {
        is ChatItem.User -> Text(
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

/** One question after the other. */
@Composable
private fun Ask(question: Question, onAnswer: (Answer) -> Unit) {
    when (question) {
        is Question.Approval ->
            AskApproval("Allow ${question.invocation.name}?", question.invocation.arguments.toString(), onAnswer)
        is Question.FromAgent -> {
            val message = question.interrupt.message ?: "The agent asks you."
            if (question.isApproval) AskApproval("May the agent go on?", message, onAnswer) else AskText(question.id, message, onAnswer)
        }
    }
}

@Composable
private fun AskApproval(title: String, text: String, onAnswer: (Answer) -> Unit) {
    AlertDialog(
        onDismissRequest = { onAnswer(Answer.Denied()) },
        title = { Text(title) },
        text = { Text(text) },
        confirmButton = { TextButton({ onAnswer(Answer.Approved) }) { Text("Allow") } },
        dismissButton = { TextButton({ onAnswer(Answer.Denied()) }) { Text("Deny") } },
    )
}

@Composable
private fun AskText(id: String, message: String, onAnswer: (Answer) -> Unit) {
    var answer by rememberSaveable(id) { mutableStateOf("") }
    AlertDialog(
        onDismissRequest = { onAnswer(Answer.Dismissed) },
        title = { Text(message) },
        text = { OutlinedTextField(answer, { answer = it }, label = { Text("Answer") }) },
        confirmButton = { TextButton({ onAnswer(Answer.Said(answer)) }) { Text("Answer") } },
        dismissButton = { TextButton({ onAnswer(Answer.Dismissed) }) { Text("Dismiss") } },
    )
}

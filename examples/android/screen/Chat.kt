package chat

import android.os.Bundle
import android.util.Log
import androidx.activity.ComponentActivity
import androidx.activity.compose.setContent
import androidx.activity.viewModels
import androidx.compose.foundation.layout.Column
import androidx.compose.foundation.layout.Row
import androidx.compose.foundation.lazy.LazyColumn
import androidx.compose.foundation.lazy.items
import androidx.compose.material3.Button
import androidx.compose.material3.Text
import androidx.compose.material3.TextField
import androidx.compose.runtime.*
import androidx.compose.ui.Modifier
import androidx.lifecycle.ViewModel
import androidx.lifecycle.compose.collectAsStateWithLifecycle
import androidx.lifecycle.viewModelScope
import dev.stepwell.*
import java.time.ZoneId
import kotlinx.coroutines.launch

class ChatModel : ViewModel() {
    private val agent = Agent(Model.agUi("http://10.0.2.2:8000/agent")) {
        tool("get_location", "The time zone that the user is in.") {
            requiresApproval = true
            run { _ -> ZoneId.systemDefault().id }
        }
    }
    val chat = ChatSession(agent.conversation())

    fun act(what: suspend ChatSession.() -> Unit) = viewModelScope.launch {
        try {
            chat.what()
        } catch (failed: StepwellException) {
            Log.w("chat", failed)
        }
    }
}

class ChatActivity : ComponentActivity() {
    private val model: ChatModel by viewModels()

    override fun onCreate(savedInstanceState: Bundle?) {
        super.onCreate(savedInstanceState)
        setContent { Chat(model) }
    }
}

@Composable
fun Chat(model: ChatModel) {
    val state by model.chat.state.collectAsStateWithLifecycle()
    var text by remember { mutableStateOf("") }
    Column {
        LazyColumn(Modifier.weight(1f)) {
            items(state.messages, key = { it.id }) { message -> for (part in message.parts) Part(part) }
        }
        for (waiting in state.pending) Row {
            Text("Allow ${waiting.tool}?")
            Button({ model.act { approve(waiting.id) } }) { Text("Yes") }
            Button({ model.act { deny(waiting.id) } }) { Text("No") }
        }
        state.problem?.let { Button({ model.act { retry() } }) { Text("${it.message} Try again?") } }
        TextField(text, { text = it })
        if (state.status.isBusy) Button(model.chat::cancel) { Text("Stop") }
        else Button({ val said = text; text = ""; model.act { send(said) } }) { Text("Send") }
    }
}

@Composable
fun Part(part: ChatPart) {
    when (part) {
        is ChatPart.Text -> Text(part.text)
        is ChatPart.Tool -> Text("${part.card.label}: ${part.card.status}")
        else -> Unit
    }
}

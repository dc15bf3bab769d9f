package dev.stepwell.example

import android.os.Bundle
import androidx.activity.ComponentActivity
import androidx.activity.compose.setContent
import androidx.activity.enableEdgeToEdge
import androidx.activity.viewModels
import androidx.compose.foundation.isSystemInDarkTheme
import androidx.compose.material3.MaterialTheme
import androidx.compose.material3.darkColorScheme
import androidx.compose.material3.lightColorScheme
import androidx.compose.runtime.getValue
import androidx.lifecycle.compose.collectAsStateWithLifecycle

class MainActivity : ComponentActivity() {
    private val model: ChatViewModel by viewModels()

    override fun onCreate(savedInstanceState: Bundle?) {
        super.onCreate(savedInstanceState)
        enableEdgeToEdge()
        setContent {
            val theme by model.theme.collectAsStateWithLifecycle()
            val dark = theme?.let { it == "dark" } ?: isSystemInDarkTheme()
            MaterialTheme(if (dark) darkColorScheme() else lightColorScheme()) {
                val state by model.chat.state.collectAsStateWithLifecycle()
                val draft by model.draft.collectAsStateWithLifecycle()
                ChatScreen(
                    state = state,
                    draft = draft,
                    onType = model::type,
                    onSend = model::send,
                    onStop = model.chat::stop,
                    onAnswer = model.chat::answer,
                )
            }
        }
    }
}

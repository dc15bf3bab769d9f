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
                val session by model.chat.session.collectAsStateWithLifecycle()
                val problem by model.chat.problem.collectAsStateWithLifecycle()
                val draft by model.draft.collectAsStateWithLifecycle()
                ChatScreen(model.chat, session, problem, draft, onType = model::type, onSend = model::send)
            }
        }
    }
}

package dev.stepwell.example

import android.graphics.Bitmap
import android.graphics.Color
import android.net.ConnectivityManager
import androidx.lifecycle.ViewModelProvider
import dev.stepwell.MockLlm
import dev.stepwell.image
import kotlin.concurrent.thread
import kotlin.test.assertContains
import kotlin.test.assertEquals
import kotlin.test.assertFalse
import kotlin.test.assertSame
import kotlin.test.assertTrue
import kotlinx.serialization.json.jsonArray
import kotlinx.serialization.json.jsonObject
import org.junit.Test
import org.junit.runner.RunWith
import org.robolectric.RobolectricTestRunner
import org.robolectric.Shadows.shadowOf
import org.robolectric.annotation.Config
import org.robolectric.annotation.GraphicsMode
import org.robolectric.annotation.LooperMode
import org.robolectric.shadows.ShadowNetwork

/** The example app, as its user has it, on Android's own framework. */
@RunWith(RobolectricTestRunner::class)
@Config(sdk = [35], qualifiers = "w400dp-h800dp-xhdpi")
@GraphicsMode(GraphicsMode.Mode.NATIVE)
@LooperMode(LooperMode.Mode.PAUSED)
class AppTest {
    /** The app with an agent that does this. */
    private fun withApp(vararg hops: String, use: (Phone, MockLlm) -> Unit) = MockLlm(*hops).use { mock ->
        BuildConfig.AGENT = mock.baseUrl.removeSuffix("/v1") + "/ag-ui"
        Phone().use { use(it, mock) }
    }

    private fun Phone.say(text: String) {
        type(text)
        press("Send")
    }

    private fun Phone.model() = ViewModelProvider(activity)[ChatViewModel::class.java]

    @Test
    fun aQuestionIsAnswered() = withApp(MockLlm.text("Hello, you.")) { phone, mock ->
        phone.picture("1-empty")
        phone.say("Hi")
        phone.awaitText("Hello, you.")
        // The button says so when the turn is over.
        phone.awaitNoText("Stop")
        phone.picture("2-answer")
        assertEquals(0, mock.failures().size)
    }

    @Test
    fun aToolAsksFirst() = withApp(MockLlm.call("get_location", "{}"), MockLlm.text("You are there.")) { phone, mock ->
        phone.say("Where am I?")
        phone.awaitText("Allow get_location?")
        phone.picture("3-approval")
        phone.press("Allow")
        phone.awaitText("You are there.")
        phone.awaitText("✓ get_location")
        phone.picture("4-approved")
        val result = mock.requests().last().getValue("body").jsonObject.getValue("messages").jsonArray.last()
        assertContains(result.toString(), java.time.ZoneId.systemDefault().id)
    }

    @Test
    fun aToolIsDenied() = withApp(MockLlm.call("get_location", "{}"), MockLlm.text("As you like.")) { phone, _ ->
        phone.say("Where am I?")
        phone.awaitText("Allow get_location?")
        phone.press("Deny")
        phone.awaitText("As you like.")
        phone.awaitText("✗ get_location")
    }

    @Test
    fun aToolChangesTheTheme() = withApp(MockLlm.call("set_theme", """{"theme":"dark"}"""), MockLlm.text("Done.")) { phone, _ ->
        phone.say("Dark, please")
        phone.awaitText("Done.")
        assertEquals("dark", phone.model().theme.value)
        phone.picture("5-dark")
    }

    @Test
    fun theUserStopsAnAnswer() = withApp(MockLlm.stall("On and on")) { phone, _ ->
        phone.say("Go")
        phone.awaitText("On and on")
        phone.press("Stop")
        phone.awaitNoText("Stop")
        phone.awaitText("Send")
    }

    @Test
    fun aTurnOutlivesARotation() = withApp(MockLlm.stall("Half an")) { phone, _ ->
        phone.say("Go")
        phone.awaitText("Half an")
        phone.type("a draft")
        val (activity, model) = phone.activity to phone.model()
        phone.rotate()
        assertTrue(activity !== phone.activity)
        assertSame(model, phone.model())
        phone.awaitText("Half an")
        phone.awaitText("a draft")
        phone.awaitText("Stop")
        phone.picture("6-rotated")
    }

    @Test
    fun aRequestWaitsForTheNetwork() = withApp(MockLlm.text("Here I am.")) { phone, mock ->
        val connectivity = shadowOf(phone.activity.getSystemService(ConnectivityManager::class.java))
        val network = ShadowNetwork.newInstance(7)
        phone.awaitSession()
        val callbacks = connectivity.networkCallbacks.toList()
        assertEquals(1, callbacks.size)
        // The system calls on a thread of its own.
        thread { callbacks.single().onLost(network) }.join()
        phone.say("Hi")
        phone.awaitText("There is no network.")
        phone.picture("7-offline")
        assertEquals(0, mock.requests().size)
        thread { callbacks.single().onAvailable(network) }.join()
        phone.awaitText("Here I am.")
        phone.awaitNoText("There is no network.")
        phone.die()
        phone.awaitSession()
        assertEquals(1, connectivity.networkCallbacks.size)
        assertFalse(callbacks.single() in connectivity.networkCallbacks)
    }

    @Test
    fun aTurnContinuesOutOfSight() = withApp(MockLlm.text("Here I am.")) { phone, _ ->
        phone.say("Hi")
        phone.leave()
        phone.enter()
        phone.awaitText("Here I am.")
    }

    @Test
    fun aTurnOutlivesItsProcess() = withApp(MockLlm.stall("Half an"), MockLlm.text("A whole answer.")) { phone, mock ->
        phone.say("Go")
        phone.awaitText("Half an")
        phone.type("a draft")
        val model = phone.model()
        phone.die()
        assertTrue(model !== phone.model())
        phone.awaitText("A whole answer.")
        phone.awaitText("a draft")
        phone.awaitNoText("Stop")
        phone.picture("8-revived")
        assertEquals(2, mock.requests().size)
    }

    @Test
    fun aQuestionToTheUserOutlivesItsProcess() =
        withApp(MockLlm.call("get_location", "{}"), MockLlm.text("You are there.")) { phone, _ ->
            phone.say("Where am I?")
            phone.awaitText("Allow get_location?")
            phone.die()
            phone.awaitText("Allow get_location?")
            phone.press("Allow")
            phone.awaitText("You are there.")
        }

    @Test
    fun aBitmapIsAPicture() {
        val bitmap = Bitmap.createBitmap(64, 48, Bitmap.Config.ARGB_8888).apply { eraseColor(Color.RED) }
        // PNG's first bytes.
        assertContains(image(bitmap).json.toString(), "iVBORw0KGgo")
    }
}

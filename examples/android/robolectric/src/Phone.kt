package dev.stepwell.example

import android.graphics.Bitmap
import android.graphics.Canvas
import android.os.Bundle
import android.os.Looper
import android.view.View
import android.view.ViewGroup
import androidx.compose.ui.node.RootForTest
import androidx.compose.ui.semantics.SemanticsActions
import androidx.compose.ui.semantics.SemanticsNode
import androidx.compose.ui.semantics.SemanticsProperties
import androidx.compose.ui.semantics.getOrNull
import androidx.compose.ui.text.AnnotatedString
import androidx.lifecycle.ProcessLifecycleOwner
import java.io.File
import java.time.Duration
import kotlin.concurrent.thread
import kotlin.test.fail
import kotlinx.coroutines.runBlocking
import org.robolectric.Robolectric
import org.robolectric.RuntimeEnvironment
import org.robolectric.android.controller.ActivityController
import org.robolectric.shadow.api.Shadow
import org.robolectric.shadows.ShadowDialog
import org.robolectric.shadows.ShadowPausedLooper

/** The app as its user has it: what is on the screen, and what can be done with it. */
class Phone : AutoCloseable {
    init {
        // On a phone a content provider of the library's does this when the process begins.
        val begin = ProcessLifecycleOwner.Companion::class.java.declaredMethods.single { it.name.startsWith("init") }
        begin.isAccessible = true
        begin.invoke(ProcessLifecycleOwner.Companion, RuntimeEnvironment.getApplication())
    }

    private var controller: ActivityController<MainActivity> = Robolectric.buildActivity(MainActivity::class.java).setup()

    val activity: MainActivity get() = controller.get()

    private val app: ChatApplication get() = activity.application as ChatApplication

    /** All that can be read. */
    fun texts(): List<String> = nodes().flatMap { it.texts() }

    fun awaitText(text: String): Unit = await("the text `$text` among ${texts()}") { texts().any { text in it } }

    fun awaitNoText(text: String): Unit = await("that `$text` goes") { texts().none { text in it } }

    fun type(text: String) {
        await("a field to type in") { field() != null }
        field()?.config?.get(SemanticsActions.SetText)?.action?.invoke(AnnotatedString(text))
        awaitText(text)
    }

    /** Presses a button, once it can be pressed. */
    fun press(label: String) {
        await("the button `$label`") { button(label) != null }
        button(label)?.config?.get(SemanticsActions.OnClick)?.action?.invoke()
        turn()
    }

    /** Keeps a picture of the screen, for whoever wants to see it. */
    fun picture(name: String) {
        turn()
        val view = shown().last()
        val picture = Bitmap.createBitmap(view.width, view.height, Bitmap.Config.ARGB_8888)
        view.draw(Canvas(picture))
        val file = File(checkNotNull(System.getProperty("pictures")), "$name.png")
        file.outputStream().use { picture.compress(Bitmap.CompressFormat.PNG, 100, it) }
    }

    /** Turns the phone: the activity is made again. */
    fun rotate() {
        controller.recreate()
        turn()
    }

    /** The user goes to another app. */
    fun leave() {
        controller.pause().stop()
        main().idleFor(OUT_OF_SIGHT)
    }

    /** The user comes back. */
    fun enter() {
        controller.start().resume()
        turn()
    }

    /** Waits until the app has opened its store. */
    fun awaitSession(): Unit = await("the session") { app.chat.session.value != null }

    /** The system ends the process, and the user opens the app again. Only the store's contents are left of the process. */
    fun die() {
        // The session needs the main thread meanwhile.
        val suspending = thread { runBlocking { app.chat.session.value?.suspend() } }
        await("the suspended turn") { !suspending.isAlive }
        app.device?.close()
        val saved = Bundle()
        controller.pause().stop().saveInstanceState(saved).destroy()
        turn()
        app.onCreate()
        controller = Robolectric.buildActivity(MainActivity::class.java)
            .create(saved).start().restoreInstanceState(saved).resume().visible()
        turn()
    }

    /** Lets everything that is due on the main thread happen, until it is so. */
    fun await(what: String, isSo: () -> Boolean) {
        val end = System.nanoTime() + PATIENCE.toNanos()
        turn()
        while (!isSo()) {
            if (System.nanoTime() > end) fail("in vain: $what")
            // What comes of the network comes by the queue of the main thread.
            main().poll(FRAME)
            turn()
        }
    }

    override fun close() {
        app.device?.close()
        controller.pause().stop().destroy()
        // The next phone begins with a process that is out of sight.
        main().idleFor(OUT_OF_SIGHT)
    }

    private fun turn() = main().idleFor(Duration.ofMillis(FRAME))

    private fun main(): ShadowPausedLooper = Shadow.extract(Looper.getMainLooper())

    private fun field(): SemanticsNode? = nodes().lastOrNull { SemanticsActions.SetText in it.config }

    private fun button(label: String): SemanticsNode? = nodes().lastOrNull { node ->
        SemanticsActions.OnClick in node.config && label in node.texts() && SemanticsProperties.Disabled !in node.config
    }

    private fun shown(): List<View> = listOf(activity.window.decorView) +
        ShadowDialog.getShownDialogs().filter { it.isShowing }.mapNotNull { it.window?.decorView }

    private fun nodes(): List<SemanticsNode> =
        shown().flatMap { it.roots() }.flatMap { it.semanticsOwner.rootSemanticsNode.all() }

    private fun View.roots(): List<RootForTest> = listOfNotNull(this as? RootForTest) +
        ((this as? ViewGroup)?.let { group -> (0 until group.childCount).flatMap { group.getChildAt(it).roots() } }).orEmpty()

    private fun SemanticsNode.all(): List<SemanticsNode> = listOf(this) + children.flatMap { it.all() }

    private fun SemanticsNode.texts(): List<String> =
        config.getOrNull(SemanticsProperties.Text).orEmpty().map { it.text } +
            listOfNotNull(config.getOrNull(SemanticsProperties.EditableText)?.text)

    private companion object {
        /** A frame of the screen, in milliseconds. */
        const val FRAME = 16L

        /** Only after a while does the process count as out of sight. */
        val OUT_OF_SIGHT: Duration = Duration.ofSeconds(1)

        /** How long a busy machine may take. */
        val PATIENCE: Duration = Duration.ofMinutes(3)
    }
}

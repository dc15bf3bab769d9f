package dev.stepwell.example

/** What Gradle makes for the app: here each test has an agent of its own. */
object BuildConfig {
    /** The agent to talk to. */
    var AGENT: String = ""
}

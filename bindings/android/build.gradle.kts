plugins {
    // Not applied: AGP has Kotlin built in. It says which version.
    alias(libs.plugins.kotlin.android) apply false
    alias(libs.plugins.android.library) apply false
    alias(libs.plugins.kotlin.serialization) apply false
}

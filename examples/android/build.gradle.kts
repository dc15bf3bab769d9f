plugins {
    // Not applied: AGP has Kotlin built in. It says which version.
    alias(libs.plugins.kotlin.android) apply false
    alias(libs.plugins.android.application) apply false
    alias(libs.plugins.compose) apply false
}

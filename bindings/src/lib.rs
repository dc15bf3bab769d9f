//! Stepwell for Swift, Kotlin and Python.
uniffi::setup_scaffolding!();

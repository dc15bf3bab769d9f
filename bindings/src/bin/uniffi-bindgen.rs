//! Generates the Kotlin and Python bindings.
fn main() {
    uniffi::uniffi_bindgen_main();
}

//! Generates the Swift bindings.
fn main() {
    uniffi::uniffi_bindgen_swift();
}

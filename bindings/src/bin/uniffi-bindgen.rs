//! Generates the sources of the other languages. maturin looks for a program of this name in this package.
#![forbid(unsafe_code)]

fn main() -> impl std::process::Termination {
    stepwell_bindgen::main()
}

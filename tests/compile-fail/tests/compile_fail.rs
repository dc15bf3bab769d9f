//! What is not to compile does not, and it is said why: calls that a state of the run does not allow, and functions that
//! cannot be tools.
//!
//! The `.stderr` files have the words of one compiler version, so the test runs only with that one; what does not
//! compile does not do so with any.

#[test]
fn what_is_not_to_compile_is_refused_with_the_reason() {
    let version =
        std::process::Command::new(std::env::var("RUSTC").unwrap_or_else(|_| "rustc".to_owned()))
            .arg("--version")
            .output();
    let version = version
        .map(|output| String::from_utf8_lossy(&output.stdout).into_owned())
        .unwrap_or_default();
    if !version.starts_with("rustc 1.95.") {
        eprintln!(
            "SKIPPED what_is_not_to_compile_is_refused_with_the_reason: the .stderr files are of rustc 1.95, this is {version}"
        );
        return;
    }
    let cases = trybuild::TestCases::new();
    cases.compile_fail("tests/states/*.rs");
    cases.compile_fail("tests/tools/*.rs");
}

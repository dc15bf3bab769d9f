//! What cannot be a tool does not compile, and it is said why.
//!
//! The `.stderr` files have the words of one compiler version, so the test runs only with that one; what does not
//! compile does not do so with any.

#[test]
fn what_cannot_be_a_tool_is_refused_with_the_reason() {
    let version =
        std::process::Command::new(std::env::var("RUSTC").unwrap_or_else(|_| "rustc".to_owned()))
            .arg("--version")
            .output();
    let version = version
        .map(|output| String::from_utf8_lossy(&output.stdout).into_owned())
        .unwrap_or_default();
    if !version.starts_with("rustc 1.95.") {
        eprintln!(
            "SKIPPED what_cannot_be_a_tool_is_refused_with_the_reason: the .stderr files are of rustc 1.95, this is {version}"
        );
        return;
    }
    trybuild::TestCases::new().compile_fail("tests/compile_fail/*.rs");
}

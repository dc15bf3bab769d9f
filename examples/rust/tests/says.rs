//! The first program does what its guide says.

use std::process::Command;

#[test]
fn the_first_program_prints_the_answer() {
    let output = Command::new(env!("CARGO_BIN_EXE_stepwell-example"))
        .output()
        .expect("it starts");
    assert!(output.status.success(), "{output:?}");
    let said = String::from_utf8_lossy(&output.stdout);
    assert!(
        said.ends_with("Alice's number is 42, Bob's is 7\n"),
        "{said}"
    );
}

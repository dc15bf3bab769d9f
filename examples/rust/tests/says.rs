//! The first program does what its guide says.

use std::process::Command;
use stepwell_mock_llm::{Hop, MockLlm, Script};

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

#[tokio::test]
async fn a_wrong_key_is_said() {
    let refuses = Script::new().hop(Hop::error(401, "Incorrect API key provided"));
    let model = MockLlm::start(refuses).await.expect("it listens");
    let url = model.base_url();
    let ran = tokio::task::spawn_blocking(|| {
        let mut program = Command::new(env!("CARGO_BIN_EXE_stepwell-example"));
        program.arg(url).output().expect("it starts")
    });
    let output = ran.await.expect("it ends");
    assert!(!output.status.success(), "{output:?}");
    let said = String::from_utf8_lossy(&output.stderr);
    let expected = ["Incorrect API key provided", "give another key"];
    assert!(expected.iter().all(|part| said.contains(part)), "{said}");
}

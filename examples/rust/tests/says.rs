//! The first program does what its guide says, also where not all is well.

use serde_json::{Value, json};
use std::io::Read;
use std::process::{Command, Output, Stdio};
use stepwell_mock_llm::{Delivery, Hop, MockLlm, Script};

/// The first program, with this address in the place of its own model's.
fn program(url: impl AsRef<std::ffi::OsStr>) -> Command {
    let mut program = Command::new(env!("CARGO_BIN_EXE_stepwell-example"));
    program.arg(url);
    program
}

async fn run(url: String) -> Output {
    let ran = tokio::task::spawn_blocking(|| program(url).output().expect("it starts"));
    ran.await.expect("it ends")
}

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
async fn the_program_of_the_readme_prints_the_answer() {
    let model = MockLlm::start(Script::secret_numbers())
        .await
        .expect("it listens");
    let url = model.base_url();
    let ran = tokio::task::spawn_blocking(|| {
        Command::new(env!("CARGO_BIN_EXE_ask"))
            .arg(url)
            .output()
            .expect("it starts")
    });
    let output = ran.await.expect("it ends");
    assert!(output.status.success(), "{output:?}");
    let said = String::from_utf8_lossy(&output.stdout);
    assert!(
        said.ends_with("Alice's number is 42, Bob's is 7\n"),
        "{said}"
    );
}

#[tokio::test]
async fn a_picture_is_looked_at() {
    let script = Script::new().hop(Hop::new().text("A shark."));
    let model = MockLlm::start(script).await.expect("it listens");
    let url = model.base_url();
    let picture = std::env::temp_dir().join(format!("stepwell-look-{}.png", std::process::id()));
    std::fs::write(&picture, b"\x89PNG\r\n\x1a\n").expect("a folder for it");
    let shown = picture.clone();
    let ran = tokio::task::spawn_blocking(|| {
        Command::new(env!("CARGO_BIN_EXE_look"))
            .arg(shown)
            .arg(url)
            .output()
            .expect("it starts")
    });
    let output = ran.await.expect("it ends");
    std::fs::remove_file(&picture).expect("it is there");
    assert!(output.status.success(), "{output:?}");
    assert_eq!(String::from_utf8_lossy(&output.stdout), "A shark.\n");
    let content = &model.requests()[0].body["messages"][0]["content"];
    assert_eq!(content[0]["text"], "What is this?");
    assert_eq!(
        content[1]["image_url"]["url"],
        "data:image/png;base64,iVBORw0KGgo="
    );
}

#[tokio::test]
async fn a_conversation_in_an_own_store_outlives_its_process() {
    let script = Script::new()
        .hop(Hop::new().text("Nothing yet."))
        .hop(Hop::new().text("You asked that before."));
    let model = MockLlm::start(script).await.expect("it listens");
    let name = format!("stepwell-stored-{}.db", std::process::id());
    let database = std::env::temp_dir().join(name);
    for expected in ["Nothing yet.\n", "You asked that before.\n"] {
        let (url, database) = (model.base_url(), database.clone());
        let ran = tokio::task::spawn_blocking(|| {
            Command::new(env!("CARGO_BIN_EXE_stored"))
                .arg(database)
                .arg(url)
                .output()
                .expect("it starts")
        });
        let output = ran.await.expect("it ends");
        assert!(output.status.success(), "{output:?}");
        assert_eq!(String::from_utf8_lossy(&output.stdout), expected);
    }
    std::fs::remove_file(&database).expect("it is there");
    let messages = model.requests()[1].body["messages"].clone();
    let messages = messages.as_array().expect("messages");
    assert_eq!(messages.len(), 3);
    assert_eq!(messages[1]["content"], "Nothing yet.");
}

#[tokio::test]
async fn the_typed_answer_is_asked_for_until_it_can_be_decoded() {
    let script = Script::new()
        .hop(Hop::new().text(r#"{"city":"Bergen"}"#))
        .hop(Hop::new().text(r#"{"city":"Bergen","days":-3}"#))
        .hop(Hop::new().text(r#"{"city":"Bergen","days":3}"#));
    let model = MockLlm::start(script).await.expect("it listens");
    let url = model.base_url();
    let ran = tokio::task::spawn_blocking(|| {
        Command::new(env!("CARGO_BIN_EXE_trip"))
            .arg(url)
            .output()
            .expect("it starts")
    });
    let output = ran.await.expect("it ends");
    assert!(output.status.success(), "{output:?}");
    assert_eq!(
        String::from_utf8_lossy(&output.stdout),
        "3 days in Bergen\n"
    );
    let told = |number: usize| {
        let messages = model.requests()[number].body["messages"].clone();
        let messages = messages.as_array().cloned().unwrap_or_default();
        messages
            .last()
            .map(|last| last["content"].to_string())
            .unwrap_or_default()
    };
    assert!(told(1).contains("days"), "{}", told(1));
    assert!(told(2).contains("-3"), "{}", told(2));
}

#[tokio::test]
async fn the_program_with_a_token_gets_another_one() {
    let script = Script::new()
        .hop(Hop::error(401, "Expired"))
        .hop(Hop::new().text("Oslo."));
    let model = MockLlm::start(script).await.expect("it listens");
    let url = model.base_url();
    let ran = tokio::task::spawn_blocking(|| {
        Command::new(env!("CARGO_BIN_EXE_tokens"))
            .arg(url)
            .output()
            .expect("it starts")
    });
    let output = ran.await.expect("it ends");
    assert!(output.status.success(), "{output:?}");
    assert_eq!(String::from_utf8_lossy(&output.stdout), "Oslo.\n");
    let requests = model.requests();
    assert_eq!(requests[1].header("authorization"), Some("Bearer new"));
    let said = &requests[1].body["messages"][0]["content"];
    assert_eq!(said, "Answer in one word.");
}

#[tokio::test]
async fn the_program_with_a_guard_refuses_a_call_and_an_answer() {
    let script = Script::new()
        .hop(Hop::new().tool_call("get_secret_number", json!({"name": "bob"})))
        .hop(Hop::new().text("Alice's is 42."));
    let model = MockLlm::start(script).await.expect("it listens");
    let url = model.base_url();
    let ran = tokio::task::spawn_blocking(|| {
        Command::new(env!("CARGO_BIN_EXE_guard"))
            .arg(url)
            .output()
            .expect("it starts")
    });
    let output = ran.await.expect("it ends");
    let said = String::from_utf8_lossy(&output.stderr);
    assert!(
        !output.status.success() && said.contains("it tells the number"),
        "{said}"
    );
    let told = model.requests()[1].body["messages"].to_string();
    assert!(told.contains("Bob's is his own"), "{told}");
}

#[tokio::test]
async fn the_program_whose_tool_asks_brings_the_answer_to_the_model() {
    let script = Script::new()
        .hop(Hop::new().tool_call("ship", json!({})))
        .hop(Hop::new().text("It is on its way."));
    let model = MockLlm::start(script).await.expect("it listens");
    let url = model.base_url();
    let ran = tokio::task::spawn_blocking(|| {
        Command::new(env!("CARGO_BIN_EXE_ship"))
            .arg(url)
            .output()
            .expect("it starts")
    });
    let output = ran.await.expect("it ends");
    assert!(output.status.success(), "{output:?}");
    let requests = model.requests();
    let told = requests[1].body["messages"].to_string();
    assert!(told.contains("it leaves Bergen today"), "{told}");
}

#[tokio::test]
async fn the_program_with_a_budget_says_what_the_turn_cost() {
    let script = Script::new().hop(Hop::new().text("Hi.").usage(100, 10));
    let model = MockLlm::start(script).await.expect("it listens");
    let url = model.base_url();
    let ran = tokio::task::spawn_blocking(|| {
        Command::new(env!("CARGO_BIN_EXE_budget"))
            .arg(url)
            .output()
            .expect("it starts")
    });
    let output = ran.await.expect("it ends");
    let said = String::from_utf8_lossy(&output.stdout);
    assert_eq!(said, "Hi. It cost $0.000045: Success\n");
}

#[tokio::test]
async fn the_program_with_traces_prints_a_line_a_span() {
    let model = MockLlm::start(Script::secret_numbers())
        .await
        .expect("it listens");
    let url = model.base_url();
    let ran = tokio::task::spawn_blocking(|| {
        Command::new(env!("CARGO_BIN_EXE_traced"))
            .arg(url)
            .output()
            .expect("it starts")
    });
    let output = ran.await.expect("it ends");
    let said = String::from_utf8_lossy(&output.stdout);
    let of = |name: &str| {
        let operation = format!("\"gen_ai.operation.name\":\"{name}\"");
        let closed = |line: &&str| line.contains("\"close\"") && line.contains(&operation);
        said.lines().filter(closed).count()
    };
    // The line of a part has the span around it too.
    assert!(of("chat") >= 2 && of("execute_tool") == 2, "{said}");
    assert!(said.contains("\"name\":\"invoke_agent\""), "{said}");
}

/// What every language's first program is tried with.
#[tokio::test]
async fn what_goes_wrong_is_said() {
    let cases: Vec<Value> =
        serde_json::from_str(include_str!("../../../tests/first-contact.json")).expect("JSON");
    // Side by side: some of them pause before they try again.
    futures::future::join_all(cases.iter().map(tried)).await;
}

async fn tried(case: &Value) {
    let script = case.get("hops").map(|hops| json!({ "hops": hops }));
    let model = match script {
        Some(script) => {
            let script = Script::from_json(&script.to_string()).expect("a script");
            Some(MockLlm::start(script).await.expect("it listens"))
        }
        None => None,
    };
    let nobody = || "http://127.0.0.1:2/v1".to_owned();
    let output = run(model.as_ref().map_or_else(nobody, MockLlm::base_url)).await;
    let (said, expected) = if output.status.success() {
        (output.stdout, &case["answers"])
    } else {
        (output.stderr, &case["says"])
    };
    let said = String::from_utf8_lossy(&said);
    let expected = expected.as_str().unwrap_or("nothing of the kind");
    assert!(said.contains(expected), "{case}: {said}");
}

#[tokio::test]
async fn what_is_said_is_shown_at_once_and_the_program_may_be_stopped() {
    let script = Script::new().hop(Hop::new().text("Well").stall());
    let model = MockLlm::start(script).await.expect("it listens");
    let mut program = program(model.base_url());
    let mut running = program.stdout(Stdio::piped()).spawn().expect("it starts");
    let mut stdout = running.stdout.take().expect("a pipe");
    let running = tokio::task::spawn_blocking(move || {
        let mut shown = [0; 4];
        stdout.read_exact(&mut shown).expect("it shows the answer");
        assert_eq!(&shown, b"Well");
        running.kill().expect("it runs");
        running.wait().expect("it ends");
    });
    running.await.expect("it shows what it is told");
    model
        .wait_until(|requests| requests[0].delivery == Delivery::ClientLeft)
        .await;
}

#[tokio::test]
async fn an_answer_in_the_background_survives_each_break() {
    let text = "There were otters in space. ".repeat(5);
    let script = Script::new().hop(Hop::new().text(text.as_str()).drop_every(6));
    let model = MockLlm::start(script).await.expect("it listens");
    let url = model.base_url();
    let ran = tokio::task::spawn_blocking(|| {
        Command::new(env!("CARGO_BIN_EXE_story"))
            .arg(url)
            .output()
            .expect("it starts")
    });
    let output = ran.await.expect("it ends");
    assert!(output.status.success(), "{output:?}");
    assert_eq!(String::from_utf8_lossy(&output.stdout), format!("{text}\n"));
    let requests = model.requests();
    assert!(requests.len() > 5);
    let posts = requests.iter().filter(|request| request.method == "POST");
    assert_eq!(posts.count(), 1);
}

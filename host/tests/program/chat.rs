use crate::file::File;
use crate::program::before;
use crate::run::{Ran, finish, run, stepwell};
use serde_json::{Value, json};
use stepwell_mock_llm::{Hop, MockLlm, Script};

/// Chats with the scripted model; each line of `input` is a question.
pub(crate) fn chat(model: &MockLlm, more: &[&str], input: &str) -> Ran {
    let base_url = model.base_url();
    let arguments = [&["chat"], &before("openai", &base_url)[..], more];
    let mut command = stepwell(&arguments.concat());
    command.env("OPENAI_API_KEY", "test-key");
    finish(command, input.as_bytes())
}

pub(crate) async fn model(script: Script) -> MockLlm {
    MockLlm::start(script).await.expect("the mock starts")
}

#[track_caller]
pub(crate) fn is_content(model: &MockLlm) {
    assert!(model.failures().is_empty(), "{:?}", model.failures());
}

#[tokio::test(flavor = "multi_thread")]
async fn a_session_is_resumed_with_all_that_was_said() {
    let script = Script::new()
        .hop(Hop::new().tool_call("calculator", json!({ "expression": "6 * 7" })))
        .hop(Hop::new().text("It is 42."))
        .hop(Hop::new().text("As I said, 42."));
    let model = model(script).await;
    let file = File::new("turns.db");
    let store = file.store();
    let first = chat(&model, &["--store", &store], "What is \u{1b}[2J6 * 7?\n").succeeded();
    assert!(first.out.ends_with("It is 42.\n"), "{}", first.out);
    let second = chat(&model, &["--store", &store, "--resume"], "Again?\n").succeeded();
    assert_eq!(
        second.out,
        "› What is [2J6 * 7?\n✓ calculator → 42\nIt is 42.\nAs I said, 42.\n"
    );
    is_content(&model);
    let requests = model.requests();
    let messages = requests[2].body["messages"].as_array().expect("messages");
    let said: Vec<_> = messages.iter().map(|message| &message["role"]).collect();
    assert_eq!(said, ["user", "assistant", "tool", "assistant", "user"]);
    let none = chat(&model, &["--store", &store, "--resume", "none"], "");
    assert!(none.failed(2).contains("no session `none`"));
    let none = chat(&model, &["--resume"], "");
    assert!(none.failed(2).contains("--store"));
}

#[test]
fn a_missing_key_is_named() {
    let ran = run(
        &["chat", "--provider", "openai", "--model", "m"],
        b"Hello\n",
    );
    assert!(ran.failed(2).contains("OPENAI_API_KEY"));
    assert_eq!(ran.out, "");
}

#[tokio::test(flavor = "multi_thread")]
async fn the_model_has_a_clock_and_a_calculator() {
    let script = Script::new()
        .hop(
            Hop::new()
                .tool_call("calculator", json!({ "expression": "6 * 7" }))
                .tool_call("clock", json!({ "utc_offset": "+05:45" }))
                .tool_call("calculator", json!({ "expression": "6 / 0" })),
        )
        .hop(Hop::new().text("It is 42."));
    let model = model(script).await;
    let ran = chat(&model, &["--instructions", "Be brief."], "What is 6 * 7?\n").succeeded();

    let lines: Vec<_> = ran.out.lines().collect();
    assert_eq!(lines.len(), 4, "{}", ran.out);
    assert!(
        lines.contains(&"✓ calculator {\"expression\":\"6 * 7\"} → 42"),
        "{}",
        ran.out
    );
    assert!(
        lines
            .iter()
            .any(|line| line.starts_with("✓ clock ") && line.ends_with("day"))
    );
    assert!(
        lines.contains(&"✗ calculator {\"expression\":\"6 / 0\"} → division by zero"),
        "{}",
        ran.out
    );
    assert_eq!(lines[3], "It is 42.");

    is_content(&model);
    let requests = model.requests();
    assert_eq!(requests[0].header("authorization"), Some("Bearer test-key"));
    let messages = requests[1].body["messages"].as_array().expect("messages");
    let said: Vec<&Value> = messages.iter().map(|message| &message["content"]).collect();
    assert_eq!(said[0], "Be brief.");
    assert_eq!(said[3], "42");
    assert!(
        said[4]
            .as_str()
            .is_some_and(|time| time.contains("+05:45, ")),
        "{}",
        said[4]
    );
    assert_eq!(said[5], r#"{"error":"division by zero"}"#);
}

#[tokio::test(flavor = "multi_thread")]
async fn a_conversation_goes_on_from_line_to_line() {
    let script = Script::new()
        .hop(Hop::new().text("Hello, \u{1b}[31mAda\u{1b}[0m."))
        .hop(Hop::new().text("Ada."));
    let model = model(script).await;
    let ran = chat(&model, &[], "I am Ada.\n\n  \r\nWho am I?").succeeded();
    assert_eq!(ran.out, "Hello, [31mAda[0m.\nAda.\n");
    is_content(&model);
    let said: Vec<Value> = model.requests()[1].body["messages"]
        .as_array()
        .expect("messages")
        .iter()
        .map(|message| message["role"].clone())
        .collect();
    assert_eq!(said, ["user", "assistant", "user"]);
}

#[tokio::test(flavor = "multi_thread")]
async fn a_failed_turn_does_not_end_a_pipe_but_its_exit_code_tells() {
    let script = Script::new()
        .hop(Hop::error(401, "Incorrect API key provided"))
        .hop(Hop::new().text("Here I am."));
    let model = model(script).await;
    let ran = chat(&model, &[], "Hello\nAgain\n");
    assert!(ran.failed(1).contains("401"), "{}", ran.err);
    assert_eq!(ran.out, "Here I am.\n");
    assert_eq!(model.requests().len(), 2);
}

#[tokio::test(flavor = "multi_thread")]
async fn a_request_that_is_tried_again_is_said_apart_from_the_answer() {
    let script = Script::new()
        .hop(Hop::error(503, "Busy"))
        .hop(Hop::new().text("Here I am."));
    let model = model(script).await;
    let ran = chat(&model, &[], "Hello\n");
    assert_eq!((ran.code, ran.out.as_str()), (Some(0), "Here I am.\n"));
    let said = ran.err.strip_prefix("stepwell: ").expect("a line");
    assert!(said.contains("503") && said.contains("Busy"), "{said}");
    assert!(
        said.contains("; attempt 2 in ") && said.ends_with(" s\n"),
        "{said}"
    );
}

#[test]
fn a_pipe_without_a_provider_is_answered_by_the_scripted_model() {
    let ran = run(&["chat"], b"hello\n/help\n");
    assert_eq!(ran.code, Some(0), "{}", ran.err);
    assert!(
        ran.out.starts_with("Hello! I am a scripted model."),
        "{}",
        ran.out
    );
    // A command works only for a user who types it.
    assert!(
        ran.out.ends_with("Alice's number is 42, Bob's is 7\n"),
        "{}",
        ran.out
    );
    let begin = "stepwell: no provider is set, so a scripted model answers";
    assert!(ran.err.starts_with(begin), "{}", ran.err);
    assert_eq!(ran.err.lines().count(), 1, "{}", ran.err);
}

#[tokio::test(flavor = "multi_thread")]
async fn a_refused_key_is_one_line() {
    let model = model(Script::new().hop(Hop::error(401, "Incorrect API key provided"))).await;
    let ran = chat(&model, &[], "Hello\n");
    assert_eq!(
        ran.failed(1),
        "the provider answered 401: Incorrect API key provided; give another key"
    );
    assert_eq!(ran.out, "");
    assert_eq!(model.requests().len(), 1);
}

#[tokio::test(flavor = "multi_thread")]
async fn what_came_of_a_broken_answer_is_shown() {
    let model = model(Script::new().hop(Hop::new().text("So far").cut())).await;
    let ran = chat(&model, &[], "Hello\n");
    assert!(
        ran.failed(1).starts_with("the connection failed: "),
        "{}",
        ran.err
    );
    assert_eq!(ran.out, "So far\n");

    let model = self::model(Script::new().hop(Hop::html(200))).await;
    let ran = chat(&model, &[], "Hello\n");
    assert!(ran.failed(1).contains("text/html"), "{}", ran.err);
}

#[tokio::test(flavor = "multi_thread")]
async fn the_rounds_of_tools_have_a_limit() {
    let call = || Hop::new().tool_call("clock", json!({}));
    let model = model(Script::new().hop(call()).hop(call())).await;
    let ran = chat(&model, &["--max-tool-rounds", "1"], "What time is it?\n");
    assert!(ran.failed(1).contains("tool rounds, 1"), "{}", ran.err);
    assert_eq!(model.requests().len(), 2);
}

#[cfg(unix)]
#[tokio::test(flavor = "multi_thread")]
async fn ctrl_c_stops_the_answer_and_closes_its_connection() {
    use std::io::{Read, Write};
    use stepwell_mock_llm::Delivery;

    let model = model(Script::new().hop(Hop::new().text("One").stall())).await;
    let base_url = model.base_url();
    let arguments = [&["chat"], &before("openai-compatible", &base_url)[..]];
    let child = stepwell(&arguments.concat()).spawn();
    let mut child = child.expect("the program starts");
    let mut input = child.stdin.take().expect("a pipe");
    input.write_all(b"Count to two.\n").expect("written");
    let mut begun = [0; 3];
    let mut output = child.stdout.take().expect("a pipe");
    output.read_exact(&mut begun).expect("the answer begins");
    assert_eq!(&begun, b"One");

    let pid = child.id().to_string();
    let killed = std::process::Command::new("kill")
        .args(["-INT", &pid])
        .status();
    assert!(killed.expect("kill runs").success());
    let ran = Ran::from(child.wait_with_output().expect("the program ends"));
    assert_eq!(ran.failed(1), "cancelled");
    model
        .wait_until(|requests| requests[0].delivery == Delivery::ClientLeft)
        .await;
}

/// A call, and a word at the end.
fn calculates() -> Script {
    let call = || Hop::new().tool_call("calculator", json!({ "expression": "6 * 7" }));
    Script::new().hop(call()).hop(Hop::new().text("I see."))
}

#[tokio::test(flavor = "multi_thread")]
async fn the_user_is_asked_before_a_tool_runs() {
    let asks = ["--ask-before", "calculator"];
    for (lines, told) in [
        ("yes\n", "42"),
        ("no, it is Sunday\n", "it is Sunday"),
        ("maybe\ny\n", "42"),
        ("edit {\"expression\": \"6 * 8\"}\n", "48"),
        ("e\n{\"expression\": 6\n{\"expression\": \"6 * 9\"}\n", "54"),
        ("", "nobody answered"),
    ] {
        let model = model(calculates()).await;
        let ran = chat(&model, &asks, &format!("Compute.\n{lines}")).succeeded();
        let question = "? calculator {\"expression\":\"6 * 7\"}\n";
        assert!(ran.out.contains(question), "{lines:?}: {}", ran.out);
        assert!(ran.out.ends_with("I see.\n"), "{lines:?}: {}", ran.out);
        // With the arguments that it ran with.
        let expression = match told {
            "48" => "{\"expression\": \"6 * 8\"} → 48",
            "54" => "{\"expression\": \"6 * 9\"} → 54",
            _ => "{\"expression\":\"6 * 7\"} → ",
        };
        assert!(
            ran.out.contains(&format!(" calculator {expression}")),
            "{}",
            ran.out
        );
        let requests = model.requests();
        let messages = requests[1].body["messages"].as_array().expect("messages");
        let result = messages.last().expect("a result");
        assert_eq!(result["role"], "tool", "{lines:?}");
        let content = result["content"].as_str().unwrap_or_default();
        assert!(content.contains(told), "{lines:?}: {content}");
        is_content(&model);
    }
}

/// A run of an AG-UI agent that ends with a question.
fn asks() -> Hop {
    let ids = |kind: &str| json!({"type": kind, "threadId": "T", "runId": "R"});
    let mut finished = ids("RUN_FINISHED");
    let interrupt = json!({"id": "i1", "reason": "tool_call", "message": "Order it?"});
    finished["outcome"] = json!({"type": "interrupt", "interrupts": [interrupt]});
    let run = Hop::new().bare().raw_frame(ids("RUN_STARTED"));
    run.raw_frame(finished)
}

#[tokio::test(flavor = "multi_thread")]
async fn what_an_agent_asks_in_a_pipe_is_refused_and_said() {
    for (script, runs, is_over) in [
        (
            Script::new().hop(asks()).hop(Hop::new().text("Then not.")),
            2,
            true,
        ),
        // The model asks again after a denial.
        (Script::new().hop(asks()).hop(asks()), 2, false),
    ] {
        let model = model(script).await;
        let url = model.ag_ui_url();
        let arguments = ["chat", "--provider", "ag-ui", "--base-url", &url];
        let ran = finish(stepwell(&arguments), b"Tea, please.\n");
        assert!(
            ran.err.contains("the agent asks `Order it?`"),
            "{}",
            ran.err
        );
        assert_eq!(ran.out.contains("Then not."), is_over, "{}", ran.out);
        let requests = model.requests();
        assert_eq!(requests.len(), runs);
        assert_eq!(requests[1].body["resume"][0]["interruptId"], "i1");
        assert_eq!(requests[1].body["resume"][0]["status"], "cancelled");
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_tool_to_ask_before_has_to_be_there() {
    let model = model(Script::new()).await;
    let ran = chat(&model, &["--ask-before", "abacus"], "");
    let said = ran.failed(2);
    assert!(said.contains("no tool `abacus`"), "{said}");
    assert!(said.contains("clock, calculator"), "{said}");
}

#[tokio::test(flavor = "multi_thread")]
async fn a_compaction_that_has_no_effect_is_refused() {
    let model = model(Script::new()).await;
    for (arguments, why) in [
        (&["--compaction", "summary"][..], "--context-window"),
        (
            &["--compaction", "provider", "--context-window", "9000"],
            "does not compact conversations with this API",
        ),
        (
            &["--summary-model", "openai/small"],
            "add the way with --compaction summary",
        ),
        (
            &["--compaction-at", "1.5"],
            "a number above 0, and 1 at most",
        ),
    ] {
        let ran = chat(&model, arguments, "");
        let said = ran.failed(2);
        assert!(said.contains(why), "{said}");
    }
}

#[cfg(unix)]
#[tokio::test(flavor = "multi_thread")]
async fn a_resumed_session_asks_again_what_was_not_answered() {
    use std::io::{BufRead, BufReader, Write};

    let model = model(calculates()).await;
    let file = File::new("turns.db");
    let store = file.store();
    let base_url = model.base_url();
    let more = ["--store", &store, "--ask-before", "calculator"];
    let arguments = [
        &["chat"],
        &before("openai-compatible", &base_url)[..],
        &more,
    ];
    let child = stepwell(&arguments.concat()).spawn();
    let mut child = child.expect("the program starts");
    let mut input = child.stdin.take().expect("a pipe");
    input.write_all(b"Compute.\n").expect("written");
    let output = child.stdout.take().expect("a pipe");
    let question = "? calculator {\"expression\":\"6 * 7\"}";
    let asked = BufReader::new(output).lines().map_while(Result::ok);
    assert!(asked.into_iter().any(|line| line == question), "it asks");
    child.kill().expect("it is killed");
    child.wait().expect("it is gone");

    let asks = ["--store", &store, "--resume", "--ask-before", "calculator"];
    let ran = chat(&model, &asks, "yes\n").succeeded();
    assert!(ran.out.contains(question), "{}", ran.out);
    assert!(ran.out.ends_with("I see.\n"), "{}", ran.out);
    let requests = model.requests();
    assert_eq!(requests.len(), 2, "the model is not asked again");
    let messages = requests[1].body["messages"].as_array().expect("messages");
    assert_eq!(messages.last().expect("a result")["content"], "42");
}

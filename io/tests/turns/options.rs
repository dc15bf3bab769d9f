//! Turns that are otherwise than their agent, and keys and instructions that the app's code gives.

use crate::support::{Chat, IntoChat as _, says};
use crate::{agent, messages, secret_number, start, watch};
use serde_json::json;
use std::convert::Infallible;
use std::sync::Arc;
use std::sync::atomic::{AtomicU32, Ordering};
use stepwell_io::ErrorKind;
use stepwell_io::config::InstructionsRequest;
use stepwell_io::credentials::{Authorization, CredentialRequest};
use stepwell_io::store::MemoryStore;
use stepwell_io::tool::{Tool, ToolContext};
use stepwell_io::turn::{Failure, Outcome};
use stepwell_mock_llm::{Hop, MockLlm, Script};

async fn yes() -> MockLlm {
    start(Script::new().hop(says("Yes."))).await
}

async fn of_the_agent(_: ToolContext) -> Result<&'static str, Infallible> {
    Ok("of the agent")
}

async fn of_the_turn(_: ToolContext) -> Result<&'static str, Infallible> {
    Ok("of the turn")
}

fn failure(outcome: Outcome) -> Failure {
    match outcome {
        Outcome::Failed { failure } => failure,
        other => panic!("it has not failed: {other:?}"),
    }
}

#[tokio::test]
async fn a_turn_is_otherwise_than_its_agent_and_the_next_one_is_not() {
    let script = Script::new()
        .hop(Hop::new().tool_call_with_id("call-1", "own", json!({})))
        .hop(says("Yes."))
        .hop(says("Again."));
    let server = start(script).await;
    let agent = agent(&server)
        .instructions("Be kind.")
        .tool(Tool::new("work", "Works."), of_the_agent)
        .tool(Tool::new("rest", "Rests."), of_the_agent)
        .chat();
    let run = agent
        .run("Hello")
        .instructions("Be brief.")
        .settings(|settings| settings.temperature = Some(0.0))
        .limits(|limits| limits.max_tool_rounds = 1)
        .tool_names(["rest"])
        .tool(Tool::new("own", "Of this turn."), of_the_turn)
        .user("user-7")
        .header("x-trace", "abc");
    assert_eq!(run.await.expect("all of it can be").output, "Yes.");
    assert_eq!(
        agent.run("And?").await.expect("it is answered").output,
        "Again."
    );
    let requests = server.requests();
    for request in &requests[..2] {
        assert_eq!(messages(request, "system")[0]["content"], "Be brief.");
        assert_eq!(request.body["user"], "user-7");
        assert_eq!(request.header("x-trace"), Some("abc"));
        let tools = request.body["tools"].as_array().expect("tools");
        let names: Vec<_> = tools.iter().map(|tool| &tool["function"]["name"]).collect();
        assert_eq!(names, ["rest", "own"]);
    }
    assert_eq!(messages(&requests[1], "tool")[0]["content"], "of the turn");
    assert_eq!(messages(&requests[2], "system")[0]["content"], "Be kind.");
    assert_eq!(requests[2].header("x-trace"), None);
}

#[tokio::test]
async fn a_turn_that_cannot_be_is_refused_before_it_begins() {
    let server = yes().await;
    let agent = agent(&server).tool(secret_number(), of_the_agent).chat();
    let unnamed = Tool::new("no name", "Does nothing.");
    for (run, word) in [
        (
            agent.run("Hello").tool_names(["get_sercet_number"]),
            "get_sercet_number",
        ),
        (agent.run("Hello").header("x team", "a"), "x team"),
        (agent.run("Hello").tool(unnamed, of_the_turn), "no name"),
    ] {
        let error = run.await.expect_err("it cannot be");
        assert_eq!(error.kind(), ErrorKind::Misuse);
        assert!(error.message().contains(word), "{error}");
        assert!(error.result().is_none(), "no turn began");
    }
    assert!(server.requests().is_empty());
    assert!(agent.transcript().messages().is_empty());
}

#[tokio::test]
async fn a_revived_turn_keeps_options_and_reports_missing_code() {
    let script = Script::new()
        .hop(Hop::new().tool_call_with_id("call-1", "own", json!({})))
        .hop(Hop::new().tool_call_with_id("call-2", "own", json!({})))
        .hop(says("Well."));
    let server = start(script).await;
    let store = Arc::new(MemoryStore::new());
    let make = || {
        let builder = agent(&server).store(Arc::clone(&store) as _);
        builder.chat()
    };
    let first = make();
    let deferred =
        |_: ToolContext| async { Ok::<_, Infallible>(stepwell_io::tool::ToolAnswer::Deferred) };
    let turn = first
        .run("Hello")
        .instructions("Be brief.")
        .tool(Tool::new("own", "Of this turn."), deferred)
        .header("x-token", "of-this-process")
        .stream();
    let handle = turn.handle();
    let snapshot = handle.rested().await.expect("it rests");
    assert!(!snapshot.contains("of-this-process"));
    drop(turn.suspend().await.expect("it is under way"));
    let second = make();
    let turn = second.revive(&snapshot).expect("it was just written");
    let handle = turn.handle();
    handle
        .resolve_call("call-1", Ok("done".into()))
        .await
        .expect("it is awaited");
    let (_, finished) = watch(turn).await;
    assert_eq!(finished.outcome, Outcome::Success);
    let last = &server.requests()[2];
    assert_eq!(messages(last, "system")[0]["content"], "Be brief.");
    assert_eq!(last.header("x-token"), None);
    let result = messages(last, "tool")[1]["content"].as_str().expect("text");
    assert!(result.contains("`own` has no code in this app"), "{result}");
}

/// An agent without a key of its own.
fn asking(server: &MockLlm) -> stepwell_io::AgentBuilder {
    agent(server).configure(|config| config.endpoint.key = None)
}

#[tokio::test]
async fn the_key_of_each_request_is_the_apps_to_give() {
    let script = Script::new()
        .hop(Hop::error(401, "Expired"))
        .hop(says("Yes."))
        .hop(says("Yes."));
    let server = start(script).await;
    let asked = Arc::new(AtomicU32::new(0));
    let source = {
        let asked = Arc::clone(&asked);
        move |request: CredentialRequest| {
            let number = asked.fetch_add(1, Ordering::Relaxed);
            assert_eq!(request.rejected, number == 1);
            assert_eq!(request.thread_id, "thread-1");
            async move {
                Ok::<_, Infallible>(Authorization {
                    key: Some(format!("key-{number}").into()),
                    headers: vec![("x-team".to_owned(), "blue".to_owned())],
                })
            }
        }
    };
    let agent = asking(&server).credentials(source).chat();
    for _ in 0..2 {
        let (_, finished) = watch(agent.send("Hello")).await;
        assert_eq!(finished.outcome, Outcome::Success);
    }
    let requests = server.requests();
    let sent: Vec<_> = requests
        .iter()
        .map(|request| (request.header("authorization"), request.header("x-team")))
        .collect();
    let with = |key| (Some(key), Some("blue"));
    assert_eq!(
        sent,
        [
            with("Bearer key-0"),
            with("Bearer key-1"),
            with("Bearer key-2")
        ]
    );
}

#[tokio::test]
async fn code_that_gives_no_key_is_a_clear_failure() {
    let server = yes().await;
    for breaks in [true, false] {
        let agent = asking(&server)
            .credentials(move |_: CredentialRequest| async move {
                assert!(!breaks, "on purpose");
                Err::<String, _>("nobody has signed in")
            })
            .chat();
        let (_, finished) = watch(agent.send("Hello")).await;
        let problem = finished.outcome.problem().expect("it failed");
        assert_eq!(problem.kind, ErrorKind::Authentication);
        let words = if breaks {
            "on purpose"
        } else {
            "nobody has signed in"
        };
        assert!(problem.message.contains(words), "{}", problem.message);
    }
    assert!(server.requests().is_empty());
}

#[tokio::test]
async fn a_turn_whose_key_does_not_come_can_be_cancelled() {
    let server = yes().await;
    let agent = asking(&server)
        .credentials(|_: CredentialRequest| std::future::pending::<Result<String, Infallible>>())
        .chat();
    let turn = agent.send("Hello");
    turn.handle().cancel();
    let (_, finished) = watch(turn).await;
    assert_eq!(finished.outcome, Outcome::Cancelled);
}

#[tokio::test]
async fn instructions_are_made_for_each_turn_from_its_history() {
    let script = Script::new()
        .hop(says("Yes."))
        .hop(says("No."))
        .hop(says("Well."));
    let server = start(script).await;
    let agent = agent(&server)
        .instructions("Be kind.")
        .instructions_from(|turn: InstructionsRequest| async move {
            let said = turn.history.messages().len();
            Ok::<_, Infallible>(format!("{said} in {}.", turn.thread.thread))
        })
        .chat();
    for _ in 0..2 {
        let (_, finished) = watch(agent.send("Hello")).await;
        assert_eq!(finished.outcome, Outcome::Success);
    }
    let own = agent.run("Hello").instructions("Be brief.");
    own.await.expect("it can be");
    let requests = server.requests();
    let said: Vec<_> = requests
        .iter()
        .map(|request| messages(request, "system")[0]["content"].clone())
        .collect();
    assert_eq!(said, ["0 in thread-1.", "2 in thread-1.", "Be brief."]);
}

fn instructed<F, Fut>(server: &MockLlm, make: F) -> Chat
where
    F: Fn(InstructionsRequest) -> Fut + Send + Sync + 'static,
    Fut: Future<Output = Result<String, &'static str>> + Send + 'static,
{
    let builder = agent(server).instructions_from(make);
    builder.chat()
}

#[tokio::test]
async fn failed_instructions_fail_the_turn_before_its_request() {
    let server = yes().await;
    for breaks in [true, false] {
        let agent = instructed(&server, move |_| async move {
            assert!(!breaks, "on purpose");
            Err("no profile")
        });
        let (_, finished) = watch(agent.send("Hello")).await;
        let Failure::NoInstructions { message } = failure(finished.outcome) else {
            panic!("there were instructions");
        };
        let words = if breaks { "on purpose" } else { "no profile" };
        assert!(message.contains(words), "{message}");
        assert!(agent.transcript().messages().is_empty());
    }
    assert!(server.requests().is_empty());
}

#[tokio::test]
async fn a_turn_whose_instructions_do_not_come_can_be_cancelled() {
    let server = yes().await;
    let agent = instructed(&server, |_| std::future::pending());
    let turn = agent.send("Hello");
    turn.handle().cancel();
    let (_, finished) = watch(turn).await;
    assert_eq!(finished.outcome, Outcome::Cancelled);
    assert!(server.requests().is_empty());
}

#[tokio::test(start_paused = true)]
async fn instructions_are_waited_for_as_long_as_a_tool() {
    let server = yes().await;
    let agent = instructed(&server, |_| std::future::pending());
    let (_, finished) = watch(agent.send("Hello")).await;
    let Failure::NoInstructions { message } = failure(finished.outcome) else {
        panic!("there were instructions");
    };
    assert_eq!(message, "the app took too long");
}

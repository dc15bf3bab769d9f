//! Tools that return an error or panic, under both policies.

use crate::{agent, answer, messages};
use std::error::Error as _;
use std::io;
use std::sync::{Arc, Mutex};
use stepwell_io::tool::{Tool, ToolContext};
use stepwell_io::turn::Failure;
use stepwell_io::{Agent, AgentBuilder, ErrorKind, HttpClient, OnToolError};
use stepwell_testing::reply::{call, text};

/// The results that the model was told.
type Told = Arc<Mutex<Vec<String>>>;

/// A model that calls the tool `work`, and then says what it was told.
fn model() -> (HttpClient, Told) {
    let told = Told::default();
    let seen = Arc::clone(&told);
    let client = HttpClient::from_fn(move |request| {
        let answer = match messages(&request).pop() {
            Some((role, result)) if role == "tool" => {
                seen.lock().expect("no panic holds it").push(result);
                answer(&[text("I see.")])
            }
            _ => answer(&[call("a", "work", "{}")]),
        };
        async { io::Result::Ok(answer) }
    });
    (client, told)
}

/// A way to fail.
type Way = (&'static str, fn(AgentBuilder) -> AgentBuilder);

fn work() -> Tool {
    Tool::new("work", "Works.")
}

const ERROR: Way = ("the disk is full", |agent| {
    agent.tool(work(), |_| async { Err::<String, _>("the disk is full") })
});

const PANIC: Way = ("secret of the stack", |agent| {
    let panics = |_: ToolContext| async { panic!("secret of the stack") };
    agent.tool(work(), move |call| async move {
        let _: () = panics(call).await;
    })
});

const BLOCKING_PANIC: Way = ("secret of the thread", |agent| {
    agent.blocking_tool(work(), |_| -> String { panic!("secret of the thread") })
});

fn failing((_, way): Way, policy: Option<OnToolError>) -> (Agent, Told) {
    let (client, told) = model();
    let agent = way(agent(client));
    let agent = match policy {
        Some(policy) => agent.on_tool_error(policy),
        None => agent,
    };
    (agent.build().expect("it is set up"), told)
}

fn of(told: &Told) -> Vec<String> {
    told.lock().expect("no panic holds it").clone()
}

#[tokio::test]
async fn the_model_is_told_an_error_and_continues() {
    for policy in [None, Some(OnToolError::TellModel)] {
        let (agent, told) = failing(ERROR, policy);
        let result = agent.run("Go on").await.expect("it is answered");
        assert_eq!(result.output, "I see.");
        assert_eq!(of(&told), [r#"{"error":"the disk is full"}"#]);
    }
}

#[tokio::test]
async fn the_model_is_not_told_the_text_of_a_panic() {
    for way in [PANIC, BLOCKING_PANIC] {
        let (agent, told) = failing(way, None);
        let result = agent.run("Go on").await.expect("it is answered");
        let told = of(&told);
        assert!(told[0].contains("`work` failed"), "{told:?}");
        assert!(!told[0].contains("secret"), "{told:?}");
        let kept = serde_json::to_string(result.messages()).expect("messages are JSON");
        assert!(!kept.contains("secret"), "{kept}");
    }
}

#[tokio::test]
async fn a_strict_agent_fails_with_the_tools_error() {
    for way in [ERROR, PANIC, BLOCKING_PANIC] {
        let (agent, told) = failing(way, Some(OnToolError::Fail));
        let conversation = agent.conversation("alice");
        let error = conversation
            .send("Go on")
            .await
            .expect_err("the tool fails");
        assert_eq!(error.kind(), ErrorKind::ToolFailed);
        assert!(
            error.message().contains("work") && error.message().contains(way.0),
            "{error}"
        );
        let source = error.source().and_then(|source| source.downcast_ref());
        assert!(
            matches!(source, Some(Failure::ToolFailed { tool, message }) if tool == "work" && message.contains(way.0)),
            "{source:?}"
        );
        assert!(error.result().is_some(), "the turn has begun");
        assert_eq!(of(&told), [""; 0], "the model is not told");
        // The conversation continues, and its history has nothing of the error.
        let mut turn = conversation.stream("And now?");
        assert!(turn.next().await.is_some());
        let kept = serde_json::to_string(conversation.transcript().messages());
        assert!(!kept.expect("messages are JSON").contains(way.0));
    }
}

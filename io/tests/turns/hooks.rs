//! Hooks: the app's code looks at requests, answers and tools, changes them, or refuses them.

use crate::support::IntoChat as _;
use crate::{agent, messages, start, watch};
use futures::FutureExt;
use futures::future::BoxFuture;
use serde_json::json;
use std::convert::Infallible;
use std::error::Error as _;
use std::sync::Arc;
use std::sync::atomic::{AtomicU32, Ordering};
use stepwell_io::hook::{
    Hook, HookAnswer, HookHandler, HookMoment, HookSubject, HookedAnswer, HookedRequest,
    HookedResult,
};
use stepwell_io::message::Message;
use stepwell_io::tool::{Tool, ToolContext, ToolInvocation};
use stepwell_io::turn::{Outcome, RunEvent};
use stepwell_io::{BuildError, ErrorKind};
use stepwell_mock_llm::{Hop, Script};

fn calls() -> Hop {
    Hop::new().tool_call_with_id("call-1", "work", json!({"to": "Eve"}))
}

async fn work(call: ToolContext) -> Result<String, Infallible> {
    Ok(call.arguments.raw.clone())
}

fn tool() -> Tool {
    Tool::new("work", "Works.")
        .parameters(json!({"type": "object", "properties": {"to": {"type": "string"}}}))
}

#[tokio::test]
async fn each_moment_may_be_looked_at_and_changed() {
    let server = start(Script::new().hop(calls()).hop(Hop::new().text("Yes."))).await;
    let looked = Arc::new(AtomicU32::new(0));
    let count = Arc::clone(&looked);
    let hook = Hook::new("redact")
        .before_request(|request: HookedRequest| async move {
            let shown = request.messages.into_iter().map(|message| match message {
                Message::User(said) => Message::user(said.id, "***"),
                other => other,
            });
            HookAnswer::messages(shown.collect())
        })
        .before_tool(|_: ToolInvocation| async { HookAnswer::arguments(&json!({"to": "Ada"})) })
        .after_tool(|result: HookedResult| async move {
            HookAnswer::result(result.content.to_text().replace("Ada", "Bob"))
        })
        .after_answer(move |answer: HookedAnswer| {
            assert_eq!((&*answer.text, answer.hop), ("Yes.", 1));
            count.fetch_add(1, Ordering::Relaxed);
            async {}
        });
    let agent = agent(&server).tool(tool(), work).hook(hook);
    let agent = agent.chat();
    let (_, finished) = watch(agent.send("A secret")).await;
    assert_eq!(finished.outcome, Outcome::Success);
    assert_eq!(looked.load(Ordering::Relaxed), 1);
    let requests = server.requests();
    assert_eq!(messages(&requests[0], "user")[0]["content"], "***");
    assert_eq!(
        messages(&requests[1], "tool")[0]["content"],
        r#"{"to":"Bob"}"#
    );
    assert_eq!(
        finished.transcript.messages()[0],
        Message::user(finished.transcript.messages()[0].id().clone(), "A secret")
    );
}

#[tokio::test]
async fn refusals_are_events_and_outcomes() {
    let server = start(
        Script::new()
            .hop(calls())
            .hop(Hop::new().text("The secret.")),
    )
    .await;
    let hook = Hook::new("guard")
        .before_tool(|_: ToolInvocation| async { HookAnswer::refuse("not from here") })
        .after_answer(|_: HookedAnswer| async { HookAnswer::refuse("it tells the secret") });
    let agent = agent(&server).tool(tool(), work).hook(hook);
    let (events, finished) = watch(agent.chat().send("Hello")).await;
    let problem = finished.outcome.problem().expect("it failed");
    assert_eq!(problem.kind, ErrorKind::Refused);
    assert!(problem.message.contains("guard") && problem.message.contains("it tells the secret"));
    let told = messages(&server.requests()[1], "tool")[0]["content"].clone();
    let told = told.as_str().expect("text");
    assert!(
        told.contains("the call was not run: not from here"),
        "{told}"
    );
    let refused = events.iter().filter_map(|event| match event {
        RunEvent::HookRefused { moment, .. } => Some(*moment),
        _ => None,
    });
    let refused: Vec<_> = refused.collect();
    assert_eq!(refused, [HookMoment::BeforeTool, HookMoment::AfterAnswer]);
}

#[tokio::test]
async fn a_hook_that_fails_or_panics_fails_the_turn_with_its_name() {
    let server = start(Script::new()).await;
    for panics in [false, true] {
        let hook = Hook::new("broken").before_request(move |_: HookedRequest| async move {
            assert!(!panics, "on purpose");
            Err::<(), _>("no such table")
        });
        let agent = agent(&server).hook(hook).chat();
        let (_, finished) = watch(agent.send("Hello")).await;
        let problem = finished.outcome.problem().expect("it failed");
        assert_eq!(problem.kind, ErrorKind::Refused);
        let words = if panics {
            "on purpose"
        } else {
            "no such table"
        };
        assert!(
            problem.message.contains("`broken`") && problem.message.contains(words),
            "{problem}"
        );
    }
    assert!(server.requests().is_empty());
}

/// Says what does not belong to what it looks at.
struct Confused;

impl HookHandler for Confused {
    fn look(&self, hook: &str, _: HookSubject) -> BoxFuture<'static, HookAnswer> {
        assert_eq!(hook, "confused");
        std::future::ready(HookAnswer::result("no result was asked about")).boxed()
    }
}

#[tokio::test]
async fn a_hook_that_answers_something_else_fails_the_turn() {
    let server = start(Script::new()).await;
    let hook = Hook::with_handler("confused", [HookMoment::BeforeRequest], Confused);
    let agent = agent(&server).hook(hook).chat();
    let (_, finished) = watch(agent.send("Hello")).await;
    let problem = finished.outcome.problem().expect("it failed");
    assert!(problem.message.contains("before_request"), "{problem}");
}

#[tokio::test]
async fn two_hooks_of_one_name_are_an_error() {
    let server = start(Script::new()).await;
    let twice = agent(&server)
        .hook(Hook::new("one"))
        .hook(Hook::new("one"))
        .build();
    let error = twice.expect_err("there are two");
    assert_eq!(error.kind(), ErrorKind::Misuse);
    let source = error.source().and_then(|source| source.downcast_ref());
    assert!(matches!(source, Some(BuildError::HookTwice(name)) if name == "one"));
}

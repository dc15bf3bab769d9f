//! Approvals, questions and results of deferred calls, as data.

use crate::{agent, answer, texts};
use futures::FutureExt;
use serde_json::{Value, json};
use std::io;
use std::sync::Arc;
use std::sync::atomic::{AtomicU32, Ordering};
use stepwell_io::store::pending;
use stepwell_io::store::{MemoryStore, Store};
use stepwell_io::tool::{
    Pending, PendingKind, Question, Tool, ToolAnswer, ToolContext, UserAnswer,
};
use stepwell_io::{Agent, AgentBuilder, Conversation, ErrorKind, HttpClient, Turn, Update};
use stepwell_testing::reply::{call, text};

/// A model that calls this tool, and then repeats the tool's result.
fn calls(tool: &'static str) -> HttpClient {
    HttpClient::from_fn(move |request| {
        let answer = match texts(&request, "tool").pop() {
            None => answer(&[call("c1", tool, r#"{"path":"old"}"#)]),
            Some(result) => answer(&[text(&result)]),
        };
        async { io::Result::Ok(answer) }
    })
}

fn path() -> Value {
    json!({
        "type": "object",
        "properties": { "path": { "type": "string" } },
        "required": ["path"],
    })
}

/// An agent whose tool deletes a file, with the user's approval.
fn deleter() -> AgentBuilder<()> {
    let delete = Tool::new("delete", "Deletes a file.").parameters(path());
    agent(calls("delete")).tool(delete.requires_approval(), |call: ToolContext| async move {
        format!("deleted {}", call.arguments.value["path"])
    })
}

/// An agent whose tool asks the user how many.
fn asker() -> AgentBuilder<()> {
    let ask = Tool::new("delete", "Deletes files.").idempotent();
    agent(calls("delete")).tool(ask, |call: ToolContext| async move {
        let question = Question::new("How many?", json!({ "type": "integer" }));
        match call.ask(question).await.expect("it may ask") {
            UserAnswer::Given { value } => format!("deleted {value}"),
            UserAnswer::Declined { reason } => format!("none: {}", reason.unwrap_or_default()),
        }
    })
}

/// An agent whose tool has its result later.
fn deferrer() -> AgentBuilder<()> {
    let later = Tool::new("delete", "Deletes files.");
    agent(calls("delete")).tool(later, |_: ToolContext| async { ToolAnswer::Deferred })
}

fn built(builder: AgentBuilder<()>) -> Agent {
    builder.build().expect("the agent is set up")
}

/// Waits until the turn waits for something, and returns it.
async fn waits(turn: &mut Turn) -> Pending {
    while let Some(update) = turn.next().await {
        if let Update::Pending { pending } = update.expect("the turn goes on")
            && let [one] = &pending[..]
        {
            return one.clone();
        }
    }
    panic!("the turn waits for nothing");
}

#[tokio::test]
async fn an_approval_waits_until_it_is_given() {
    let mut turn = built(deleter()).stream("Clean up.");
    let waiting = waits(&mut turn).await;
    assert_eq!(waiting.kind, PendingKind::Approval);
    assert_eq!((&*waiting.id, &*waiting.tool), ("c1", "delete"));
    assert_eq!(waiting.arguments, json!({ "path": "old" }));
    assert_eq!(waiting.schema, Some(path()));
    assert_eq!(turn.pending().await, Ok(vec![waiting]));
    let unknown = turn.approve("c2").await.expect_err("no such call");
    assert!(unknown.to_string().contains("`c2`"), "{unknown}");
    turn.answer("c1", 1).await.expect_err("it is no question");
    let unfit = turn.approve_with("c1", json!({ "path": 7 })).await;
    assert!(unfit.is_err(), "the arguments do not fit");
    turn.approve_with("c1", json!({ "path": "older" }))
        .await
        .expect("it waits");
    turn.approve("c1").await.expect_err("it has its decision");
    let result = turn.result().await.expect("it is answered");
    assert!(
        result.output.contains("deleted \"older\""),
        "{}",
        result.output
    );
}

#[tokio::test]
async fn a_denial_reaches_the_model_with_its_reason() {
    let mut turn = built(deleter()).stream("Clean up.");
    let waiting = waits(&mut turn).await;
    let reason = Some("too new".to_owned());
    turn.deny(waiting.id, reason).await.expect("it waits");
    let result = turn.result().await.expect("it is answered");
    assert!(result.output.contains("too new"), "{}", result.output);
}

#[tokio::test]
async fn a_question_waits_for_an_answer_that_fits() {
    let mut turn = built(asker()).stream("Clean up.");
    let waiting = waits(&mut turn).await;
    assert_eq!(waiting.kind, PendingKind::Question);
    assert_eq!(waiting.message.as_deref(), Some("How many?"));
    assert_eq!(waiting.schema, Some(json!({ "type": "integer" })));
    turn.approve(&waiting.id).await.expect_err("it is no call");
    turn.answer(&waiting.id, "many")
        .await
        .expect_err("no number");
    turn.answer(&waiting.id, 3).await.expect("it fits");
    let result = turn.result().await.expect("it is answered");
    assert_eq!(result.output, "deleted 3");
    let mut turn = built(asker()).stream("Clean up.");
    let waiting = waits(&mut turn).await;
    let reason = Some("not now".to_owned());
    turn.deny(waiting.id, reason).await.expect("it waits");
    let result = turn.result().await.expect("it is answered");
    assert_eq!(result.output, "none: not now");
}

#[tokio::test]
async fn a_deferred_result_waits_too() {
    let mut turn = built(deferrer()).stream("Clean up.");
    let waiting = waits(&mut turn).await;
    assert_eq!(waiting.kind, PendingKind::Result);
    turn.approve(&waiting.id)
        .await
        .expect_err("it is no approval");
    turn.resolve_call(waiting.tool_call_id, Ok("done".into()))
        .await
        .expect("it waits");
    assert_eq!(turn.result().await.expect("it is answered").output, "done");
}

#[tokio::test]
async fn a_run_without_a_turn_or_a_conversation_waits_for_nobody() {
    let result = built(deleter()).run("Clean up.").await;
    let output = result.expect("it is answered").output;
    assert!(output.contains("no way to ask the user"), "{output}");
    let result = built(asker()).run("Clean up.").await;
    let output = result.expect("it is answered").output;
    assert!(output.contains("no way to ask the user"), "{output}");
}

#[tokio::test]
async fn a_conversation_takes_the_replies_to_a_run() {
    let conversation = built(deleter()).conversation("c");
    let run = tokio::spawn(conversation.send("Clean up."));
    approve(&conversation).await;
    let result = run.await.expect("no panic").expect("it is answered");
    assert_eq!(result.output, "deleted \"old\"");
    assert_eq!(conversation.pending().await.expect("no store"), []);
    let over = conversation.approve("c1").await.expect_err("it is over");
    assert_eq!(over.kind(), ErrorKind::Misuse);
}

/// Approves what waits first, as soon as it waits.
async fn approve(conversation: &Conversation) {
    loop {
        let waiting = conversation.pending().await.expect("it can be read");
        if let Some(first) = waiting.first() {
            return conversation.approve(&first.id).await.expect("it waits");
        }
        tokio::task::yield_now().await;
    }
}

#[tokio::test]
async fn an_approver_that_is_asked_too_is_withdrawn_with_the_decision() {
    let withdrawn = Arc::new(AtomicU32::new(0));
    struct Asked(Arc<AtomicU32>);
    impl Drop for Asked {
        fn drop(&mut self) {
            self.0.fetch_add(1, Ordering::Relaxed);
        }
    }
    let count = Arc::clone(&withdrawn);
    let approver = move |_| {
        let asked = Asked(Arc::clone(&count));
        async move {
            let _asked = asked;
            std::future::pending().await
        }
    };
    let mut turn = built(deleter().approver(approver)).stream("Clean up.");
    let waiting = waits(&mut turn).await;
    turn.approve(waiting.id).await.expect("it waits");
    let result = turn.result().await.expect("it is answered");
    assert_eq!(result.output, "deleted \"old\"");
    assert_eq!(withdrawn.load(Ordering::Relaxed), 1);
}

/// Two agents of one definition, as two processes of one store have them.
fn two(builder: fn() -> AgentBuilder<()>) -> (Arc<dyn Store>, Conversation, Conversation) {
    let store: Arc<dyn Store> = Arc::new(MemoryStore::new());
    let [first, second] = [(); 2].map(|()| {
        let agent = built(builder()).with_store(store.clone());
        agent.conversation("c")
    });
    (store, first, second)
}

/// Waits until the store has something that waits, and returns it.
async fn stored(store: &Arc<dyn Store>) -> Pending {
    loop {
        let waiting = pending(&**store, "c").await.expect("it can be read");
        if let Some(waiting) = waiting.into_iter().next() {
            return waiting;
        }
        tokio::task::yield_now().await;
    }
}

#[tokio::test]
async fn another_agent_of_the_store_lists_and_answers() {
    for (builder, kind, output) in [
        (
            deleter as fn() -> _,
            PendingKind::Approval,
            "deleted \"old\"",
        ),
        (asker, PendingKind::Question, "deleted 3"),
        (deferrer, PendingKind::Result, "done"),
    ] {
        let (store, owner, other) = two(builder);
        let run = tokio::spawn(owner.send("Clean up."));
        let waiting = stored(&store).await;
        assert_eq!(waiting.kind, kind);
        let here = loop {
            let here = owner.pending().await.expect("it can be read");
            if !here.is_empty() {
                break here;
            }
            tokio::task::yield_now().await;
        };
        assert_eq!(here, std::slice::from_ref(&waiting), "they agree");
        assert_eq!(other.pending().await.expect("it can be read"), here);
        let unknown = other.approve("c9").await.expect_err("no such call");
        assert_eq!(unknown.kind(), ErrorKind::Misuse);
        match kind {
            PendingKind::Approval => {
                let unfit = other.approve_with("c1", json!({ "path": 7 })).await;
                assert_eq!(
                    unfit.expect_err("it does not fit").kind(),
                    ErrorKind::Misuse
                );
                other.approve("c1").await.expect("it waits");
            }
            PendingKind::Question => other.answer(&waiting.id, 3).await.expect("it waits"),
            _ => {
                let result = other.resolve_call("c1", Ok("done".into())).await;
                result.expect("it waits");
            }
        }
        let result = run.await.expect("no panic").expect("it is answered");
        assert_eq!(result.output, output);
        assert_eq!(pending(&*store, "c").await.expect("it can be read"), []);
    }
}

#[tokio::test]
async fn a_turn_that_nobody_drives_continues_where_it_is_answered() {
    for builder in [deleter as fn() -> _, deferrer] {
        let (store, owner, other) = two(builder);
        let mut turn = owner.stream("Clean up.");
        waits(&mut turn).await;
        turn.suspend().await.expect("it is under way");
        let waiting = stored(&store).await;
        let unknown = other.approve("c9").await.expect_err("no such call");
        assert_eq!(unknown.kind(), ErrorKind::Misuse);
        match waiting.kind {
            PendingKind::Approval => other.approve(waiting.id).await.expect("it waits"),
            _ => {
                let result = other.resolve_call("c1", Ok("done".into())).await;
                result.expect("it waits");
            }
        }
        // It runs to its end by itself.
        let mut changes = store.subscribe(other.key()).await.expect("a store");
        loop {
            let record = store.thread(other.key()).await.expect("it can be read");
            if record.expect("there is one").unfinished.is_none() {
                break;
            }
            changes.changed().await;
        }
        let messages = other.load().await.expect("it can be read").messages().len();
        assert_eq!(messages, 4);
    }
}

#[tokio::test]
async fn a_detached_turn_can_still_be_answered() {
    let conversation = built(deleter()).conversation("c");
    conversation.stream("Clean up.").detach();
    approve(&conversation).await;
    while conversation.transcript().messages().len() < 4 {
        tokio::task::yield_now().await;
    }
}

#[tokio::test]
async fn a_caller_that_waits_no_longer_leaves_the_turn_alone() {
    let (store, owner, other) = two(deleter);
    let mut turn = owner.stream("Clean up.");
    waits(&mut turn).await;
    turn.suspend().await.expect("it is under way");
    let waiting = stored(&store).await;
    // The turn is continued here, and its caller is gone before the turn has taken the reply.
    let gone = other.approve(&waiting.id).now_or_never();
    assert!(gone.is_none(), "{gone:?}");
    approve(&other).await;
    while other.transcript().messages().len() < 4 {
        tokio::task::yield_now().await;
    }
}

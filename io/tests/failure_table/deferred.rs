//! A result that comes in minutes or days.

use crate::cancel::{answer, question};
use crate::support::{Chat, IntoChat as _};
use crate::*;
use std::error::Error as _;
use stepwell_io::Device;
use stepwell_io::tool::{Decision, ToolAnswer};
use stepwell_io::turn::{ReviveError, TurnError};

/// An agent whose tool begins something and answers later.
fn deferring(dialect: Dialect, server: &MockLlm) -> Chat {
    let agent = dialect.agent(server).tool(work(), |call| async move {
        Ok::<_, String>(match call.tool_call_id.as_ref() {
            "later" => ToolAnswer::Deferred,
            _ => "at once".into(),
        })
    });
    agent.chat()
}

#[tokio::test]
async fn a_deferred_result_wakes_the_turn() {
    for dialect in BOTH {
        let server = serve([asks(&["later", "now"]), says("It has arrived.")]).await;
        let agent = deferring(dialect, &server);
        let mut turn = agent.send("Order it");
        until(&mut turn, |event| {
            is_call(event, "later", ToolCallStatus::Deferred)
        })
        .await;
        let handle = turn.handle();
        handle.rested().await.expect("it rests");
        let unknown = handle.resolve_call("nobody", Ok("?".into())).await;
        assert_eq!(unknown, Err(TurnError::NotAwaited("nobody".into())));
        handle
            .resolve_call("later", Ok("delivered".into()))
            .await
            .expect("it is awaited");
        let (_, finished) = watch(turn).await;
        assert_eq!(finished.outcome, Outcome::Success);
        assert_eq!(results(&server.requests()[1]), ["delivered", "at once"]);
        assert_legal(&server);
    }
}

#[tokio::test]
async fn a_deferred_result_wakes_the_turn_after_a_restart() {
    for dialect in BOTH {
        let server = serve([
            asks(&["later", "now"]),
            says("It has arrived."),
            says("Sure."),
        ])
        .await;
        let stored = {
            let agent = deferring(dialect, &server);
            let turn = agent.send("Order it");
            turn.handle().rested().await.expect("it rests")
        };
        // Another process, days later.
        let agent = deferring(dialect, &server);
        let turn = agent.revive(&stored).expect("it was just stored");
        let handle = turn.handle();
        handle.rested().await.expect("it rests again");
        let said = handle.transcript().await.expect("it goes on");
        assert_eq!(said.messages().len(), 2, "{said:?}");
        handle
            .resolve_call("later", Ok("delivered".into()))
            .await
            .expect("it is awaited");
        let (events, finished) = watch(turn).await;
        assert_eq!(finished.outcome, Outcome::Success, "{dialect:?}");
        assert_eq!(finished.transcript.text(), "It has arrived.");
        assert_eq!(agent.transcript(), finished.transcript);
        let run_again = events
            .iter()
            .any(|event| is_call(event, "now", ToolCallStatus::Executing));
        assert!(!run_again, "what was done is not done again");
        assert_eq!(results(&server.requests()[1]), ["delivered", "at once"]);
        assert_goes_on(&agent, &server).await;
    }
}

#[tokio::test]
async fn a_deferred_call_that_fails_or_is_cancelled_tells_the_model() {
    let server = serve([
        asks(&["later"]),
        says("I see."),
        asks(&["later"]),
        says("I see."),
    ])
    .await;
    let agent = deferring(Dialect::Chat, &server);
    let turn = agent.send("Order it");
    turn.handle().rested().await.expect("it rests");
    let lost = stepwell_io::tool::ToolFailure::error("lost in the post");
    turn.handle()
        .resolve_call("later", Err(lost))
        .await
        .expect("it is awaited");
    assert_eq!(watch(turn).await.1.outcome, Outcome::Success);
    assert!(results(&server.requests()[1])[0].contains("lost in the post"));

    let turn = agent.send("Once more");
    turn.handle().rested().await.expect("it rests");
    turn.handle()
        .cancel_call("later")
        .await
        .expect("it is under way");
    assert_eq!(watch(turn).await.1.outcome, Outcome::Success);
    assert!(results(&server.requests()[3])[1].contains("stopped"));
    assert_legal(&server);
}

#[tokio::test]
async fn a_question_to_the_user_is_asked_again_after_a_restart() {
    for dialect in BOTH {
        let server = serve([asks(&["a"]), says("Done.")]).await;
        let agent = |answers: bool| {
            let asked = Arc::new(Semaphore::new(0));
            let counted = Arc::clone(&asked);
            let agent = dialect
                .agent(&server)
                .tool(work().requires_approval(), done)
                .approver(move |_| {
                    counted.add_permits(1);
                    async move {
                        if !answers {
                            std::future::pending::<()>().await;
                        }
                        Decision::Granted
                    }
                });
            (agent.chat(), asked)
        };
        let (before, asked) = agent(false);
        let turn = before.send("Go on");
        begun(&asked, 1).await;
        let stored = turn.handle().rested().await.expect("it rests");
        let (after, _) = agent(true);
        let (_, finished) = watch(after.revive(&stored).expect("it was just stored")).await;
        assert_eq!(finished.outcome, Outcome::Success);
        assert_eq!(results(&server.requests()[1]), ["a is done"]);
        assert_legal(&server);
    }
}

#[tokio::test]
async fn an_agents_question_is_answered_after_a_restart() {
    let server = serve([question("ask-1"), says("Thank you.")]).await;
    let agent = || Dialect::AgUi.agent(&server).chat();
    let turn = agent().send("Delete it all");
    let stored = turn.handle().rested().await.expect("it rests");
    let turn = agent().revive(&stored).expect("it was just stored");
    turn.resume(answer("ask-1"))
        .await
        .expect("it is what was asked");
    let (_, finished) = watch(turn).await;
    assert_eq!(finished.outcome, Outcome::Success);
    assert_eq!(
        server.requests()[1].body["resume"][0]["interruptId"],
        "ask-1"
    );
}

#[tokio::test]
async fn after_a_kill_only_idempotent_tools_run_again() {
    for idempotent in [false, true] {
        let server = serve([asks(&["a"]), says("I see.")]).await;
        let tool = || {
            if idempotent {
                work().idempotent()
            } else {
                work()
            }
        };
        let calls = Arc::new(Semaphore::new(0));
        let before = Dialect::Chat
            .agent(&server)
            .tool(tool(), hangs(&calls))
            .chat();
        let turn = before.send("Go on");
        begun(&calls, 1).await;
        let stored = turn.handle().snapshot().await.expect("it goes on");
        let after = Dialect::Chat.agent(&server).tool(tool(), done).chat();
        let (_, finished) = watch(after.revive(&stored).expect("it was just stored")).await;
        assert_eq!(finished.outcome, Outcome::Success);
        let requests = server.requests();
        let shown = &results(&requests[1])[0];
        assert_eq!(shown == "a is done", idempotent, "{shown}");
        assert_legal(&server);
    }
}

#[tokio::test]
async fn what_is_no_snapshot_of_a_turn_under_way_is_refused() {
    let server = serve([says("Hello.")]).await;
    let agent = Dialect::Chat.agent(&server).chat();
    let refused = agent.revive("{}").expect_err("it is no snapshot");
    let reason = |error: &stepwell_io::Error| {
        let source = error
            .source()
            .and_then(|source| source.downcast_ref::<ReviveError>());
        source.cloned()
    };
    assert!(
        matches!(reason(&refused), Some(ReviveError::Snapshot(_))),
        "{refused}"
    );
    let endpoint = endpoint("openai-compatible", "m", &server.base_url(), None);
    let idle = stepwell_core::run::RunMachine::new(
        Arc::new(stepwell_core::run::RunConfig::new(endpoint)),
        "thread-1".into(),
        stepwell_io::message::Transcript::default(),
    );
    let refused = agent
        .revive(&idle.snapshot())
        .expect_err("it had not begun");
    assert_eq!(reason(&refused), Some(ReviveError::NotStarted));
}

#[tokio::test]
async fn a_turn_in_two_processes_replays_from_its_journals() {
    let server = serve([asks(&["later"]), says("It has arrived.")]).await;
    let lines = Arc::new(std::sync::Mutex::new(Vec::<(String, String)>::new()));
    let device = Device::new();
    device.network_available();
    let agent = || {
        let written = Arc::clone(&lines);
        let agent = Dialect::Chat
            .agent(&server)
            .device(&device)
            .journal(move |turn: &stepwell_io::RunId, text: &str| {
                let mut written = written.lock().expect("no panic holds it");
                written.push((turn.to_string(), text.to_owned()));
            })
            .tool(work(), |_| async { Ok::<_, String>(ToolAnswer::Deferred) });
        agent.chat()
    };
    let replayed = || {
        let text: String = {
            let mut written = lines.lock().expect("no panic holds it");
            written.drain(..).map(|(_, text)| text).collect()
        };
        let journal = stepwell_core::journal::Journal::parse(&text);
        let journal = journal.expect("it was just written");
        journal.replay().expect("the same comes of it").outcome
    };
    let before = agent();
    let turn = before.send("Order it");
    turn.handle().rested().await.expect("it rests");
    let stored = turn.suspend().await.expect("it goes on");
    assert_eq!(replayed(), None);

    let turn = agent().revive(&stored).expect("it was just stored");
    let handle = turn.handle();
    handle
        .resolve_call("later", Ok("delivered".into()))
        .await
        .expect("it is awaited");
    assert_eq!(watch(turn).await.1.outcome, Outcome::Success);
    assert_eq!(replayed(), Some(Outcome::Success));
}

//! Cancelled, whatever it is about.

use crate::*;
use futures::future::BoxFuture;
use stepwell_io::message::ResumeEntry;
use stepwell_io::turn::TurnError;
use stepwell_mock_llm::Delivery;

/// A state that a turn can rest in, as far as a network can bring it there.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) enum Place {
    Opening,
    Streaming,
    Tools,
    Approval,
    RetryWait,
    Interrupted,
}

pub(crate) const PLACES: [Place; 6] = [
    Place::Opening,
    Place::Streaming,
    Place::Tools,
    Place::Approval,
    Place::RetryWait,
    Place::Interrupted,
];

/// The question of an agent, and the answer to it.
pub(crate) fn question(id: &str) -> Hop {
    let ids = |kind: &str| json!({"type": kind, "threadId": "thread-1", "runId": "run-1"});
    let mut finished = ids("RUN_FINISHED");
    finished["outcome"] =
        json!({"type": "interrupt", "interrupts": [{"id": id, "reason": "confirmation"}]});
    Hop::new()
        .bare()
        .raw_frame(ids("RUN_STARTED"))
        .raw_frame(finished)
}

pub(crate) fn answer(id: &str) -> Vec<ResumeEntry> {
    serde_json::from_value(json!([{"interruptId": id, "status": "resolved", "payload": true}]))
        .expect("it is an answer")
}

impl Place {
    pub(crate) fn hop(self) -> Hop {
        match self {
            Self::Opening => Hop::silent(),
            Self::Streaming => says("So far").stall(),
            Self::Tools | Self::Approval => asks(&["a", "b"]),
            Self::RetryWait => Hop::error(503, "later").header("retry-after", "100"),
            Self::Interrupted => question("ask-1"),
        }
    }

    pub(crate) fn agent(self, dialect: Dialect, server: &MockLlm, calls: &Arc<Semaphore>) -> Chat {
        let tool = if self == Self::Approval {
            work().requires_approval()
        } else {
            work()
        };
        let agent = dialect.agent(server).tool(tool, hangs(calls));
        let asking = Arc::clone(calls);
        let agent = agent.approver(move |_| -> BoxFuture<'static, _> {
            asking.add_permits(1);
            Box::pin(std::future::pending())
        });
        agent.chat()
    }

    /// Waits until the turn is there.
    pub(crate) async fn reached(self, turn: &mut TurnEvents, server: &MockLlm, calls: &Semaphore) {
        match self {
            Self::Opening => server.wait_until(|requests| !requests.is_empty()).await,
            Self::Streaming => {
                until(turn, |event| matches!(event, RunEvent::AgUi(_))).await;
            }
            Self::Tools | Self::Approval => begun(calls, 2).await,
            Self::RetryWait => {
                until(turn, |event| matches!(event, RunEvent::Retrying { .. })).await;
            }
            Self::Interrupted => {
                until(turn, |event| matches!(event, RunEvent::Interrupted { .. })).await;
            }
        }
    }

    fn dialects(self) -> &'static [Dialect] {
        match self {
            Self::Interrupted => &[Dialect::AgUi],
            _ => &BOTH,
        }
    }

    pub(crate) fn all() -> impl Iterator<Item = (Self, Dialect)> {
        let places = PLACES.into_iter();
        places.flat_map(|place| {
            place
                .dialects()
                .iter()
                .map(move |dialect| (place, *dialect))
        })
    }
}

#[tokio::test]
async fn cancel_in_any_state_ends_once_and_leaves_a_legal_history() {
    for (place, dialect) in Place::all() {
        let what = format!("{place:?}, {dialect:?}");
        let server = serve([place.hop(), says("As you like.")]).await;
        let calls = Arc::new(Semaphore::new(0));
        let agent = place.agent(dialect, &server, &calls);
        let mut turn = agent.send("Go on");
        place.reached(&mut turn, &server, &calls).await;
        turn.cancel();
        turn.cancel();
        let handle = turn.handle();
        let (events, finished) = watch(turn).await;
        assert_eq!(finished.outcome, Outcome::Cancelled, "{what}");
        let ends = events
            .iter()
            .filter(|event| matches!(event, RunEvent::Completed(_)));
        assert_eq!(ends.count(), 1, "{what}");
        assert_eq!(
            handle.cancel_call("a").await,
            Err(TurnError::Over),
            "{what}"
        );
        if matches!(place, Place::Opening | Place::Streaming) {
            let left = |requests: &[RecordedRequest]| requests[0].delivery == Delivery::ClientLeft;
            server.wait_until(left).await;
        }
        assert_goes_on(&agent, &server).await;
        if matches!(place, Place::Tools | Place::Approval) {
            let requests = server.requests();
            let shown = results(&requests[1]);
            assert!(
                shown.len() == 2 && shown.iter().all(|text| text.contains("cancelled")),
                "{what}: {shown:?}"
            );
        }
    }
}

#[tokio::test]
async fn a_host_that_left_in_any_state_is_refused() {
    for (place, dialect) in Place::all() {
        let server = serve([place.hop(), says("Welcome back.")]).await;
        let calls = Arc::new(Semaphore::new(0));
        let agent = place.agent(dialect, &server, &calls);
        let mut turn = agent.send("Go on");
        place.reached(&mut turn, &server, &calls).await;
        let handle = turn.handle();
        drop(turn);
        assert_goes_on(&agent, &server).await;
        assert_eq!(handle.resume(answer("ask-1")).await, Err(TurnError::Over));
        assert_eq!(
            handle.resolve_call("a", Ok("late".into())).await,
            Err(TurnError::Over)
        );
        assert_eq!(handle.snapshot().await, Err(TurnError::Over));
        assert_eq!(server.requests().len(), 2, "{place:?}, {dialect:?}");
    }
}

#[tokio::test]
async fn cancelling_one_call_leaves_its_siblings_running() {
    for dialect in BOTH {
        let server = serve([asks(&["a", "b", "c"]), says("I see.")]).await;
        let calls = Arc::new(Semaphore::new(0));
        let (dropped, was_dropped) = tokio::sync::oneshot::channel::<()>();
        let dropped = Arc::new(std::sync::Mutex::new(Some(dropped)));
        let have_begun = Arc::clone(&calls);
        let agent = dialect.agent(&server).tool(work(), move |call| {
            let is_b = call.tool_call_id == "b";
            let guard = is_b.then(|| dropped.lock().expect("no panic holds it").take());
            have_begun.add_permits(1);
            async move {
                let _held_until_dropped = guard;
                if is_b {
                    std::future::pending::<()>().await;
                }
                done(call).await
            }
        });
        let agent = agent.chat();
        let turn = agent.send("Go on");
        begun(&calls, 3).await;
        let handle = turn.handle();
        handle.cancel_call("b").await.expect("it runs");
        assert!(was_dropped.await.is_err(), "the tool's future is gone");
        let (events, finished) = watch(turn).await;
        assert_eq!(finished.outcome, Outcome::Success);
        assert_eq!(failure_kind(&events, "b"), Some(ToolFailureKind::Cancelled));
        let requests = server.requests();
        let shown = results(&requests[1]);
        assert_eq!((&*shown[0], &*shown[2]), ("a is done", "c is done"));
        assert!(shown[1].contains("stopped"), "{shown:?}");
        assert_legal(&server);
    }
}

#[tokio::test]
async fn a_stopped_call_that_waits_is_never_begun() {
    // The stream is held after the calls, so that the user is faster than the model.
    let server = serve([asks(&["a", "b", "c"]).stall()]).await;
    let ran = Arc::new(std::sync::Mutex::new(Vec::new()));
    let runs = Arc::clone(&ran);
    let agent = Dialect::AgUi
        .agent(&server)
        .max_parallel_tools(1)
        .tool(work(), move |call| {
            runs.lock()
                .expect("no panic holds it")
                .push(call.tool_call_id.to_string());
            done(call)
        });
    let agent = agent.chat();
    let mut turn = agent.send("Go on");
    let handle = turn.handle();
    until(&mut turn, |event| {
        matches!(event, RunEvent::AgUi(stepwell_io::turn::Event::ToolCallEnd(end)) if end.tool_call_id == "c")
    })
    .await;
    handle.cancel_call("b").await.expect("it is asked for");
    assert_eq!(
        handle.cancel_call("x").await,
        Err(TurnError::NotUnderWay("x".into()))
    );
    drop(turn);
    server
        .wait_until(|requests| requests[0].delivery == Delivery::ClientLeft)
        .await;
    assert!(ran.lock().expect("no panic holds it").is_empty());
}

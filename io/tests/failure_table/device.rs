//! The app is suspended, loses or changes its network; the user types during the turn.

use crate::*;
use stepwell_core::dialect::Resumption;
use stepwell_io::Device;
use stepwell_io::config::{BackgroundPolicy, OfflinePolicy};
use stepwell_io::registry::RegistryEvent;
use stepwell_io::turn::{SteeringRefusal, TurnError};

#[tokio::test]
async fn the_app_loses_its_network_and_the_request_waits_for_the_next() {
    for dialect in BOTH {
        let server = serve([says("Back.")]).await;
        let device = Device::new();
        let agent = dialect.agent(&server).device(&device).chat();
        // Before the turn begins: nothing is sent at all.
        device.network_lost();
        let mut turn = agent.send("Hello");
        until(&mut turn, |event| {
            matches!(event, RunEvent::WaitingForNetwork { .. })
        })
        .await;
        assert!(server.requests().is_empty());
        device.network_available();
        let (_, finished) = watch(turn).await;
        assert_eq!(finished.outcome, Outcome::Success, "{dialect:?}");
        assert_legal(&server);
    }
}

#[tokio::test]
async fn a_retry_waits_for_a_lost_network() {
    for dialect in BOTH {
        let hops = [
            Hop::error(503, "later").header("retry-after", "100"),
            says("Back."),
        ];
        let server = serve(hops).await;
        let device = Device::new();
        let agent = dialect.agent(&server).device(&device).chat();
        let mut turn = agent.send("Hello");
        until(&mut turn, |event| {
            matches!(event, RunEvent::Retrying { .. })
        })
        .await;
        device.network_lost();
        until(&mut turn, |event| {
            matches!(event, RunEvent::WaitingForNetwork { .. })
        })
        .await;
        assert_eq!(server.requests().len(), 1);
        turn.cancel();
        assert_eq!(watch(turn).await.1.outcome, Outcome::Cancelled);
    }
}

#[tokio::test]
async fn without_a_policy_to_wait_a_lost_network_fails_the_turn() {
    let server = serve([Hop::hang_up()]).await;
    let device = Device::new();
    let agent = Dialect::Chat
        .agent(&server)
        .device(&device)
        .configure(|config| config.device.offline = OfflinePolicy::Fail);
    let agent = agent.chat();
    device.network_lost();
    let (_, finished) = watch(agent.send("Hello")).await;
    assert!(matches!(
        failure(&finished.outcome),
        Failure::Connection { .. }
    ));
    assert_eq!(server.requests().len(), 1, "no further try");
}

#[tokio::test]
async fn the_app_is_suspended_and_finds_nothing_timed_out() {
    for dialect in BOTH {
        let server = serve([asks(&["a"]), says("Done.")]).await;
        let calls = Arc::new(Semaphore::new(0));
        let device = Device::new();
        let agent = dialect
            .agent(&server)
            .device(&device)
            .configure(|config| config.timeouts.tool = Some(Duration::from_secs(60)))
            .tool(work(), hangs(&calls));
        let agent = agent.chat();
        let turn = agent.send("Go on");
        begun(&calls, 1).await;
        device.entered_background();
        // The turn has received it once it answers.
        turn.handle().transcript().await.expect("it goes on");
        turn.handle().transcript().await.expect("it goes on");
        tokio::time::pause();
        tokio::time::advance(Duration::from_secs(3600)).await;
        turn.handle().transcript().await.expect("it goes on");
        device.entered_foreground();
        tokio::time::resume();
        turn.handle()
            .resolve_call("a", Ok("in time".into()))
            .await
            .expect("it is awaited");
        let (_, finished) = watch(turn).await;
        assert_eq!(finished.outcome, Outcome::Success);
        assert_eq!(results(&server.requests()[1]), ["in time"], "{dialect:?}");
    }
}

#[tokio::test]
async fn an_app_may_cancel_its_turns_when_it_goes_to_the_background() {
    let server = serve([Hop::silent()]).await;
    let device = Device::new();
    let agent = Dialect::Chat
        .agent(&server)
        .device(&device)
        .configure(|config| config.device.background = BackgroundPolicy::Cancel);
    let agent = agent.chat();
    let turn = agent.send("Go on");
    server.wait_until(|requests| requests.len() == 1).await;
    device.entered_background();
    assert_eq!(watch(turn).await.1.outcome, Outcome::Cancelled);
}

#[tokio::test]
async fn a_turn_that_is_suspended_and_revived_is_one_turn() {
    for dialect in BOTH {
        let server = serve([asks(&["a"]), says("Done."), says("Sure.")]).await;
        let agent = dialect.agent(&server).tool(work(), |_| async {
            Ok::<_, String>(stepwell_io::tool::ToolAnswer::Deferred)
        });
        let agent = agent.chat();
        agent.registry().look_at(Some(agent.thread_key().clone()));
        let turn = agent.send("Go on");
        let handle = turn.handle();
        handle.rested().await.expect("it rests");
        let stored = turn.suspend().await.expect("it goes on");
        assert_eq!(
            handle.resolve_call("a", Ok("?".into())).await,
            Err(TurnError::Over)
        );
        assert!(agent.registry().current(agent.thread_key()).is_some());
        let turn = agent.revive(&stored).expect("it was just stored");
        turn.handle()
            .resolve_call("a", Ok("42".into()))
            .await
            .expect("it is awaited");
        assert_eq!(watch(turn).await.1.outcome, Outcome::Success, "{dialect:?}");
        let events = std::iter::from_fn(|| agent.registry().poll_event());
        let names: Vec<_> = events
            .map(|event| match event {
                RegistryEvent::RunStarted { .. } => "started",
                RegistryEvent::RunContinued { .. } => "continued",
                RegistryEvent::RunCompleted {
                    outcome: Outcome::Success,
                    ..
                } => "completed",
                _ => "something else",
            })
            .collect();
        assert_eq!(names, ["started", "continued", "continued", "completed"]);
        assert_goes_on(&agent, &server).await;
    }
}

#[tokio::test]
async fn a_dropped_turn_stops_its_tools() {
    let server = serve([asks(&["a"])]).await;
    let (dropped, was_dropped) = tokio::sync::oneshot::channel::<()>();
    let dropped = std::sync::Mutex::new(Some(dropped));
    let calls = Arc::new(Semaphore::new(0));
    let counted = Arc::clone(&calls);
    let agent = Dialect::Chat.agent(&server).tool(work(), move |_| {
        let guard = dropped.lock().expect("no panic holds it").take();
        counted.add_permits(1);
        async move {
            let _held_until_dropped = guard;
            std::future::pending::<Result<String, String>>().await
        }
    });
    let turn = agent.chat().send("Go on");
    begun(&calls, 1).await;
    turn.suspend().await.expect("it goes on");
    assert!(was_dropped.await.is_err(), "the tool's future is gone");
}

#[tokio::test]
async fn the_user_types_during_the_turn_and_the_next_hop_takes_it_in() {
    for dialect in BOTH {
        let server = serve([asks(&["a"]), says("In Bergen, then.")]).await;
        let calls = Arc::new(Semaphore::new(0));
        let agent = dialect.agent(&server).tool(work(), hangs(&calls));
        let agent = agent.chat();
        let turn = agent.send("What is the weather?");
        begun(&calls, 1).await;
        let handle = turn.handle();
        let id = handle
            .steer("In Bergen")
            .await
            .expect("the turn is under way");
        handle
            .resolve_call("a", Ok("rain".into()))
            .await
            .expect("it is awaited");
        let (events, finished) = watch(turn).await;
        assert_eq!(finished.outcome, Outcome::Success);
        let taken = RunEvent::SteeringTaken {
            message_id: id,
            hop: 1,
        };
        assert!(events.contains(&taken), "{events:?}");
        let requests = server.requests();
        assert_eq!(messages(&requests[1], "user")[1]["content"], "In Bergen");
        assert_legal(&server);
    }
}

#[tokio::test]
async fn unused_input_is_returned_when_the_turn_ends() {
    let server = serve([asks(&["a"])]).await;
    let calls = Arc::new(Semaphore::new(0));
    let agent = Dialect::Chat.agent(&server).tool(work(), hangs(&calls));
    let turn = agent.chat().send("Go on");
    begun(&calls, 1).await;
    let handle = turn.handle();
    handle
        .steer("And quickly")
        .await
        .expect("the turn is under way");
    turn.cancel();
    let (events, _) = watch(turn).await;
    let refused = |event: &RunEvent| {
        matches!(
            event,
            RunEvent::SteeringRefused {
                reason: SteeringRefusal::TurnOver,
                ..
            }
        )
    };
    assert!(events.iter().any(refused), "{events:?}");
    assert_eq!(handle.steer("Too late").await, Err(TurnError::Over));
}

#[tokio::test]
async fn a_stream_that_broke_off_is_resumed_where_the_backend_can() {
    let ids = |kind: &str| json!({"type": kind, "threadId": "thread-1", "runId": "r"});
    let text =
        |delta: &str| json!({"type": "TEXT_MESSAGE_CONTENT", "messageId": "m", "delta": delta});
    let frame = |id: u32, event: &Value| format!("id: {id}\ndata: {event}\n\n");
    let start = json!({"type": "TEXT_MESSAGE_START", "messageId": "m", "role": "assistant"});
    let end = json!({"type": "TEXT_MESSAGE_END", "messageId": "m"});
    let first = [ids("RUN_STARTED"), start, text("The answer ")];
    let second = [text("is 42."), end, ids("RUN_FINISHED")];
    let frames = |from: u32, events: &[Value]| -> String {
        (from..)
            .zip(events)
            .map(|(id, event)| frame(id, event))
            .collect()
    };
    let server = serve([
        Hop::new().bare().raw_bytes(frames(1, &first)).cut(),
        Hop::new().bare().raw_bytes(frames(4, &second)),
    ])
    .await;
    let agent = Dialect::AgUi
        .agent(&server)
        .configure(|config| config.endpoint.quirks.resumption = Resumption::LastEventId);
    let agent = agent.chat();
    let (events, finished) = watch(agent.send("What is it?")).await;
    assert_eq!(finished.outcome, Outcome::Success);
    assert_eq!(finished.transcript.text(), "The answer is 42.");
    let resumed = RunEvent::StreamResumed { hop: 0, attempt: 1 };
    assert!(events.contains(&resumed), "{events:?}");
    let requests = server.requests();
    assert_eq!(requests[0].header("last-event-id"), None);
    assert_eq!(requests[1].header("last-event-id"), Some("3"));
}

#[tokio::test]
async fn a_broken_stream_continues_from_replay_or_snapshot() {
    let ids = |kind: &str| json!({"type": kind, "threadId": "thread-1", "runId": "r"});
    let text =
        |delta: &str| json!({"type": "TEXT_MESSAGE_CONTENT", "messageId": "m", "delta": delta});
    let frames = |events: &[Value]| -> String {
        let frames = events.iter().map(|event| format!("data: {event}\n\n"));
        frames.collect()
    };
    let start = json!({"type": "TEXT_MESSAGE_START", "messageId": "m", "role": "assistant"});
    let end = json!({"type": "TEXT_MESSAGE_END", "messageId": "m"});
    let first = [
        ids("RUN_STARTED"),
        start.clone(),
        text("The "),
        text("answer "),
    ];
    // The backend has merged its earlier events, and emitted more meanwhile.
    let replay = [
        ids("RUN_STARTED"),
        start,
        text("The answer is "),
        text("42."),
        end.clone(),
        ids("RUN_FINISHED"),
    ];
    let so_far = json!({"id": "m", "role": "assistant", "content": "The answer is "});
    let snapshot = [
        ids("RUN_STARTED"),
        json!({"type": "MESSAGES_SNAPSHOT", "messages": [so_far]}),
        text("42."),
        end,
        ids("RUN_FINISHED"),
    ];
    for (way, rest) in [
        (Resumption::Replay, &replay[..]),
        (Resumption::Snapshot, &snapshot[..]),
    ] {
        let server = serve([
            Hop::new().bare().raw_bytes(frames(&first)).cut(),
            Hop::new().bare().raw_bytes(frames(rest)),
        ])
        .await;
        let agent = Dialect::AgUi
            .agent(&server)
            .configure(|config| config.endpoint.quirks.resumption = way);
        let agent = agent.chat();
        let (events, finished) = watch(agent.send("What is it?")).await;
        assert_eq!(finished.outcome, Outcome::Success, "{way:?}");
        assert_eq!(finished.transcript.text(), "The answer is 42.", "{way:?}");
        let begun = |event: &&RunEvent| matches!(event, RunEvent::AgUi(event) if event.kind() == "TEXT_MESSAGE_START");
        assert_eq!(events.iter().filter(begun).count(), 1, "{way:?}");
        assert_eq!(server.requests().len(), 2, "{way:?}");
    }
}

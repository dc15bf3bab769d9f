//! What a model may ask for, and what may become of a tool.

use crate::*;
use std::sync::Mutex;
use std::sync::atomic::{AtomicU32, AtomicUsize, Ordering};
use stepwell_core::event::Verification;
use stepwell_io::RunId;
use stepwell_io::config::RunConfig;
use stepwell_io::host::NewRun;
use stepwell_io::turn::TurnError;
use tokio::sync::Barrier;

#[tokio::test]
async fn a_asked_then_b_in_one_stream_run_side_by_side_with_one_continuation() {
    for dialect in BOTH {
        let server = serve([
            asks(&["a"])
                .text("And ")
                .tool_call_with_id("b", "work", json!({})),
            says("Done."),
        ])
        .await;
        // Neither call can finish before the other has begun.
        let both = Arc::new(Barrier::new(2));
        let agent = dialect.agent(&server).tool(work(), move |call| {
            let both = Arc::clone(&both);
            async move {
                both.wait().await;
                done(call).await
            }
        });
        let agent = agent.chat();
        let (_, finished) = watch(agent.send("Go on")).await;
        assert_eq!(finished.outcome, Outcome::Success, "{dialect:?}");
        let requests = server.requests();
        assert_eq!(requests.len(), 2, "{dialect:?}");
        assert_eq!(results(&requests[1]), ["a is done", "b is done"]);
        assert_legal(&server);
    }
}

/// By AG-UI's rules the complete run is broken; in lenient mode only the call is.
fn leniently(config: &mut RunConfig) {
    config.endpoint.quirks.ag_ui.verification = Verification::Lenient;
}

#[tokio::test]
async fn a_call_that_never_ends_is_reported_to_the_model() {
    for dialect in BOTH {
        let open = match dialect {
            Dialect::Chat => Hop::new().tool_call_raw("a", "work", "{\"id\": \"a"),
            Dialect::AgUi => {
                let ids = |kind: &str| json!({"type": kind, "threadId": "thread-1", "runId": "r"});
                Hop::new()
                    .bare()
                    .raw_frame(ids("RUN_STARTED"))
                    .raw_frame(json!({"type": "TOOL_CALL_START", "toolCallId": "a", "toolCallName": "work"}))
                    .raw_frame(json!({"type": "TOOL_CALL_ARGS", "toolCallId": "a", "delta": "{\"id\": \"a"}))
                    .raw_frame(ids("RUN_FINISHED"))
            }
        };
        let server = serve([open, says("Once more, then.")]).await;
        let agent = dialect.agent(&server).tool(work(), |_| async {
            panic!("it is not whole") as Result<String, String>
        });
        let agent = agent.configure(leniently).chat();
        let (events, finished) = watch(agent.send("Go on")).await;
        assert_eq!(finished.outcome, Outcome::Success, "{dialect:?}");
        assert_eq!(failure_kind(&events, "a"), Some(ToolFailureKind::Rejected));
        assert_eq!(results(&server.requests()[1]).len(), 1);
        assert_legal(&server);
    }
}

#[tokio::test]
async fn empty_arguments_are_an_empty_object() {
    for dialect in BOTH {
        for raw in ["", "null", "{}"] {
            let server = serve([Hop::new().tool_call_raw("a", "work", raw), says("Done.")]).await;
            let agent = dialect.agent(&server).tool(work(), |call| async move {
                Ok::<_, String>(format!(
                    "{} of {:?}",
                    call.arguments.value, call.arguments.raw
                ))
            });
            let agent = agent.chat();
            watch(agent.send("Go on")).await;
            let shown = format!("{{}} of {raw:?}");
            assert_eq!(results(&server.requests()[1]), [shown], "{dialect:?}");
            assert_legal(&server);
        }
    }
}

#[tokio::test]
async fn arguments_of_an_unknown_call_are_a_warning() {
    let stray = json!({"type": "TOOL_CALL_ARGS", "toolCallId": "nobody", "delta": "{}"});
    let server = serve([asks(&["a"]).raw_frame(stray), says("Done.")]).await;
    let agent = Dialect::AgUi.agent(&server).tool(work(), done);
    let agent = agent.configure(leniently).chat();
    let (events, finished) = watch(agent.send("Go on")).await;
    assert_eq!(finished.outcome, Outcome::Success);
    let unknown = RunEvent::UnknownToolCall {
        tool_call_id: "nobody".into(),
    };
    assert_eq!(events.iter().filter(|event| **event == unknown).count(), 1);
    assert_eq!(results(&server.requests()[1]), ["a is done"]);
    assert_legal(&server);
}

#[tokio::test]
async fn the_backend_answers_a_call_itself_and_it_is_not_run_here() {
    let answer = json!({
        "type": "TOOL_CALL_RESULT", "messageId": "m", "toolCallId": "a", "content": "done over there", "role": "tool",
    });
    let server = serve([asks(&["a"]).raw_frame(answer).text("It is done.")]).await;
    let agent = Dialect::AgUi.agent(&server).tool(work(), |_| async {
        panic!("it is not ours") as Result<String, String>
    });
    let agent = agent.chat();
    let (_, finished) = watch(agent.send("Go on")).await;
    assert_eq!(finished.outcome, Outcome::Success);
    assert_eq!((finished.hops, server.requests().len()), (1, 1));
    assert!(finished.transcript.text().ends_with("It is done."));
}

#[tokio::test]
async fn text_and_calls_in_one_hop_are_both_kept() {
    for dialect in BOTH {
        let hop = says("Let me see.").tool_call_with_id("a", "work", json!({}));
        let server = serve([hop, says(" There.")]).await;
        let agent = dialect.agent(&server).tool(work(), done);
        let agent = agent.chat();
        let (_, finished) = watch(agent.send("Go on")).await;
        assert_eq!(finished.outcome, Outcome::Success);
        let requests = server.requests();
        let said = messages(&requests[1], "assistant");
        assert!(
            said.iter()
                .any(|message| message["content"] == "Let me see."),
            "{said:?}"
        );
        assert_eq!(results(&requests[1]), ["a is done"]);
        assert_legal(&server);
    }
}

#[tokio::test]
async fn a_failed_tool_does_not_affect_its_sibling() {
    for dialect in BOTH {
        let server = serve([asks(&["throws", "panics", "works"]), says("I see.")]).await;
        let agent = dialect.agent(&server).tool(work(), |call| async move {
            match call.tool_call_id.as_ref() {
                "throws" => Err("no luck".to_owned()),
                "panics" => panic!("a bug"),
                _ => done(call).await,
            }
        });
        let agent = agent.chat();
        let (events, finished) = watch(agent.send("Go on")).await;
        assert_eq!(finished.outcome, Outcome::Success);
        assert_eq!(
            failure_kind(&events, "throws"),
            Some(ToolFailureKind::Error)
        );
        assert_eq!(
            failure_kind(&events, "panics"),
            Some(ToolFailureKind::Panicked)
        );
        let requests = server.requests();
        let shown = results(&requests[1]);
        assert!(
            shown[0].contains("no luck") && shown[1].contains("`work` failed"),
            "{shown:?}"
        );
        assert!(!shown[1].contains("a bug"), "{shown:?}");
        assert_eq!(shown[2], "works is done");
        assert_legal(&server);
    }
}

#[tokio::test]
async fn a_panic_on_a_thread_of_its_own_is_that_tools_error() {
    let server = serve([asks(&["a"]), says("I see.")]).await;
    let agent = Dialect::Chat
        .agent(&server)
        .blocking_tool(work(), |_| -> Result<String, String> { panic!("a bug") });
    let agent = agent.chat();
    let (events, _) = watch(agent.send("Go on")).await;
    assert_eq!(failure_kind(&events, "a"), Some(ToolFailureKind::Panicked));
    assert!(results(&server.requests()[1])[0].contains("`work` failed"));
}

#[tokio::test]
async fn a_tool_that_times_out_is_reported_to_the_model() {
    let server = serve([asks(&["a"]), says("I see.")]).await;
    let (told, was_told) = std::sync::mpsc::channel();
    let told = Mutex::new(told);
    let agent = Dialect::Chat
        .agent(&server)
        .configure(|config| config.timeouts.tool = Some(Duration::from_millis(100)))
        .blocking_tool(work(), move |call| {
            tokio::runtime::Handle::current().block_on(call.cancelled());
            let _ = told
                .lock()
                .expect("no panic holds it")
                .send(call.is_cancelled());
            Ok::<_, String>("too late")
        });
    let agent = agent.chat();
    let (events, finished) = watch(agent.send("Go on")).await;
    assert_eq!(finished.outcome, Outcome::Success);
    assert_eq!(failure_kind(&events, "a"), Some(ToolFailureKind::TimedOut));
    let told = tokio::task::spawn_blocking(move || was_told.recv()).await;
    assert_eq!(told.expect("no panic"), Ok(true));
}

#[tokio::test]
async fn a_tool_that_only_waits_for_its_turn_does_not_time_out() {
    let server = serve([asks(&["a", "b", "c"]), says("Done.")]).await;
    let side_by_side = Arc::new(AtomicUsize::new(0));
    let most = Arc::new(AtomicUsize::new(0));
    let (counted, highest) = (Arc::clone(&side_by_side), Arc::clone(&most));
    // Three calls, one after the other, each of which takes two thirds of its limit. The clock is paused while they
    // run, and advances only when no task runs.
    let agent = Dialect::Chat
        .agent(&server)
        .max_parallel_tools(1)
        .configure(|config| config.timeouts.tool = Some(Duration::from_secs(90)))
        .tool(work(), move |call| {
            let (counted, highest) = (Arc::clone(&counted), Arc::clone(&highest));
            async move {
                highest.fetch_max(counted.fetch_add(1, Ordering::SeqCst) + 1, Ordering::SeqCst);
                tokio::time::pause();
                tokio::time::sleep(Duration::from_secs(60)).await;
                tokio::time::resume();
                counted.fetch_sub(1, Ordering::SeqCst);
                done(call).await
            }
        });
    let agent = agent.chat();
    let (_, finished) = watch(agent.send("Go on")).await;
    assert_eq!(finished.outcome, Outcome::Success);
    assert_eq!(
        results(&server.requests()[1]),
        ["a is done", "b is done", "c is done"]
    );
    assert_eq!(most.load(Ordering::SeqCst), 1);
}

#[tokio::test]
async fn no_more_tools_than_there_is_room_for_run_side_by_side() {
    let ids: Vec<_> = (0..20).map(|id| id.to_string()).collect();
    let ids: Vec<_> = ids.iter().map(String::as_str).collect();
    for (room, together) in [(None, 8), (Some(3), 3)] {
        let server = serve([asks(&ids), says("Done.")]).await;
        let (running, most) = (Arc::new(AtomicUsize::new(0)), Arc::new(AtomicUsize::new(0)));
        let all_there = Arc::new(Barrier::new(together));
        let mut agent = Dialect::Chat.agent(&server);
        if let Some(room) = room {
            agent = agent.max_parallel_tools(room);
        }
        let (counted, highest) = (Arc::clone(&running), Arc::clone(&most));
        let agent = agent.tool(work(), move |call| {
            let (counted, highest) = (Arc::clone(&counted), Arc::clone(&highest));
            let all_there = Arc::clone(&all_there);
            async move {
                highest.fetch_max(counted.fetch_add(1, Ordering::SeqCst) + 1, Ordering::SeqCst);
                // The first calls can only continue when as many run as there is room for.
                if call.call.index < u32::try_from(together).unwrap_or(u32::MAX) {
                    all_there.wait().await;
                }
                counted.fetch_sub(1, Ordering::SeqCst);
                done(call).await
            }
        });
        let agent = agent.chat();
        let (_, finished) = watch(agent.send("Go on")).await;
        assert_eq!(finished.outcome, Outcome::Success);
        assert_eq!(results(&server.requests()[1]).len(), 20);
        assert_eq!(most.load(Ordering::SeqCst), together);
        assert_legal(&server);
    }
}

#[tokio::test]
async fn a_tool_returns_twice_and_the_second_result_changes_nothing() {
    for dialect in BOTH {
        let server = serve([asks(&["a", "b"]), says("Done.")]).await;
        let calls = Arc::new(Semaphore::new(0));
        let agent = dialect.agent(&server).tool(work(), hangs(&calls));
        let agent = agent.chat();
        let turn = agent.send("Go on");
        begun(&calls, 2).await;
        let handle = turn.handle();
        handle
            .resolve_call("a", Ok("first".into()))
            .await
            .expect("it is awaited");
        let twice = handle.resolve_call("a", Ok("second".into())).await;
        assert_eq!(twice, Err(TurnError::NotAwaited("a".into())));
        handle
            .resolve_call("b", Ok("other".into()))
            .await
            .expect("it is awaited");
        let (_, finished) = watch(turn).await;
        assert_eq!(finished.outcome, Outcome::Success);
        assert_eq!(results(&server.requests()[1]), ["first", "other"]);
        assert_legal(&server);
    }
}

#[tokio::test]
async fn a_result_after_the_end_is_dropped() {
    let server = serve([asks(&["a"]), says("As you like.")]).await;
    let (begun, has_begun) = tokio::sync::oneshot::channel();
    let (release, released) = std::sync::mpsc::channel::<()>();
    let begun = Mutex::new(Some((begun, released)));
    let (ended, has_ended) = tokio::sync::oneshot::channel();
    let ended = Mutex::new(Some(ended));
    // The tool ignores all signals: its thread cannot be stopped, and the turn does not wait for it.
    let agent = Dialect::Chat
        .agent(&server)
        .blocking_tool(work(), move |_| {
            let (begun, released) = begun
                .lock()
                .expect("no panic holds it")
                .take()
                .expect("it runs once");
            begun.send(()).expect("the test listens");
            released.recv().expect("the test lets it go");
            let ended = ended.lock().expect("no panic holds it").take();
            ended
                .expect("it runs once")
                .send(())
                .expect("the test listens");
            Ok::<_, String>("too late")
        });
    let agent = agent.chat();
    let turn = agent.send("Go on");
    has_begun.await.expect("the tool begins");
    turn.cancel();
    let (_, finished) = watch(turn).await;
    assert_eq!(finished.outcome, Outcome::Cancelled);
    release.send(()).expect("the tool still waits");
    has_ended
        .await
        .expect("the tool comes back, and hurts nobody");
    assert_eq!(agent.transcript(), finished.transcript);
    assert_goes_on(&agent, &server).await;
    let requests = server.requests();
    let shown = results(&requests[1]);
    assert!(
        shown[0].contains("cancelled") && !shown[0].contains("too late"),
        "{shown:?}"
    );
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_blocking_tool_does_not_hold_up_the_turn() {
    let server = serve([asks(&["a"]), says("As you like.")]).await;
    let (begun, has_begun) = tokio::sync::oneshot::channel();
    let (release, released) = std::sync::mpsc::channel::<()>();
    let begun = Mutex::new(Some((begun, released)));
    let agent = Dialect::Chat.agent(&server).tool(work(), move |_| {
        let (begun, released) = begun
            .lock()
            .expect("no panic holds it")
            .take()
            .expect("it runs once");
        async move {
            begun.send(()).expect("the test listens");
            released.recv().map_err(|error| error.to_string())?;
            Ok::<_, String>("too late")
        }
    });
    let agent = agent.chat();
    let turn = agent.send("Go on");
    has_begun.await.expect("the tool begins");
    turn.cancel();
    let (_, finished) = watch(turn).await;
    assert_eq!(finished.outcome, Outcome::Cancelled);
    release.send(()).expect("the tool still waits");
}

#[tokio::test]
async fn all_tools_fail_and_the_model_sees_every_error() {
    for dialect in BOTH {
        let server = serve([asks(&["a", "b", "c"]), says("I see.")]).await;
        let agent = dialect.agent(&server).tool(work(), |call| async move {
            Err::<String, _>(format!("{} is broken", call.tool_call_id))
        });
        let agent = agent.chat();
        let (_, finished) = watch(agent.send("Go on")).await;
        assert_eq!(finished.outcome, Outcome::Success);
        let requests = server.requests();
        let shown = results(&requests[1]);
        for (shown, wanted) in shown
            .iter()
            .zip(["a is broken", "b is broken", "c is broken"])
        {
            assert!(shown.contains(wanted), "{shown}");
        }
        assert_eq!(shown.len(), 3);
        assert_legal(&server);
    }
}

#[tokio::test]
async fn a_stream_fails_with_calls_pending_and_they_are_abandoned() {
    for dialect in BOTH {
        for broken in [
            says("So ").tool_call_with_id("a", "work", json!({})).cut(),
            says("So ")
                .tool_call_with_id("a", "work", json!({}))
                .end_early(),
            says("So ")
                .tool_call_with_id("a", "work", json!({}))
                .error_event("overloaded"),
        ] {
            let server = serve([broken, says("Never mind.")]).await;
            let agent = dialect.agent(&server).tool(work(), |_| async {
                panic!("a broken stream runs nothing") as Result<String, String>
            });
            let agent = agent.chat();
            let (_, finished) = watch(agent.send("Go on")).await;
            let ended = matches!(
                finished.outcome,
                Outcome::Failed { .. } | Outcome::Truncated
            );
            assert!(ended, "{dialect:?}: {:?}", finished.outcome);
            assert_eq!(finished.transcript.text(), "So ");
            assert_eq!(server.requests().len(), 1);
            assert_goes_on(&agent, &server).await;
        }
    }
}

#[tokio::test]
async fn creating_the_next_run_fails_and_a_new_turn_sends_the_results() {
    for dialect in BOTH {
        let server = serve([asks(&["a"]), says("Thank you.")]).await;
        let asked = AtomicU32::new(0);
        let source = move |_: NewRun| {
            let asked = asked.fetch_add(1, Ordering::Relaxed);
            async move {
                match asked {
                    1 => Err("the room is full"),
                    _ => Ok(RunId::from(format!("run-{asked}"))),
                }
            }
        };
        let agent = dialect.agent(&server).run_source(source).tool(work(), done);
        let agent = agent.chat();
        let (_, finished) = watch(agent.send("Go on")).await;
        let failed = failure(&finished.outcome);
        let message = "the room is full".to_owned();
        assert_eq!(*failed, Failure::RunNotCreated { message });
        assert_goes_on(&agent, &server).await;
        assert_eq!(results(&server.requests()[1]), ["a is done"]);
    }
}

#[tokio::test]
async fn a_call_id_used_twice_is_two_calls_that_are_both_answered() {
    for dialect in BOTH {
        let server = serve([asks(&["a"]), asks(&["a"]), says("Done.")]).await;
        let agent = dialect.agent(&server).tool(work(), done);
        let agent = agent.chat();
        let (_, finished) = watch(agent.send("Go on")).await;
        assert_eq!(finished.outcome, Outcome::Success, "{dialect:?}");
        assert_eq!(results(&server.requests()[2]).len(), 2);
    }
}

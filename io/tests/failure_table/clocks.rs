//! Three clocks, apart.

use crate::wire::{End, answer, peer};
use crate::*;
use stepwell_core::event::Event;
use stepwell_io::turn::Deadline;

fn is_text(event: &RunEvent) -> bool {
    matches!(event, RunEvent::AgUi(Event::TextMessageContent(_)))
}

fn timed_out(deadline: Deadline) -> Failure {
    Failure::TimedOut { deadline }
}

#[tokio::test]
async fn a_silent_model_is_retried_and_then_given_up() {
    for dialect in BOTH {
        let server = serve([Hop::silent(), Hop::new().bare().stall(), Hop::silent()]).await;
        let agent = dialect.agent(&server).configure(|config| {
            config.retry.attempts = 3;
        });
        let agent = agent.chat();
        let mut turn = agent.send("Hello");
        for asked in 1..=2 {
            server.wait_until(|requests| requests.len() == asked).await;
            // The clock moves on only when nothing else does.
            tokio::time::pause();
            let is_retry = |event: &RunEvent| matches!(event, RunEvent::Retrying { .. });
            until(&mut turn, is_retry).await;
            tokio::time::resume();
        }
        server.wait_until(|requests| requests.len() == 3).await;
        tokio::time::pause();
        let (_, finished) = watch(turn).await;
        tokio::time::resume();
        assert_eq!(*failure(&finished.outcome), timed_out(Deadline::Silence));
        assert_eq!(server.requests().len(), 3, "{dialect:?}");
    }
}

#[tokio::test]
async fn a_model_that_falls_silent_fails_and_what_was_shown_stays() {
    for dialect in BOTH {
        let server = serve([says("Hm").stall(), says("Sorry.")]).await;
        let agent = dialect.agent(&server).chat();
        let mut turn = agent.send("Hello");
        until(&mut turn, is_text).await;
        // The clock moves on only when nothing else does.
        tokio::time::pause();
        let (_, finished) = watch(turn).await;
        tokio::time::resume();
        assert_eq!(*failure(&finished.outcome), timed_out(Deadline::Silence));
        assert_eq!(finished.transcript.text(), "Hm");
        assert_goes_on(&agent, &server).await;
    }
}

#[tokio::test]
async fn a_connection_kept_open_after_the_answer_is_closed() {
    let sse = ["content-type: text/event-stream"];
    let asked = r#"{"choices":[{"delta":{"tool_calls":[{"index":0,"id":"a","function":{"name":"work","arguments":"{\"key\":\"a\"}"}}]}}]}"#;
    let bodies = [
        format!(
            "data: {asked}\n\ndata: {{\"choices\":[{{\"delta\":{{}},\"finish_reason\":\"tool_calls\"}}]}}\n\n"
        ),
        "data: {\"choices\":[{\"delta\":{\"content\":\"Done.\"}}]}\n\ndata: [DONE]\n\n".to_owned(),
    ];
    // The second connection is made when the first one is closed.
    let url = peer(bodies.map(|body| (answer(&sse, &body), End::Held)).into()).await;
    let agent = Dialect::Chat.agent_at(&url).tool(work(), done);
    let agent = agent.configure(|config| {
        config.timeouts.silence = None;
        config.timeouts.closing = Some(Duration::from_millis(20));
    });
    let agent = agent.chat();
    let (_, finished) = watch(agent.send("Go on")).await;
    assert_eq!(finished.outcome, Outcome::Success);
    assert_eq!(finished.transcript.text(), "Done.");
}

#[tokio::test]
async fn a_tools_time_is_never_the_models_silence() {
    for dialect in BOTH {
        let server = serve([asks(&["a"]), says("Done.")]).await;
        // The clock is paused while the tool takes an hour, and advances only when no task runs.
        let agent = dialect
            .agent(&server)
            .configure(|config| {
                config.timeouts.silence = Some(Duration::from_secs(20));
                config.timeouts.tool = None;
            })
            .tool(work(), |call| async move {
                tokio::time::pause();
                tokio::time::sleep(Duration::from_secs(3600)).await;
                tokio::time::resume();
                done(call).await
            });
        let agent = agent.chat();
        let (_, finished) = watch(agent.send("Go on")).await;
        assert_eq!(finished.outcome, Outcome::Success, "{dialect:?}");
        assert_eq!(results(&server.requests()[1]), ["a is done"]);
    }
}

#[tokio::test]
async fn an_app_that_is_slow_to_take_events_is_not_the_models_silence() {
    // More events than wait for the app; what is left of the answer waits in the network.
    let text = "word ".repeat(3_000);
    let server = serve([says(&text)]).await;
    let agent = Dialect::Chat.agent(&server).configure(|config| {
        config.timeouts.silence = Some(Duration::from_secs(20));
    });
    let agent = agent.chat();
    let mut turn = agent.send("Hello");
    turn.next().await.expect("the turn begins");
    // The clock moves on only when nothing else does: when the turn reads no more, since its queue is full.
    tokio::time::pause();
    tokio::time::sleep(Duration::from_secs(3600)).await;
    tokio::time::resume();
    let so_far = turn.handle().transcript().await.expect("it goes on");
    assert!(so_far.text().len() < text.len(), "it was held up");
    let (_, finished) = watch(turn).await;
    assert_eq!(finished.outcome, Outcome::Success);
    assert_eq!(finished.transcript.text(), text);
}

#[tokio::test]
async fn a_turn_out_of_time_fails_and_stops_its_tools() {
    for dialect in BOTH {
        let server = serve([asks(&["a"]), says("Sorry.")]).await;
        let (dropped, was_dropped) = tokio::sync::oneshot::channel::<()>();
        let dropped = Arc::new(std::sync::Mutex::new(Some(dropped)));
        let agent = dialect
            .agent(&server)
            .configure(|config| config.timeouts.turn = Some(Duration::from_secs(60)))
            .tool(work(), move |_| {
                let guard = dropped.lock().expect("no panic holds it").take();
                async move {
                    let _held_until_dropped = guard;
                    tokio::time::pause();
                    std::future::pending::<Result<String, String>>().await
                }
            });
        let agent = agent.chat();
        let (_, finished) = watch(agent.send("Go on")).await;
        tokio::time::resume();
        assert_eq!(*failure(&finished.outcome), timed_out(Deadline::Turn));
        assert!(was_dropped.await.is_err(), "the tool's future is gone");
        assert_goes_on(&agent, &server).await;
    }
}

//! The end of Stepwell's threads: in a separate program, since it is final.

#[allow(dead_code, reason = "each program of tests takes what it needs")]
mod support;

use std::sync::Arc;
use stepwell_ffi::{Agent, AgentSetup, Event, Listener, StepwellError, TurnOptions, shutdown};
use stepwell_mock_llm::{Hop, MockLlm, Script};
use support::config;
use tokio::sync::mpsc;

/// Passes the events on.
struct Told(mpsc::UnboundedSender<Event>);

impl Listener for Told {
    fn on_events(&self, events: Vec<Event>) -> Result<(), stepwell_ffi::CallbackError> {
        for event in events {
            let _ = self.0.send(event);
        }
        Ok(())
    }
}

#[tokio::test]
async fn after_a_shutdown_no_code_of_the_app_is_called_and_nothing_can_be_begun() {
    let hop = Hop::new().text("Well").stall();
    let server = MockLlm::start(Script::new().hop(hop))
        .await
        .expect("a server");
    let agent = Agent::new(config(&server.base_url()), AgentSetup::default()).expect("an agent");
    let (told, mut events) = mpsc::unbounded_channel();
    let listener = Arc::new(Told(told));
    let alive = Arc::downgrade(&listener);
    let turn = tokio::spawn({
        let agent = Arc::clone(&agent);
        async move { agent.send_to_listener("Go".into(), listener).await }
    });
    while let Some(event) = events.recv().await {
        if matches!(event, Event::TextMessageContent { .. }) {
            break;
        }
    }

    let stopped = tokio::task::spawn_blocking(shutdown);
    stopped.await.expect("no panic");
    let ended = turn.await.expect("no panic");
    assert!(ended.is_err(), "{ended:?}");
    assert!(alive.upgrade().is_none(), "nobody is left to be told");

    let begun = agent
        .start_turn(
            "Again".into(),
            TurnOptions::default(),
            Vec::new(),
            Vec::new(),
        )
        .map(|_| ());
    let Err(StepwellError::Unavailable { reason, advice }) = begun else {
        panic!("{begun:?}");
    };
    assert_eq!(reason, "Stepwell's threads were stopped");
    assert_eq!(advice, "begin nothing after `shutdown`");
    // A second call changes nothing; an app and its language's package may both make one.
    shutdown();
}

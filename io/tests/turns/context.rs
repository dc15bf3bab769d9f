//! Conversations that do not fit the model's context window.

use crate::support::IntoChat as _;
use crate::{agent, start, watch};
use stepwell_io::config::{ContextOverflow, Trimmed};
use stepwell_io::message::{Message, Transcript};
use stepwell_io::turn::{Failure, Outcome, RunEvent};
use stepwell_mock_llm::{Hop, Script};

fn history() -> Transcript {
    let old = (0..3).map(|at| Message::user(format!("old-{at}"), "x".repeat(4_000)));
    Transcript::new(old.collect())
}

#[tokio::test]
async fn the_apps_code_leaves_out_what_does_not_fit() {
    let server = start(Script::new().hop(Hop::new().text("Yes."))).await;
    let agent = agent(&server)
        .configure(|config| config.context_guard.window = Some(1_500))
        .trim_context(
            |overflow: ContextOverflow, messages: Vec<Message>| async move {
                // The trimmer receives the messages of the overflow.
                assert_eq!(overflow.messages.len(), messages.len());
                Some(Trimmed {
                    keep: overflow.newest(0.5),
                    summary: Some("There were many x.".to_owned()),
                })
            },
        )
        .chat()
        .with_history(history());
    let (events, finished) = watch(agent.send("And?")).await;
    assert_eq!(finished.outcome, Outcome::Success);
    let is_told = |event: &RunEvent| matches!(event, RunEvent::ContextTrimmed { .. });
    assert_eq!(events.iter().filter(|event| is_told(event)).count(), 1);
    let sent = &server.requests()[0].body["messages"];
    let sent = sent.as_array().expect("messages");
    assert!(sent.len() < 4, "{sent:?}");
    let first = sent[0]["content"].as_str().expect("text");
    assert!(first.contains("There were many x."), "{first}");
    assert_eq!(finished.transcript.messages().len(), 5, "nothing is lost");
}

#[tokio::test]
async fn a_failed_or_useless_trimmer_ends_the_turn_early() {
    let server = start(Script::new().hop(Hop::new().text("never"))).await;
    for breaks in [true, false] {
        let agent = agent(&server)
            .configure(|config| config.context_guard.window = Some(1_500))
            .trim_context(move |_, _| async move {
                assert!(!breaks, "on purpose");
                None::<Trimmed>
            })
            .chat()
            .with_history(history());
        let (_, finished) = watch(agent.send("And?")).await;
        let Outcome::Failed { failure } = finished.outcome else {
            panic!("{:?}", finished.outcome)
        };
        assert!(
            matches!(failure, Failure::ContextTooLong { .. }),
            "{failure}"
        );
    }
    assert!(server.requests().is_empty());
}

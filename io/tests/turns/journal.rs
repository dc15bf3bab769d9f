//! Journals of real turns.

use crate::support::IntoChat as _;
use crate::{agent, lookup, secret_number, start, watch};
use std::collections::BTreeMap;
use std::sync::{Arc, Mutex};
use stepwell_core::journal::{Journal, JournalEnd};
use stepwell_core::run::Outcome;
use stepwell_io::RunId;
use stepwell_io::message::Message;
use stepwell_io::turn::Start;
use stepwell_mock_llm::Script;

type Journals = Arc<Mutex<BTreeMap<String, String>>>;

/// Keeps the journals, by turn.
fn keeping(journals: &Journals) -> impl Fn(&RunId, &str) + Send + Sync + 'static {
    let journals = Arc::clone(journals);
    move |turn, lines| {
        assert!(lines.ends_with('\n'), "whole lines: {lines}");
        let mut journals = journals.lock().expect("nobody panicked");
        journals
            .entry(turn.to_string())
            .or_default()
            .push_str(lines);
    }
}

#[tokio::test]
async fn each_turn_has_a_journal_that_replays() {
    let server = start(Script::secret_numbers()).await;
    let journals = Journals::default();
    let agent = agent(&server)
        .tool(secret_number(), lookup)
        .journal(keeping(&journals))
        .chat();
    let mut ends = Vec::new();
    for turn in ["one", "two"] {
        let message = Message::user(format!("{turn}-user"), "What are the numbers?");
        let (_, finished) = watch(agent.start(Start::new(turn, message))).await;
        ends.push(finished);
    }
    let journals = journals.lock().expect("nobody panicked");
    assert_eq!(journals.keys().collect::<Vec<_>>(), ["one", "two"]);
    for (text, end) in journals.values().zip(&ends) {
        assert!(!text.contains("test-key"), "{text}");
        let journal = Journal::parse(text).expect("a journal");
        let replayed = journal.replay().expect("the same");
        assert!(matches!(journal.ending, JournalEnd::Closed(digest) if digest == replayed.digest));
        assert_eq!(replayed.outcome.as_ref(), Some(&end.outcome));
        assert!(!journal.redact().contains("alice"));
    }
}

#[tokio::test]
async fn a_cancelled_turn_has_its_journal_too() {
    let server = start(Script::secret_numbers()).await;
    let journals = Journals::default();
    let agent = agent(&server)
        .tool(secret_number(), |_| async {
            std::future::pending::<Result<String, String>>().await
        })
        .journal(keeping(&journals))
        .chat();
    let mut turn = agent.send("What are the numbers?");
    while let Some(event) = futures::StreamExt::next(&mut turn).await {
        if let stepwell_io::turn::RunEvent::ToolCallUpdate(_) = event {
            turn.cancel();
        }
    }
    assert_eq!(turn.finish().await.outcome, Outcome::Cancelled);
    let journals = journals.lock().expect("nobody panicked");
    let text = journals.values().next().expect("one turn");
    let journal = Journal::parse(text).expect("a journal");
    let replayed = journal.replay().expect("the same");
    assert_eq!(replayed.outcome, Some(Outcome::Cancelled));
    let last = journal.entries.last().expect("some");
    assert_eq!(last.step.name(), "cancel");
}

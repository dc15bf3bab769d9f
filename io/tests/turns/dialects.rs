//! One scenario in every API of every provider: whatever the wire format, the app sees the same turn, and its journal
//! replays and can be redacted.

use super::{secret_number, start, watch};
use crate::support::IntoChat as _;
use serde_json::json;
use std::sync::{Arc, Mutex};
use stepwell_core::journal::Journal;
use stepwell_io::turn::{Event, Outcome, RunEvent};
use stepwell_io::{Agent, RunId, provider};
use stepwell_mock_llm::{Dialect, Hop, Script};

/// Words of the conversation, which a redacted journal must not have.
const WORDS: [&str; 3] = ["alexandra", "bartholomew", "remember"];

fn script() -> Script {
    Script::new()
        .hop(
            Hop::new()
                .text("Let me remember both. ")
                .tool_call("get_secret_number", json!({"name": "alexandra"}))
                .tool_call("get_secret_number", json!({"name": "bartholomew"})),
        )
        .hop(Hop::new().text("Alexandra has 42, Bartholomew has 7."))
}

async fn lookup(call: stepwell_io::tool::ToolContext) -> Result<String, String> {
    match call.arguments.value["name"].as_str() {
        Some("alexandra") => Ok("42".to_owned()),
        Some("bartholomew") => Ok("7".to_owned()),
        other => Err(format!("nobody is called {other:?}")),
    }
}

/// Returns the events without ids, usage and the providers' own words. The events of one item are joined, with their
/// deltas: how the items of one answer interleave depends on the wire format.
fn canonical(events: &[RunEvent]) -> Vec<String> {
    let mut log: Vec<(String, String)> = Vec::new();
    let mut say = |item: &str, what: String| match log
        .iter_mut()
        .rev()
        .find(|(known, _)| !item.is_empty() && known == item)
    {
        Some((_, said)) => said.push_str(&what),
        None => log.push((item.to_owned(), what)),
    };
    for event in events {
        match event {
            RunEvent::AgUi(Event::TextMessageStart(event)) => {
                say(&event.message_id, "text[".into());
            }
            RunEvent::AgUi(Event::TextMessageContent(event)) => {
                say(&event.message_id, event.delta.clone());
            }
            RunEvent::AgUi(Event::TextMessageEnd(event)) => say(&event.message_id, "]".into()),
            RunEvent::AgUi(Event::ToolCallStart(event)) => {
                say(&event.tool_call_id, format!("{}(", event.tool_call_name));
            }
            RunEvent::AgUi(Event::ToolCallArgs(event)) => {
                say(&event.tool_call_id, event.delta.clone());
            }
            RunEvent::AgUi(Event::ToolCallEnd(event)) => say(&event.tool_call_id, ")".into()),
            RunEvent::AgUi(event) => say("", event.kind().to_owned()),
            RunEvent::ToolCallUpdate(update) => say(
                &format!("run {}", update.tool_call_id),
                format!("{:?} ", update.status),
            ),
            RunEvent::Started { .. } => say("", "started".into()),
            RunEvent::HopStarted { hop, .. } => say("", format!("hop {hop}")),
            other => say("", format!("{other:?}")),
        }
    }
    log.into_iter().map(|(_, said)| said).collect()
}

#[tokio::test]
async fn one_scenario_gives_one_log_in_every_api_of_every_provider() {
    let mut logs: Vec<(String, Vec<String>)> = Vec::new();
    for provider in provider::all() {
        for api in provider.apis.iter() {
            let name = format!("{} {}", provider.name, api.name);
            let dialect = Dialect::ALL
                .into_iter()
                .find(|dialect| dialect.name() == api.dialect.name())
                .expect("the mock speaks every dialect");
            let server = start(script()).await;
            let endpoint = provider
                .endpoint(
                    Some(&api.name),
                    "mock-model",
                    Some(&server.url(dialect)),
                    Some("key".into()),
                )
                .expect("complete");
            let journal = Arc::new(Mutex::new(String::new()));
            let lines = Arc::clone(&journal);
            let agent = Agent::builder(endpoint)
                .tool(secret_number(), lookup)
                // A request sent again would take the next hop of the script: the turn should report the failure
                // instead.
                .configure(|settings| settings.retry.attempts = 1)
                .journal(move |_: &RunId, text: &str| {
                    lines.lock().expect("nobody panicked").push_str(text);
                })
                .chat();
            let (events, finished) = watch(agent.send("What are the secret numbers?")).await;
            assert_eq!(finished.outcome, Outcome::Success, "{name}");
            assert_eq!(server.failures(), [] as [String; 0], "{name}");
            assert_eq!(
                finished.transcript.text(),
                "Let me remember both. Alexandra has 42, Bartholomew has 7.",
                "{name}: {:#?}",
                server.requests()
            );
            logs.push((name.clone(), canonical(&events)));

            let text = journal.lock().expect("nobody panicked").clone();
            let journal = Journal::parse(&text).expect("a journal");
            journal.replay().expect("the same");
            let hidden = journal.redact().to_lowercase();
            for word in WORDS {
                assert!(!hidden.contains(word), "{name}: {word}");
            }
        }
    }
    assert!(logs.len() >= 16, "{}", logs.len());
    let (first, log) = &logs[0];
    assert!(
        log.contains(&r#"get_secret_number({"name":"alexandra"})"#.to_owned()),
        "{log:#?}"
    );
    for (name, other) in &logs[1..] {
        assert_eq!(other, log, "{name} and {first}");
    }
}

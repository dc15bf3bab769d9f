//! Typed answers, and the app's code that decodes them.

use crate::support::IntoChat as _;
use crate::{agent, start, watch};
use serde_json::{Value, json};
use std::sync::Arc;
use stepwell_io::message::Message;
use stepwell_io::output::OutputType;
use stepwell_io::turn::{Failure, Outcome, RunEvent};
use stepwell_mock_llm::{Hop, Script};

fn trip() -> OutputType {
    let schema = json!({"type": "object", "properties": {"days": {"type": "integer"}}, "required": ["days"]});
    OutputType::new("Trip", schema).expect("a type")
}

fn decode(value: &Value) -> Result<u8, String> {
    match value["days"].as_i64() {
        Some(13) => panic!("on purpose"),
        Some(days) => u8::try_from(days).map_err(|error| format!("{error} (at /days)")),
        None => Err("no days".to_owned()),
    }
}

fn answers(days: &[i64]) -> Script {
    let hop = |days: &i64| Hop::new().text(json!({"days": days}).to_string());
    days.iter().map(hop).fold(Script::new(), Script::hop)
}

fn refusals(events: &[RunEvent]) -> Vec<&str> {
    let refused = events.iter().filter_map(|event| match event {
        RunEvent::OutputRefused { reason, .. } => Some(reason.as_str()),
        _ => None,
    });
    refused.collect()
}

#[tokio::test]
async fn what_the_apps_decoder_refuses_goes_back_to_the_model() {
    let server = start(answers(&[300, 13, 3])).await;
    let agent = agent(&server)
        .configure(|config| config.output = Some(trip().decoded_by_host(true)))
        .output_decoder(decode)
        .chat();
    let (events, finished) = watch(agent.send("A trip")).await;
    assert_eq!(finished.outcome, Outcome::Success);
    assert_eq!(finished.output, Some(json!({"days": 3})));
    let refused = refusals(&events);
    assert!(refused[0].ends_with("(at /days)"), "{refused:?}");
    assert!(refused[1].contains("on purpose"), "{refused:?}");
    let last = server.requests()[1].body["messages"].clone();
    let last = last.as_array().and_then(|all| all.last()).cloned();
    let told = last
        .map(|last| last["content"].to_string())
        .unwrap_or_default();
    assert!(told.contains("(at /days)"), "{told}");
}

#[tokio::test]
async fn handles_on_a_conversation_have_their_own_output_type() {
    let server = start(answers(&[300, 3, 4])).await;
    let plain = agent(&server).chat();
    let typed = plain.agent.with_output_type(trip(), Some(Arc::new(decode)));
    let typed = typed.conversation("thread-1");
    let result = typed.send("A trip").await.expect("it fits in the end");
    assert_eq!(result.output, json!({"days": 3}));
    let result = plain.run("And?").await.expect("it is answered");
    assert_eq!(result.output, r#"{"days":4}"#);
    let users = result.messages().iter();
    let users = users.filter(|message| matches!(message, Message::User(_)));
    assert_eq!(users.count(), 3, "it is one conversation");
}

#[tokio::test]
async fn without_a_decoder_the_turn_fails() {
    let server = start(answers(&[3])).await;
    let output = trip().decoded_by_host(true).retries(0);
    let agent = agent(&server).configure(|config| config.output = Some(output));
    let agent = agent.chat();
    let finished = agent.send("A trip").finish().await;
    let Outcome::Failed {
        failure: Failure::OutputInvalid { reason, text },
    } = finished.outcome
    else {
        panic!("{:?}", finished.outcome);
    };
    assert!(reason.contains("no code"), "{reason}");
    assert_eq!(&*text, r#"{"days":3}"#);
}

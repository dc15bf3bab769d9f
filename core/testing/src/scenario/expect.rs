//! The handwritten expectations of a scenario, which are never updated: how it must end, independently of the core.

use super::outputs;
use super::player::{Host, RUN};
use serde_json::{Map, Value, json};
use stepwell_core::run::RunMachine;

/// Returns the expectations of a scenario's author that were not met when it was played.
pub(super) fn unmet(scenario: &Value, played: &Value, host: &Host) -> Vec<String> {
    let mut wrong = Vec::new();
    let none = Map::new();
    let expect = scenario["expect"].as_object().unwrap_or(&none);
    for (what, expected) in expect {
        let came = match what.as_str() {
            "state" => json!(host.run(RUN).state()),
            "outcome" => outcome(host.run(RUN)),
            "text" => json!(host.run(RUN).transcript().text()),
            "history" => history(host.run(RUN)),
            "others" => {
                let others = expected.as_object().expect("runs by name");
                for (name, expected) in others {
                    let machine = host.run(name);
                    let came = json!({ "outcome": outcome(machine), "history": history(machine) });
                    if &came != expected {
                        wrong.push(format!("`{name}` is to be {expected}, it is {came}"));
                    }
                }
                continue;
            }
            "tools_run" => {
                let ran = effects(played, "run_tool").map(|effect| effect["id"].clone());
                Value::Array(ran.collect())
            }
            "requests" => {
                let sent: Vec<_> = effects(played, "open_stream").collect();
                let expected = expected.as_array().expect("requests");
                if sent.len() != expected.len() {
                    wrong.push(format!(
                        "{} requests are expected, {} were sent",
                        expected.len(),
                        sent.len()
                    ));
                }
                for (sent, expected) in sent.iter().zip(expected) {
                    if let Some(what) = lacks(sent, expected, &sent["id"].to_string()) {
                        wrong.push(what);
                    }
                }
                continue;
            }
            "seen" => {
                let events: Vec<_> = steps(played)
                    .flat_map(|step| list(&step["gives"]["events"]))
                    .filter_map(Value::as_str)
                    .collect();
                let mut rest = events.iter();
                for wanted in expected.as_array().expect("events") {
                    let wanted = wanted.as_str().expect("an event");
                    if !rest.any(|event| event == &wanted) {
                        wrong.push(format!("`{wanted}` is not seen, in this order: {events:?}"));
                        break;
                    }
                }
                continue;
            }
            other => panic!("no expectation {other}"),
        };
        if &came != expected {
            wrong.push(format!("{what} is to be {expected}, it is {came}"));
        }
    }
    wrong
}

fn list(value: &Value) -> &[Value] {
    value.as_array().map_or(&[], Vec::as_slice)
}

fn steps(played: &Value) -> impl Iterator<Item = &Value> {
    list(&played["steps"]).iter()
}

fn effects<'a>(played: &'a Value, kind: &'a str) -> impl Iterator<Item = &'a Value> {
    steps(played)
        .flat_map(|step| list(&step["gives"]["effects"]))
        .filter(move |effect| effect["effect"] == kind)
}

/// The part before the sentence: `failed api`, `success`.
fn outcome(machine: &RunMachine) -> Value {
    let line = machine.outcome().map(outputs::outcome);
    json!(line.map(|line| line.split(':').next().unwrap_or_default().to_owned()))
}

/// The conversation in a line each: who, and what.
fn history(machine: &RunMachine) -> Value {
    let mut lines = Vec::new();
    for message in machine.transcript().messages() {
        let message = json!(message);
        let role = message["role"].as_str().unwrap_or_default();
        match &message["content"] {
            Value::String(text) if text.is_empty() => {}
            Value::String(text) => lines.push(format!("{role}: {text}")),
            Value::Null | Value::Object(_) => {}
            parts => {
                let said = list(parts).iter().map(|part| match part["text"].as_str() {
                    Some(text) => text.to_owned(),
                    None => format!("[{}]", part["type"].as_str().unwrap_or_default()),
                });
                lines.push(format!("{role}: {}", said.collect::<Vec<_>>().join(" ")));
            }
        }
        for call in list(&message["toolCalls"]) {
            let function = &call["function"];
            let name = function["name"].as_str().unwrap_or_default();
            let arguments = function["arguments"].as_str().unwrap_or_default();
            lines.push(format!("{role} calls {name} {arguments}"));
        }
    }
    json!(lines)
}

/// Returns the part of `wanted` that `value` lacks: an object may have more fields, a list must have the same length.
fn lacks(value: &Value, wanted: &Value, place: &str) -> Option<String> {
    match (value, wanted) {
        (Value::Object(fields), Value::Object(wanted)) => {
            wanted.iter().find_map(|(name, wanted)| {
                let place = format!("{place}.{name}");
                match fields.get(name) {
                    Some(field) => lacks(field, wanted, &place),
                    None if wanted.is_null() => None,
                    None => Some(format!("{place} is missing")),
                }
            })
        }
        (Value::Array(items), Value::Array(wanted)) if items.len() == wanted.len() => {
            let mut pairs = items.iter().zip(wanted).enumerate();
            pairs.find_map(|(at, (item, wanted))| lacks(item, wanted, &format!("{place}[{at}]")))
        }
        (value, wanted) if value == wanted => None,
        _ => Some(format!("{place} is to be {wanted}, it is {value}")),
    }
}

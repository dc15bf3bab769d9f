//! What a client has of a turn, and whether the thread shows the same.

use super::findings::Rule;
use super::fold::{Broken, Fold, Message};
use serde_json::{Value, json};
use std::collections::{BTreeMap, BTreeSet};

/// The part of a turn that a client has.
#[derive(Clone, Debug, Default)]
pub(crate) struct View {
    /// The events of the log, as they were sent.
    pub(crate) events: Vec<String>,
    pub(crate) fold: Fold,
}

impl View {
    /// Returns the id of the last event, after which a client follows.
    pub(crate) fn last_event_id(&self, turn: &str) -> Option<String> {
        let last = self.events.len().checked_sub(1)?;
        Some(format!("{turn}:{last}"))
    }

    /// Takes the next event of the log, and returns the rules that it breaks.
    pub(crate) fn take(&mut self, turn: &str, id: &str, data: String) -> Broken {
        let mut broken = Broken::new();
        let expected = format!("{turn}:{}", self.events.len());
        if id != expected {
            let what = format!("the event `{id}` comes where `{expected}` is next");
            broken.push((Rule::LogStays, what));
        }
        if self.fold.is_over {
            let what = format!("{data} comes after the end");
            broken.push((Rule::EndIsTold, what));
        }
        let event: Value = serde_json::from_str(&data).unwrap_or_default();
        broken.extend(self.fold.apply(&event));
        self.events.push(data);
        broken
    }
}

/// A message as it is shown: its text, each call with its arguments and its result, and whether it was cut.
type Shown = (String, String, Vec<(String, Value, Option<String>)>, bool);

/// Checks that the thread shows the turn as it was reported: each answer with its calls, their results, and how each
/// ended.
pub(crate) fn same_view(turn: &str, fold: &Fold, messages: &Value) -> Broken {
    let mut broken = Broken::new();
    let messages: Vec<&Value> = messages.as_array().into_iter().flatten().collect();
    let elsewhere: BTreeSet<&str> = messages
        .iter()
        .filter(|message| message["turn"] != turn)
        .filter_map(|message| message["id"].as_str())
        .collect();
    let told = fold
        .messages
        .iter()
        .filter(|message| message.role == "assistant" && !elsewhere.contains(message.id.as_str()));
    let told: Vec<Shown> = told.map(|message| told_message(message, fold)).collect();
    let shown = messages
        .iter()
        .filter(|message| message["turn"] == turn && message["role"] == "assistant");
    let mut shown: Vec<Shown> = shown.map(|message| shown_message(message)).collect();
    for call in untold(&told, &mut shown) {
        let what = format!("`{call}` has a result, and it is not told");
        broken.push((Rule::ResultIsTold, what));
    }
    for (call, told, stored) in edits(&told, &mut shown) {
        let what = format!("`{call}` gave `{told}` as told, and `{stored}` as stored");
        broken.push((Rule::ResultIsSame, what));
    }
    let is_something = |message: &&Shown| !message.1.is_empty() || !message.2.is_empty();
    let told: Vec<_> = told.iter().filter(is_something).collect();
    let shown: Vec<_> = shown.iter().filter(is_something).collect();
    if told != shown {
        let at = told
            .iter()
            .zip(&shown)
            .take_while(|(told, shown)| told == shown);
        let at = at.count();
        let what = format!("told: {:?}, shown: {:?}", told.get(at), shown.get(at));
        broken.push((Rule::FoldIsView, what));
        return broken;
    }
    for message in &messages {
        for call in message["tool_executions"].as_array().into_iter().flatten() {
            let id = call["tool_id"].as_str().unwrap_or_default();
            let told = fold.statuses.get(id).map(String::as_str);
            if message["turn"] == turn && told != call["status"].as_str() {
                let what = format!(
                    "`{id}` is told as {told:?}, and shown as {}",
                    call["status"]
                );
                broken.push((Rule::StatusIsView, what));
            }
        }
    }
    broken
}

/// Returns the calls whose results are shown and were never reported, and removes those results.
fn untold(told: &[Shown], shown: &mut [Shown]) -> Vec<String> {
    let told = told.iter().flat_map(|message| &message.2);
    let without: BTreeSet<_> = told
        .filter(|(_, _, result)| result.is_none())
        .map(|(call, _, _)| call.clone())
        .collect();
    let mut untold = Vec::new();
    for (call, _, result) in shown.iter_mut().flat_map(|message| message.2.iter_mut()) {
        if result.is_some() && without.contains(call) {
            *result = None;
            untold.push(call.clone());
        }
    }
    untold
}

/// Returns the results that are stored with a note on how the user edited the call, and reported without it, and
/// equates the two.
fn edits(told: &[Shown], shown: &mut [Shown]) -> Vec<(String, String, String)> {
    let mut edits = Vec::new();
    let told: BTreeMap<_, _> = told
        .iter()
        .flat_map(|message| &message.2)
        .filter_map(|(call, _, result)| Some((call, result.as_ref()?)))
        .collect();
    for (call, _, result) in shown.iter_mut().flat_map(|message| message.2.iter_mut()) {
        if let (Some(told), Some(stored)) = (told.get(call), result.as_mut())
            && stored != *told
            && stored.starts_with("The user changed the arguments")
            && stored.ends_with(told.as_str())
        {
            edits.push((call.clone(), (*told).clone(), stored.clone()));
            stored.clone_from(told);
        }
    }
    edits
}

fn told_message(message: &Message, fold: &Fold) -> Shown {
    let calls = message.calls.iter().map(|call| {
        // No arguments are none to a tool.
        let arguments = match call.arguments.as_str() {
            "" => json!({}),
            text => serde_json::from_str(text).unwrap_or_else(|_| json!(text)),
        };
        let result = fold.result(&call.id).map(|result| result.text.clone());
        (call.id.clone(), arguments, result)
    });
    (
        message.id.clone(),
        message.text.clone(),
        calls.collect(),
        message.is_cut,
    )
}

fn shown_message(message: &Value) -> Shown {
    let word = |value: &Value| value.as_str().map(str::to_owned);
    let calls = message["tool_executions"].as_array().into_iter().flatten();
    let calls = calls.map(|call| {
        let id = word(&call["tool_id"]).unwrap_or_default();
        (id, call["args"].clone(), word(&call["result"]))
    });
    (
        word(&message["id"]).unwrap_or_default(),
        word(&message["content"]).unwrap_or_default(),
        calls.collect(),
        message["cut"] == true,
    )
}

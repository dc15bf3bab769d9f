//! A journal without its texts: its structure stays readable, and nothing of the conversation is left in it.

mod words;

use super::digest::json;
use super::format::{Journal, JournalEntry, JournalStep, StepOutputs, push, write_head};
use crate::event::Event;
use crate::provider;
use crate::run::{Input, RunConfig};
use serde_json::{Map, Value, json as object};
use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;
use words::{is_field, is_free_form, is_id, is_tag, is_word};

/// The field that counts the fields whose names are hidden too.
const HIDDEN_FIELDS: &str = "hidden_fields";

impl Journal {
    /// Returns the journal as text, with its texts hidden, to be sent with a report.
    ///
    /// The text keeps the entries with their order, kinds and times, the states, the names of the outputs, numbers, the
    /// protocol's own words, and the names of the configured tools, the model and the provider. Each text and each part
    /// of a stream is replaced by its size (`[12 bytes]`). Each id is replaced by a number (`id-3`), the same one
    /// wherever the id occurs. Digests are left out, since they could confirm a guessed text.
    ///
    /// A redacted journal cannot be replayed: [`Journal::parse`] refuses it with
    /// [`JournalError::Redacted`](super::JournalError::Redacted).
    #[must_use]
    pub fn redact(&self) -> String {
        let mut redaction = Redaction::new(self);
        let mut text = String::new();
        let config = redaction.value("config", &json(&self.config));
        let thread_id = redaction.id(self.thread_id.as_str());
        let history = self.history.as_ref().map(json);
        let history = history.map(|history| redaction.value("history", &history));
        write_head(
            &mut text,
            &config,
            &thread_id.into(),
            history.as_ref(),
            true,
        );
        for entry in &self.entries {
            push(&mut text, &redaction.step(entry));
            if let Some(gives) = &entry.gives {
                push(&mut text, &redaction.gives(gives));
            }
        }
        if let super::JournalEnd::Closed(_) = self.ending {
            push(&mut text, &object!({ "end": {} }));
        }
        text
    }
}

/// The state while the values of a journal are redacted one after the other.
struct Redaction {
    /// The names that stay: of tools, models and providers.
    names: BTreeSet<String>,
    /// The number that replaces each id.
    ids: BTreeMap<String, usize>,
}

impl Redaction {
    fn new(journal: &Journal) -> Self {
        let mut names = BTreeSet::new();
        let base = Arc::new(journal.config.clone());
        add_names(&base, &mut names);
        for entry in &journal.entries {
            match &entry.step {
                JournalStep::Input(Input::Start(start)) => {
                    add_names(&start.options.over(Arc::clone(&base)), &mut names);
                }
                JournalStep::Restored(back) | JournalStep::Revived(back) => {
                    if let Some(config) = &back.config {
                        add_names(config, &mut names);
                    }
                }
                JournalStep::Input(_) => {}
            }
        }
        Self {
            names,
            ids: BTreeMap::new(),
        }
    }

    fn id(&mut self, id: &str) -> String {
        let next = self.ids.len() + 1;
        let number = self.ids.entry(id.to_owned()).or_insert(next);
        format!("id-{number}")
    }

    fn step(&mut self, entry: &JournalEntry) -> Value {
        let (kind, mut value) = match &entry.step {
            JournalStep::Input(input) => ("input", json(input)),
            JournalStep::Restored(back) => ("restored", json(back)),
            JournalStep::Revived(back) => ("revived", json(back)),
        };
        // An input without fields is its name.
        if !value.is_string() {
            value = self.value(kind, &value);
        }
        if let JournalStep::Input(Input::Received { bytes, .. }) = &entry.step {
            // The text form of bytes may be longer than the bytes.
            value["received"]["bytes"] = placeholder(bytes.len());
        }
        object!({ "at": entry.at, kind: value })
    }

    fn gives(&mut self, gives: &StepOutputs) -> Value {
        let outputs: Vec<_> = gives.outputs.iter().map(|name| output_name(name)).collect();
        let mut redacted = object!({ "state": gives.state });
        if !outputs.is_empty() {
            redacted["outputs"] = outputs.into();
        }
        if let Some(refused) = &gives.refused {
            redacted["refused"] = placeholder(refused.len());
        }
        object!({ "gives": redacted })
    }

    /// Redacts the value of the field `key`.
    fn value(&mut self, key: &str, value: &Value) -> Value {
        match value {
            Value::Null => Value::Null,
            Value::String(text) => self.text(key, text),
            other if is_free_form(key, other) => placeholder(other.to_string().len()),
            Value::Object(fields) => self.fields(fields),
            Value::Array(items) => items.iter().map(|item| self.value(key, item)).collect(),
            Value::Bool(_) | Value::Number(_) => value.clone(),
        }
    }

    fn fields(&mut self, fields: &Map<String, Value>) -> Value {
        let mut redacted = Map::new();
        for (name, value) in fields.iter().filter(|(name, _)| is_field(name)) {
            redacted.insert(name.clone(), self.value(name, value));
        }
        let hidden = fields.len() - redacted.len();
        if hidden > 0 {
            redacted.insert(HIDDEN_FIELDS.to_owned(), hidden.into());
        }
        Value::Object(redacted)
    }

    fn text(&mut self, key: &str, text: &str) -> Value {
        if is_id(key) {
            return self.id(text).into();
        }
        let media_type = text.split(';').next().unwrap_or_default();
        match key {
            "name" | "model" | "provider" | "tool" | "tool_names" if self.names.contains(text) => {
                text.into()
            }
            "content_type" | "mimeType" if is_word(media_type) => media_type.into(),
            _ if is_tag(key) && is_word(text) => text.into(),
            _ => placeholder(text.len()),
        }
    }
}

/// Adds the names that the app has chosen, and not the user or the model.
fn add_names(config: &RunConfig, names: &mut BTreeSet<String>) {
    let tools = config.tools.definitions().iter();
    names.extend(tools.map(|tool| tool.name.clone()));
    names.insert(config.endpoint.model.clone());
    if provider::find(&config.endpoint.provider).is_ok() {
        names.insert(config.endpoint.provider.clone());
    }
}

/// Returns what replaces a text of this size.
fn placeholder(bytes: usize) -> Value {
    format!("[{bytes} bytes]").into()
}

/// Returns an output's name without the type of an event that AG-UI does not know, which is the agent's text.
fn output_name(name: &str) -> String {
    let Some(kind) = name.strip_prefix("ag_ui ") else {
        return name.to_owned();
    };
    let mut fields = Map::new();
    fields.insert("type".to_owned(), kind.into());
    match Event::from_object(fields) {
        Ok(Event::Unknown(_)) => format!("ag_ui [{} bytes]", kind.len()),
        _ => name.to_owned(),
    }
}

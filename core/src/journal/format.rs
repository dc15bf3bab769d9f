use super::digest::{Digest, json};
use crate::run::{Input, Output, RunConfig, StateKind};
use crate::transcript::Transcript;
use crate::unquoted::unquoted;
use crate::{ThreadId, Timestamp};
use serde::{Deserialize, Serialize};
use serde_json::{Value, json as object};

/// The version of the format below.
const VERSION: u64 = 1;

/// The inputs of a run with their times and results.
#[derive(Clone, Debug, PartialEq)]
pub struct Journal {
    /// The version of the program that wrote it.
    pub program: String,
    /// The conversation.
    pub thread_id: ThreadId,
    /// The run's configuration, without keys.
    pub config: RunConfig,
    /// The history at the start; absent if the journal begins with a stored run.
    pub history: Option<Transcript>,
    /// The entries, in order.
    pub entries: Vec<JournalEntry>,
    /// The end of the journal.
    pub ending: JournalEnd,
}

/// One event in a run's life.
#[derive(Clone, Debug, PartialEq)]
pub struct JournalEntry {
    /// The time.
    pub at: Timestamp,
    /// The step.
    pub step: JournalStep,
    /// The outputs; absent if the host stopped before they were known.
    pub gives: Option<StepOutputs>,
}

/// The steps of a run.
#[derive(Clone, Debug, PartialEq)]
#[cfg_attr(not(feature = "exhaustive"), non_exhaustive)]
pub enum JournalStep {
    /// An input.
    Input(Input<'static>),
    /// The run was stored, and continued on the same host.
    Restored(Restoration),
    /// The run was stored, and another host took over.
    Revived(Restoration),
}

impl JournalStep {
    /// Returns the name of the step: the input's name as in the journal, `restored` or `revived`.
    #[must_use]
    pub fn name(&self) -> String {
        match self {
            Self::Input(input) => tag(&json(input)).to_owned(),
            Self::Restored(_) => "restored".to_owned(),
            Self::Revived(_) => "revived".to_owned(),
        }
    }
}

/// The snapshot that a stored run was restored or revived from.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Restoration {
    /// The snapshot.
    pub from: SnapshotOrigin,
    /// The configuration, if it differs from the one before.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub config: Option<Box<RunConfig>>,
}

/// Identifies the snapshot that a run was restored or revived from.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum SnapshotOrigin {
    /// The snapshot that the host took after this entry, counted from 1.
    TakenAfter(usize),
    /// The snapshot that was due to be written at this entry, counted from 1.
    WrittenAt(usize),
    /// A snapshot that the journal does not know.
    Snapshot(String),
}

/// The result of an input.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct StepOutputs {
    /// The state after it.
    pub state: StateKind,
    /// The outputs by name: effects with their ids, events with their kinds.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub outputs: Vec<String>,
    /// The reason why the input was refused, if it was.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub refused: Option<String>,
    /// The digest of all that the outputs hold.
    pub digest: Digest,
}

/// The end of a journal.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[cfg_attr(not(feature = "exhaustive"), non_exhaustive)]
pub enum JournalEnd {
    /// The host closed the journal: the digest of the run at that time.
    Closed(Digest),
    /// The host stopped without closing it.
    Open,
    /// The host stopped in the middle of this line; the lines before it are valid.
    Cut {
        /// The line, from 1.
        line: usize,
    },
}

/// The reasons why a text cannot be read as a journal.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[cfg_attr(not(feature = "exhaustive"), non_exhaustive)]
pub enum JournalError {
    /// The text is empty.
    #[error(
        "the journal is empty: the host stopped before the run began, or the file is another one"
    )]
    Empty,
    /// The journal's texts are hidden.
    #[error(
        "the journal is redacted, so it cannot be replayed: replay the journal that it was made from"
    )]
    Redacted,
    /// The text does not begin like a journal.
    #[error(
        "line 1 is not the head of a journal: {reason}; give the file that `stepwell record` wrote"
    )]
    NoJournal {
        /// The error.
        reason: String,
    },
    /// The journal was written by a later version.
    #[error(
        "the journal is of version {found}, and this is a program for versions up to {VERSION}: update it"
    )]
    TooNew {
        /// The journal's version.
        found: u64,
    },
    /// The configuration in its head cannot be read.
    #[error(
        "the configuration in line 1 cannot be read: {reason}; replay it with version {program}, which wrote it"
    )]
    Configuration {
        /// The error.
        reason: String,
        /// The version that wrote it.
        program: String,
    },
    /// A line holds an input or an entry that this version does not know.
    #[error(
        "line {line} holds `{name}`, which this version does not know: replay it with version {program}, which wrote it, or a later one"
    )]
    Unknown {
        /// The line, from 1.
        line: usize,
        /// The name of the input or the entry.
        name: String,
        /// The version that wrote it.
        program: String,
    },
    /// A line is damaged.
    #[error(
        "line {line} is damaged: {reason}; get the file from its source again, or keep only the lines before"
    )]
    Damaged {
        /// The line, from 1.
        line: usize,
        /// The error.
        reason: String,
    },
    /// A line is in a place where it is not allowed.
    #[error(
        "line {line} is out of place: {reason}; lines are missing before it, or stand in another order"
    )]
    Misplaced {
        /// The line, from 1.
        line: usize,
        /// The reason.
        reason: &'static str,
    },
}

#[derive(Deserialize)]
struct Version {
    stepwell_journal: u64,
    #[serde(default)]
    redacted: bool,
}

#[derive(Deserialize)]
struct Head {
    program: String,
    thread_id: ThreadId,
    config: Value,
    history: Option<Transcript>,
}

#[derive(Deserialize)]
struct Line {
    at: Option<Timestamp>,
    input: Option<Value>,
    restored: Option<Restoration>,
    revived: Option<Restoration>,
    gives: Option<StepOutputs>,
    end: Option<End>,
}

#[derive(Serialize, Deserialize)]
struct End {
    digest: Digest,
}

impl Journal {
    /// Reads a journal.
    ///
    /// A last line that was cut off is not an error, since a host that was killed leaves one: see
    /// [`ending`](Self::ending).
    ///
    /// # Errors
    /// The text is not a journal, is redacted or damaged, or this version cannot read all of it.
    pub fn parse(text: &str) -> Result<Self, JournalError> {
        let mut lines = text.split_inclusive('\n').enumerate();
        let (_, first) = lines.next().ok_or(JournalError::Empty)?;
        let mut journal = head(first)?;
        for (index, full) in lines {
            let line = index + 1;
            let content = full.trim_end_matches(['\n', '\r']);
            if content.is_empty() {
                continue;
            }
            match journal.take(line, content) {
                // A line break is written only after the complete line.
                Err(JournalError::Damaged { .. }) if content.len() == full.len() => {
                    journal.ending = JournalEnd::Cut { line };
                }
                taken => taken?,
            }
        }
        Ok(journal)
    }

    fn take(&mut self, line: usize, content: &str) -> Result<(), JournalError> {
        let misplaced = |reason| Err(JournalError::Misplaced { line, reason });
        if let JournalEnd::Closed(_) = self.ending {
            return misplaced("the journal was closed before it");
        }
        let parsed: Line = serde_json::from_str(content).map_err(|error| damaged(line, &error))?;
        if let Some(gives) = parsed.gives {
            let entry = self.entries.last_mut();
            let Some(entry) = entry.filter(|entry| entry.gives.is_none()) else {
                return misplaced("it says what came of an input, and there is none before it");
            };
            entry.gives = Some(gives);
            return Ok(());
        }
        if let Some(end) = parsed.end {
            self.ending = JournalEnd::Closed(end.digest);
            return Ok(());
        }
        let at = parsed.at;
        let step = self.step(line, content, parsed)?;
        // A host that stopped leaves its last input without outputs; then the run is restored or revived.
        if matches!(step, JournalStep::Input(_))
            && self.entries.last().is_some_and(|last| last.gives.is_none())
        {
            return misplaced("what came of the input before it is not said");
        }
        let Some(at) = at else {
            return Err(JournalError::Damaged {
                line,
                reason: "it has no time".to_owned(),
            });
        };
        self.entries.push(JournalEntry {
            at,
            step,
            gives: None,
        });
        Ok(())
    }

    /// Reads a line with a step.
    fn step(&self, line: usize, content: &str, parsed: Line) -> Result<JournalStep, JournalError> {
        let unknown = |name: &str| JournalError::Unknown {
            line,
            name: name.to_owned(),
            program: self.program.clone(),
        };
        match (parsed.input, parsed.restored, parsed.revived) {
            (Some(input), ..) => {
                let name = tag(&input).to_owned();
                let input = serde_json::from_value(input).map_err(|error| {
                    if is_known(&name) {
                        damaged(line, &error)
                    } else {
                        unknown(&name)
                    }
                });
                Ok(JournalStep::Input(input?))
            }
            (None, Some(back), _) => Ok(JournalStep::Restored(back)),
            (None, None, Some(back)) => Ok(JournalStep::Revived(back)),
            (None, None, None) => {
                let fields: serde_json::Map<String, Value> =
                    serde_json::from_str(content).map_err(|error| damaged(line, &error))?;
                let name = fields.keys().find(|name| *name != "at");
                Err(match name {
                    Some(name) => unknown(name),
                    None => JournalError::Damaged {
                        line,
                        reason: "it holds nothing".to_owned(),
                    },
                })
            }
        }
    }

    /// Returns the journal as text, which [`parse`](Self::parse) reads.
    #[must_use]
    pub fn to_text(&self) -> String {
        let mut text = self.head_text();
        for entry in &self.entries {
            write_step(&mut text, entry.at, &entry.step);
            if let Some(gives) = &entry.gives {
                write_gives(&mut text, gives);
            }
        }
        if let JournalEnd::Closed(digest) = self.ending {
            write_end(&mut text, digest);
        }
        text
    }

    /// The first line.
    pub(super) fn head_text(&self) -> String {
        let mut text = String::new();
        let history = self.history.as_ref().map(json);
        write_head(
            &mut text,
            &json(&self.config),
            &self.thread_id,
            history.as_ref(),
            false,
        );
        text
    }
}

fn damaged(line: usize, error: &serde_json::Error) -> JournalError {
    JournalError::Damaged {
        line,
        reason: unquoted(&error.to_string()),
    }
}

fn head(line: &str) -> Result<Journal, JournalError> {
    let no_journal = |error: serde_json::Error| JournalError::NoJournal {
        reason: unquoted(&error.to_string()),
    };
    let Version {
        stepwell_journal,
        redacted,
    } = serde_json::from_str(line).map_err(no_journal)?;
    if stepwell_journal != VERSION {
        return Err(JournalError::TooNew {
            found: stepwell_journal,
        });
    }
    if redacted {
        return Err(JournalError::Redacted);
    }
    let head: Head = serde_json::from_str(line).map_err(no_journal)?;
    let config = serde_json::from_value(head.config);
    let config = config.map_err(|error| JournalError::Configuration {
        reason: unquoted(&error.to_string()),
        program: head.program.clone(),
    })?;
    Ok(Journal {
        program: head.program,
        thread_id: head.thread_id,
        config,
        history: head.history,
        entries: Vec::new(),
        ending: JournalEnd::Open,
    })
}

/// The name of an enum's variant in its serde form.
pub(super) fn tag(value: &Value) -> &str {
    match value {
        Value::String(name) => name,
        Value::Object(fields) => fields.keys().next().map_or("", String::as_str),
        _ => "",
    }
}

/// Returns whether there is an input of this name, as serde knows it.
fn is_known(name: &str) -> bool {
    match serde_json::from_value::<Input<'static>>(object!({ name: null })) {
        Ok(_) => true,
        Err(error) => !error.to_string().starts_with("unknown variant"),
    }
}

/// An output's name: an effect with its id, an event with its kind.
pub(super) fn output_name(output: &Output, value: &Value) -> String {
    match output {
        Output::Effect(id, _) => format!("{} {id}", tag(&value["effect"][1])),
        Output::Moved(edge) => format!("moved {} to {}", edge.from, edge.to),
        Output::Event(_) => {
            let event = &value["event"];
            let kind = tag(event);
            let detail = match kind {
                "ag_ui" => event[kind]["type"].as_str(),
                "tool_call" => event[kind]["status"].as_str(),
                "completed" => event[kind]["outcome"].as_str(),
                _ => None,
            };
            match detail {
                Some(detail) => format!("{kind} {detail}"),
                None => kind.to_owned(),
            }
        }
    }
}

pub(super) fn push(text: &mut String, line: &Value) {
    text.push_str(&line.to_string());
    text.push('\n');
}

pub(super) fn write_head(
    text: &mut String,
    config: &Value,
    thread_id: &ThreadId,
    history: Option<&Value>,
    redacted: bool,
) {
    let mut head = object!({
        "stepwell_journal": VERSION,
        "program": env!("CARGO_PKG_VERSION"),
        "dialect": config["endpoint"]["dialect"],
        "thread_id": thread_id,
        "config": config,
        "history": history,
    });
    if redacted {
        head["redacted"] = true.into();
    }
    push(text, &head);
}

pub(super) fn write_input(text: &mut String, at: Timestamp, input: &Input<'_>) {
    push(text, &object!({ "at": at, "input": json(input) }));
}

pub(super) fn write_step(text: &mut String, at: Timestamp, step: &JournalStep) {
    match step {
        JournalStep::Input(input) => write_input(text, at, input),
        JournalStep::Restored(back) => push(text, &object!({ "at": at, "restored": json(back) })),
        JournalStep::Revived(back) => push(text, &object!({ "at": at, "revived": json(back) })),
    }
}

pub(super) fn write_gives(text: &mut String, gives: &StepOutputs) {
    push(text, &object!({ "gives": json(gives) }));
}

/// Writes the same line as [`write_gives`], with the full outputs added; other readers skip those.
pub(super) fn write_gives_in_full(text: &mut String, gives: &StepOutputs, outputs: &[Output]) {
    let mut line = object!({ "gives": json(gives) });
    if !outputs.is_empty() {
        line["outputs"] = json(outputs);
    }
    push(text, &line);
}

pub(super) fn write_end(text: &mut String, digest: Digest) {
    push(text, &object!({ "end": json(&End { digest }) }));
}

//! The order that the protocol allows, rule by rule ([`Rule`]).
//!
//! Source: AG-UI 1.0, <https://docs.ag-ui.com>, and the verifier of the reference client `@ag-ui/client` 1.0.0.

mod check;
mod items;
mod last_piece;
mod open;
mod rule;
mod verifier;

pub use open::{OpenItems, OpenStep};
pub use rule::{Rule, Violation};
pub use verifier::{ExtraRules, Finding, Severity, Verdict, Verification, Verifier};

use items::{Item, Map, Owner, Set, is_open, sorted_map, sorted_set};
use last_piece::LastPiece;
use serde::{Deserialize, Serialize};
use std::collections::BTreeSet;

/// Checks that the events of a stream come in an order that the protocol allows.
///
/// Plain data: a snapshot in mid-stream is its serde. A stream may hold several runs, one after the other. Events of
/// unknown types pass unseen, and chunks are expected to be expanded into start, content and end before.
///
/// ```
/// use stepwell_agui::event::{End, Event, Order, Rule};
///
/// let mut order = Order::default();
/// let start: Event = serde_json::from_str(r#"{"type":"RUN_STARTED","threadId":"t","runId":"r"}"#)?;
/// assert!(order.check((&start).into()).is_ok());
///
/// let orphan: Event = serde_json::from_str(r#"{"type":"TEXT_MESSAGE_END","messageId":"m"}"#)?;
/// assert_eq!(order.check((&orphan).into()).unwrap_err().rule, Rule::O7);
/// assert!(matches!(order.end(), End::Truncated(_)));
/// # Ok::<(), serde_json::Error>(())
/// ```
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub struct Order {
    phase: Phase,
    /// Text messages, and messages that are only known to belong to someone.
    #[serde(serialize_with = "sorted_map")]
    messages: Map<String, Item>,
    #[serde(serialize_with = "sorted_map")]
    tool_calls: Map<String, Item>,
    /// Reasoning messages, and the owners of spans: the two share their owners, not their being open.
    #[serde(serialize_with = "sorted_map")]
    reasoning: Map<String, Item>,
    /// The open spans of reasoning.
    #[serde(serialize_with = "sorted_set")]
    spans: Set<String>,
    #[serde(serialize_with = "sorted_map")]
    activities: Map<String, Owner>,
    /// The open steps.
    #[serde(serialize_with = "sorted_set")]
    steps: Set<OpenStep>,
    /// The run's subagents, and whether each is active.
    #[serde(serialize_with = "sorted_map")]
    subagents: Map<String, bool>,
    #[serde(skip)]
    last_piece: LastPiece,
}

/// The phase of a stream.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Phase {
    /// No event has arrived.
    #[default]
    Fresh,
    /// A run is active.
    Active,
    /// The run has finished.
    Finished,
    /// The run has failed.
    Errored,
}

/// The end of a stream (rule O24).
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub enum End {
    /// The stream ended with `RUN_FINISHED`.
    Finished,
    /// The stream ended with `RUN_ERROR`.
    Errored,
    /// The stream ended during a run, or before a run started. This is not a success.
    Truncated(OpenItems),
}

impl End {
    /// Returns the violation, if the stream ended where it must not.
    #[must_use]
    pub fn violation(&self) -> Option<Violation> {
        match self {
            Self::Finished | Self::Errored => None,
            Self::Truncated(open) => Some(Violation::new(
                Rule::O24,
                format!("the stream ended without RUN_FINISHED or RUN_ERROR; open: {open}"),
            )),
        }
    }
}

impl Order {
    /// Returns the phase of the stream.
    #[must_use]
    #[inline]
    pub fn phase(&self) -> Phase {
        self.phase
    }

    /// Returns the items that the run has started and not ended.
    #[must_use]
    pub fn open_items(&self) -> OpenItems {
        let steps: BTreeSet<_> = self.steps.iter().collect();
        OpenItems {
            messages: open(&self.messages),
            tool_calls: open(&self.tool_calls),
            reasoning_spans: in_order(self.spans.iter().map(String::as_str)),
            reasoning_messages: open(&self.reasoning),
            steps: steps.into_iter().cloned().collect(),
            subagents: in_order(
                self.subagents
                    .iter()
                    .filter(|&(_, active)| *active)
                    .map(|(id, _)| id.as_str()),
            ),
        }
    }

    /// Returns whether the message is open.
    #[must_use]
    pub fn has_open_message(&self, id: &str) -> bool {
        is_open(&self.messages, id)
    }

    /// Returns whether the tool call is open.
    #[must_use]
    pub fn has_open_call(&self, id: &str) -> bool {
        is_open(&self.tool_calls, id)
    }

    /// Returns whether the reasoning message is open.
    #[must_use]
    pub fn has_open_reasoning_message(&self, id: &str) -> bool {
        is_open(&self.reasoning, id)
    }

    /// Returns whether the span of reasoning is open.
    #[must_use]
    pub fn has_open_reasoning_span(&self, id: &str) -> bool {
        self.spans.contains(id)
    }

    /// Returns whether the step is open.
    #[must_use]
    pub fn has_open_step(&self, step: &OpenStep) -> bool {
        self.steps.contains(step)
    }

    /// Returns whether a subagent is active, or `None` if it was never started.
    #[must_use]
    pub fn subagent(&self, id: &str) -> Option<bool> {
        self.subagents.get(id).copied()
    }

    /// Forgets what the run has begun and not ended, so that it may finish.
    fn abandon_open_items(&mut self) {
        self.last_piece.forget();
        for items in [
            &mut self.messages,
            &mut self.tool_calls,
            &mut self.reasoning,
        ] {
            for item in items.values_mut() {
                item.open = false;
            }
        }
        self.spans.clear();
        self.steps.clear();
        self.subagents.clear();
    }

    /// A run begins without `RUN_STARTED`.
    fn begin_unannounced(&mut self) {
        self.phase = Phase::Active;
    }

    /// Returns the end of the stream, if it ends here.
    #[must_use]
    pub fn end(&self) -> End {
        match self.phase {
            Phase::Finished => End::Finished,
            Phase::Errored => End::Errored,
            Phase::Fresh | Phase::Active => End::Truncated(self.open_items()),
        }
    }
}

fn open<'a, Id: From<&'a str>>(items: &'a Map<String, Item>) -> Vec<Id> {
    let open = items.iter().filter(|(_, item)| item.open);
    in_order(open.map(|(id, _)| id.as_str()))
}

fn in_order<'a, Id: From<&'a str>>(ids: impl Iterator<Item = &'a str>) -> Vec<Id> {
    let ids: BTreeSet<&str> = ids.into_iter().collect();
    ids.into_iter().map(Id::from).collect()
}

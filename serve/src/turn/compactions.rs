//! What a turn reports of its compactions: the part of the conversation that requests no longer carry.

use super::ending::custom;
use serde::Serialize;
use serde_json::json;
use std::collections::HashSet;
use stepwell_core::MessageId;
use stepwell_core::event::Event;
use stepwell_core::run::BlockContent;
use stepwell_core::session::Turn;
use stepwell_core::transcript::{Compaction, Transcript};

/// The event that reports that requests carry less of the conversation, or all of it again.
pub(crate) const CONTEXT_TRIMMED: &str = "context_trimmed";

/// A compaction as clients are shown it: in the event, and in the turn of a thread.
#[derive(Clone, Debug, PartialEq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct ShownCompaction<'a> {
    /// The last message that requests no longer carry; absent if they carry all messages.
    #[serde(skip_serializing_if = "Option::is_none")]
    through: Option<&'a MessageId>,
    /// The messages before it that requests still carry.
    #[serde(skip_serializing_if = "<[MessageId]>::is_empty")]
    kept: &'a [MessageId],
    /// The summary that requests carry instead.
    #[serde(skip_serializing_if = "Option::is_none")]
    summary: Option<&'a str>,
    /// The last result of a tool that requests no longer carry.
    #[serde(skip_serializing_if = "Option::is_none")]
    results_through: Option<&'a MessageId>,
    /// The answer with which the provider compacted the conversation itself.
    #[serde(skip_serializing_if = "Option::is_none")]
    by_provider: Option<&'a MessageId>,
    /// Whether the compaction before was undone: requests carry the complete conversation again.
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    undone: bool,
}

impl<'a> From<&'a Compaction> for ShownCompaction<'a> {
    fn from(compaction: &'a Compaction) -> Self {
        let Compaction {
            through,
            kept,
            summary,
            results_through,
            by_provider,
            undone_through: _,
        } = compaction;
        let left_out = [through, results_through, by_provider];
        Self {
            through: through.as_ref(),
            kept,
            summary: summary.as_deref(),
            results_through: results_through.as_ref(),
            by_provider: by_provider.as_ref(),
            undone: left_out.into_iter().all(Option::is_none),
        }
    }
}

/// Returns the event for a compaction, for which AG-UI has no event of its own.
pub(crate) fn context_trimmed(compaction: &Compaction) -> Event {
    custom(CONTEXT_TRIMMED, json!(ShownCompaction::from(compaction)))
}

/// Returns the compactions that this turn stored, in their order, each with the message before it. `before` is the
/// compaction at the turn's start; it becomes that at the turn's end.
///
/// A block that only counts the cost of a summary that did not come is none.
pub fn compactions_in<'a>(
    turn: &'a Turn,
    before: &mut Compaction,
) -> Vec<(Option<&'a MessageId>, &'a Compaction)> {
    if let Some(history) = &turn.history {
        before.clone_from(&history.compaction);
    }
    let mut message = turn.message.as_ref().map(|message| message.id());
    let mut found = Vec::new();
    for block in &turn.blocks {
        match &block.block.content {
            BlockContent::Compacted { compaction, .. } if compaction != before => {
                before.clone_from(compaction);
                found.push((message, compaction));
            }
            content => message = message_of(content).or(message),
        }
    }
    found
}

/// Returns the compaction at the end of a path.
pub(crate) fn compaction_after(path: &[Turn]) -> Compaction {
    let mut last = Compaction::default();
    for turn in path {
        compactions_in(turn, &mut last);
    }
    last
}

/// Returns the message of the conversation that a block adds to, if a client shows that message by itself.
fn message_of(content: &BlockContent) -> Option<&MessageId> {
    match content {
        BlockContent::Text { message_id, .. } | BlockContent::Reasoning { message_id, .. } => {
            Some(message_id)
        }
        BlockContent::ToolUse { parent, .. } => parent.as_ref(),
        BlockContent::Steering { message } | BlockContent::Message { message } => {
            Some(message.id())
        }
        BlockContent::Messages { messages, .. } => messages.last().map(|message| message.id()),
        _ => None,
    }
}

/// The compactions of a turn that an owner before had begun.
#[derive(Debug, Default)]
pub(crate) struct StoredCompactions {
    /// Those that are stored, in their order.
    stored: Vec<Compaction>,
    /// The compaction after the last block that is stored.
    last: Compaction,
}

impl StoredCompactions {
    /// Returns the compactions of the path's last turn.
    pub(crate) fn of_last(path: &[Turn]) -> Self {
        let mut last = Compaction::default();
        let mut stored = Vec::new();
        for turn in path {
            stored = compactions_in(turn, &mut last);
        }
        let stored = stored.into_iter().map(|(_, compaction)| compaction.clone());
        Self {
            stored: stored.collect(),
            last,
        }
    }

    /// Returns the stored compactions that the log does not have. Each is reported once it is stored, in their order.
    pub(crate) fn unreported(&self, log: &[Event]) -> &[Compaction] {
        let is_report = |event: &&Event| matches!(event, Event::Custom(custom) if custom.name == CONTEXT_TRIMMED);
        let reported = log.iter().filter(is_report).count();
        self.stored.get(reported..).unwrap_or_default()
    }

    /// Returns whether this is another compaction than the last one that is stored.
    pub(crate) fn is_new(&self, compaction: &Compaction) -> bool {
        self.last != *compaction
    }

    /// Returns the compactions that are reported once the turn's state is: those that are stored, and that of the
    /// conversation with which the turn continues.
    pub(crate) fn into_reported(self, conversation: Option<&Transcript>) -> HashSet<Compaction> {
        let last = conversation.map(|conversation| conversation.compaction().clone());
        self.stored.into_iter().chain(last).collect()
    }
}

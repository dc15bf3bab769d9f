use crate::{MessageId, ToolCallId};
use serde::{Deserialize, Serialize};
use std::fmt;

/// The items that a run has started and not ended. Each list is sorted.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct OpenItems {
    /// Text messages.
    pub messages: Vec<MessageId>,
    /// Tool calls whose arguments are incomplete.
    pub tool_calls: Vec<ToolCallId>,
    /// Spans of reasoning.
    pub reasoning_spans: Vec<MessageId>,
    /// Reasoning messages.
    pub reasoning_messages: Vec<MessageId>,
    /// Steps.
    pub steps: Vec<OpenStep>,
    /// Subagents, by their run ids.
    pub subagents: Vec<String>,
}

/// A step that has begun and not ended.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
pub struct OpenStep {
    /// The subagent that the step belongs to; absent for the parent agent.
    pub subagent_run_id: Option<String>,
    /// The step.
    pub name: String,
}

impl OpenItems {
    /// Returns whether nothing is open.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self == &Self::default()
    }
}

/// Lists at most a few ids of each kind: a message must not grow with what the peer opened.
impl fmt::Display for OpenItems {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let mut kinds = Vec::new();
        list(&mut kinds, "text message", &self.messages);
        list(&mut kinds, "tool call", &self.tool_calls);
        list(&mut kinds, "reasoning span", &self.reasoning_spans);
        list(&mut kinds, "reasoning message", &self.reasoning_messages);
        list(&mut kinds, "step", &self.steps);
        list(&mut kinds, "subagent", &self.subagents);
        if kinds.is_empty() {
            f.write_str("nothing")
        } else {
            f.write_str(&kinds.join("; "))
        }
    }
}

impl fmt::Display for OpenStep {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.name)?;
        match &self.subagent_run_id {
            Some(id) => write!(f, " of subagent {id}"),
            None => Ok(()),
        }
    }
}

fn list(kinds: &mut Vec<String>, kind: &str, items: &[impl fmt::Display]) {
    const SHOWN: usize = 5;
    if items.is_empty() {
        return;
    }
    let shown: Vec<_> = items
        .iter()
        .take(SHOWN)
        .map(|item| format!("'{item}'"))
        .collect();
    let more = items.len().saturating_sub(SHOWN);
    let more = if more == 0 {
        String::new()
    } else {
        format!(" and {more} more")
    };
    let plural = if items.len() == 1 { "" } else { "s" };
    kinds.push(format!("{kind}{plural} {}{more}", shown.join(", ")));
}

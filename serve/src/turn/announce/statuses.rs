//! The statuses of a turn's calls: in the store, and in the events of the log.

use super::QuestionIds;
use crate::turn::ending::{TOOL_STATUS, custom};
use serde_json::json;
use std::collections::{HashMap, HashSet};
use stepwell_core::event::Event;
use stepwell_core::run::BlockContent;
use stepwell_core::session::{SessionView, Turn, ViewOptions};
use stepwell_core::transcript::LiveCall;
use stepwell_core::{CallKey, ToolCallId};
use stepwell_io::store::StoreError;
use stepwell_io::tool::ToolCallStatus;
use stepwell_io::turn::ToolCallUpdate;

/// Returns the event for a tool call's status, for which AG-UI has no event of its own.
pub(crate) fn status_event(update: &ToolCallUpdate, label: &str) -> Event {
    tool_status(&update.tool_call_id, &update.name, label, update.status)
}

/// The stored states of a turn's calls.
#[derive(Debug, Default)]
pub(crate) struct Statuses {
    /// Each with its tool.
    calls: Vec<(ToolCallId, String, ToolCallStatus)>,
    /// The questions of running tools that have answers, by their numbers.
    answered: HashSet<(CallKey, u32)>,
}

impl Statuses {
    /// Returns the states of the calls of the path's last turn.
    pub(crate) fn of_last(path: &[Turn]) -> Result<Self, StoreError> {
        let view = SessionView::of(path, &ViewOptions::default());
        let view = view.map_err(|error| StoreError::Damaged {
            message: error.to_string(),
        })?;
        let turn = path.last().map(|turn| &turn.id);
        let own = view.messages.into_iter();
        let own = own.filter(|message| message.turn.as_ref() == turn);
        let calls = own.flat_map(|message| message.tool_executions);
        let calls = calls.map(|call| (call.tool_id, call.tool_name, call.status));
        let blocks = path.last().into_iter().flat_map(|turn| &turn.blocks);
        let answered = blocks.filter_map(|block| match &block.block.content {
            BlockContent::Answer { call, number, .. } => Some((*call, *number)),
            _ => None,
        });
        Ok(Self {
            calls: calls.collect(),
            answered: answered.collect(),
        })
    }

    /// Returns the calls, each with the name of its tool.
    pub(super) fn calls(&self) -> &[(ToolCallId, String, ToolCallStatus)] {
        &self.calls
    }

    /// Returns whether the question of this id is one that the call asks, and is not answered.
    pub(super) fn may_ask(&self, call: &LiveCall, ids: &QuestionIds, id: &str) -> bool {
        let question = id.strip_prefix("question-");
        let question = question.and_then(|question| question.split_once('-'));
        let Some((number, _)) = question else {
            return false;
        };
        let number = number.parse().ok();
        let number = number.filter(|number| ids.of_tool(&call.id, *number) == id);
        number.is_some_and(|number| !self.answered.contains(&(call.key, number)))
    }

    /// Returns whether the call has ended.
    pub(crate) fn is_over(&self, call: &ToolCallId) -> bool {
        self.of(call).is_some_and(|status| status.is_final())
    }

    pub(super) fn of(&self, call: &ToolCallId) -> Option<ToolCallStatus> {
        let mut all = self.calls.iter();
        all.find_map(|(known, _, status)| (known == call).then_some(*status))
    }
}

/// Returns the last reported status of each call.
pub(super) fn told_statuses(events: &[Event]) -> HashMap<&str, &str> {
    let custom = events.iter().filter_map(|event| match event {
        Event::Custom(custom) if custom.name == "tool_status" => Some(&custom.value),
        _ => None,
    });
    let told =
        custom.filter_map(|value| Some((value["toolCallId"].as_str()?, value["status"].as_str()?)));
    told.collect()
}

pub(super) fn tool_status(
    call: &ToolCallId,
    name: &str,
    label: &str,
    status: ToolCallStatus,
) -> Event {
    let value = json!({
        "toolCallId": call,
        "toolName": name,
        "label": label,
        "status": status_name(status),
    });
    custom(TOOL_STATUS, value)
}

pub(super) fn status_name(status: ToolCallStatus) -> &'static str {
    match status {
        ToolCallStatus::Streaming => "streaming",
        ToolCallStatus::AwaitingApproval => "awaiting_approval",
        ToolCallStatus::Executing => "executing",
        ToolCallStatus::Deferred => "deferred",
        ToolCallStatus::Completed => "completed",
        ToolCallStatus::Failed => "failed",
        ToolCallStatus::Denied => "denied",
        ToolCallStatus::Cancelled => "cancelled",
        _ => "pending",
    }
}

/// The status of this name, if it is one that a call comes to.
pub(crate) fn status_named(name: &str) -> Option<ToolCallStatus> {
    use ToolCallStatus::{Cancelled, Completed, Denied, Failed};
    let mut ends = [Completed, Failed, Denied, Cancelled].into_iter();
    ends.find(|status| status_name(*status) == name)
}

#[cfg(test)]
mod tests {
    use super::*;
    use stepwell_io::store::TurnKey;

    #[test]
    fn a_question_that_a_running_call_may_ask_again_is_its_own_and_has_no_answer() {
        let id = ToolCallId::from("a-1");
        let key = CallKey { hop: 0, index: 2 };
        let call = LiveCall {
            key,
            id: id.clone(),
            name: "work".to_owned(),
            status: ToolCallStatus::Executing,
            result: None,
            edited: None,
            changed: None,
            restarts: 0,
        };
        let statuses = Statuses {
            calls: Vec::new(),
            answered: HashSet::from([(key, 0)]),
        };
        let key = TurnKey::new("t", "r");
        let tagged = QuestionIds::new(&key, true);
        let ids = QuestionIds::new(&key, false);
        assert!(statuses.may_ask(&call, &ids, &ids.of_tool(&id, 1)));
        assert!(statuses.may_ask(&call, &tagged, &tagged.of_tool(&id, 1)));
        for other in [
            ids.of_tool(&id, 0),
            ids.of_tool(&"a".into(), 1),
            ids.of_call(&id),
            tagged.of_tool(&id, 1),
        ] {
            assert!(!statuses.may_ask(&call, &ids, &other), "{other}");
        }
    }
}

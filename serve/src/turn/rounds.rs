//! A turn's tool calls: the results that are reported to the client, and the calls that are open when the turn rests.

use std::collections::{HashMap, HashSet};
use stepwell_core::event::{ToolCallResult, ToolRole};
use stepwell_core::run::ToolCallUpdate;
use stepwell_core::transcript::{LiveCall, shown_result};
use stepwell_core::{CallKey, MessageId, ToolCallId};
use stepwell_io::tool::{Decision, ToolCallStatus};
use stepwell_io::turn::Event;

/// The calls of one turn.
#[derive(Debug)]
pub(crate) struct Rounds {
    /// The prefix of the results' ids.
    prefix: String,
    calls: ReportedCalls,
}

/// The known facts about a turn's calls, also while it waits for the user.
#[derive(Clone, Debug, Default)]
pub(crate) struct ReportedCalls {
    /// The status of each call, as far as the turn has reported it.
    seen: HashMap<ToolCallId, ToolCallStatus>,
    /// The calls whose results the client has.
    reported: HashSet<ToolCallId>,
    /// The user's arguments that replace the model's.
    edited: HashMap<ToolCallId, String>,
}

impl Rounds {
    /// Of a turn without calls so far; `prefix` is what the ids of its results begin with.
    pub(crate) fn new(prefix: String) -> Self {
        Self {
            prefix,
            calls: ReportedCalls::default(),
        }
    }

    /// The user has decided about a call.
    pub(crate) fn decided(&mut self, call: &ToolCallId, decision: &Decision) {
        if let Decision::Edited { arguments } = decision {
            self.calls.edited.insert(call.clone(), arguments.clone());
        }
    }

    /// Notes that the client has the call's result, which is not reported again.
    pub(crate) fn mark_known(&mut self, call: &ToolCallId) {
        self.calls.reported.insert(call.clone());
    }

    /// Sets the calls' statuses where a host continues the turn.
    pub(crate) fn set_statuses(&mut self, calls: &[LiveCall]) {
        for call in calls {
            self.calls.seen.insert(call.id.clone(), call.status);
            if let Some(edited) = &call.edited {
                self.calls.edited.insert(call.id.clone(), edited.clone());
            }
        }
    }

    /// Returns whether the turn waits only for results of a client's tools.
    pub(crate) fn awaits_client(&self) -> bool {
        use ToolCallStatus::{Deferred, Executing};
        let has = |status| self.calls.seen.values().any(|seen| *seen == status);
        has(Deferred) && !has(Executing)
    }

    /// Updates a call. Returns its result, if there is one to report.
    pub(crate) fn update(&mut self, update: ToolCallUpdate) -> Option<Event> {
        let ToolCallUpdate {
            call,
            tool_call_id,
            name,
            status,
            result,
            ..
        } = update;
        let before = self.calls.seen.insert(tool_call_id.clone(), status);
        if before == Some(ToolCallStatus::AwaitingApproval) && status.is_final() {
            // The call has ended, stopped say, before the user's decision came: nothing was edited.
            self.calls.edited.remove(&tool_call_id);
        }
        let result = result.filter(|_| status.is_final())?;
        if !self.calls.reported.insert(tool_call_id.clone()) {
            return None;
        }
        let live = LiveCall {
            key: call,
            edited: self.calls.edited.get(&tool_call_id).cloned(),
            changed: None,
            id: tool_call_id.clone(),
            name,
            status,
            result: None,
            restarts: 0,
        };
        Some(
            ToolCallResult {
                message_id: self.result_id(call),
                tool_call_id,
                content: shown_result(&live, &result),
                role: Some(ToolRole::Tool),
                common: None,
            }
            .into(),
        )
    }

    /// The message that holds the result of a call: the same as in the turn's own history.
    pub(crate) fn result_id(&self, call: CallKey) -> MessageId {
        let run = &self.prefix;
        let id = match call.hop {
            0 => format!("{run}-result-{}", call.index),
            hop => format!("{run}.{hop}-result-{}", call.index),
        };
        id.into()
    }

    /// Returns whether the client has the call's result.
    pub(crate) fn knows(&self, call: &ToolCallId) -> bool {
        self.calls.reported.contains(call)
    }

    /// Returns whether all updates of these calls were handled. A call that has ended since the turn began to rest has
    /// a result that is still to be reported; one that has not begun has nothing to report.
    pub(crate) fn is_heard(&self, calls: &[LiveCall]) -> bool {
        calls.iter().all(|call| {
            let seen = self.calls.seen.get(&call.id);
            seen == Some(&call.status)
                || (call.status == ToolCallStatus::Pending && seen.is_none())
                || (call.status.is_final() && self.calls.reported.contains(&call.id))
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use stepwell_io::tool::{ToolFailure, ToolFailureKind};

    fn call(id: &str, index: u32, status: ToolCallStatus) -> LiveCall {
        LiveCall {
            key: CallKey { hop: 0, index },
            id: id.into(),
            name: "work".to_owned(),
            status,
            result: None,
            edited: None,
            changed: None,
            restarts: 0,
        }
    }

    #[test]
    fn a_turn_is_not_heard_while_a_result_is_on_its_way_to_the_client() {
        use ToolCallStatus::{Completed, Deferred, Executing};
        let mut rounds = Rounds::new("run".to_owned());
        rounds.calls.seen.insert("theirs".into(), Deferred);
        rounds.calls.seen.insert("ours".into(), Executing);
        let theirs = call("theirs", 0, Deferred);
        let running = [theirs.clone(), call("ours", 1, Executing)];
        assert!(rounds.is_heard(&running));
        // The call has ended, and its result is not reported yet.
        let ended = [theirs, call("ours", 1, Completed)];
        assert!(!rounds.is_heard(&ended));
        let update = ToolCallUpdate {
            call: CallKey { hop: 0, index: 1 },
            tool_call_id: "ours".into(),
            name: "work".to_owned(),
            status: Completed,
            result: Some(Ok("done".into())),
        };
        assert!(rounds.update(update).is_some());
        assert!(rounds.is_heard(&ended));
    }

    #[test]
    fn a_result_tells_of_edited_arguments_after_a_restart_too() {
        let mut rounds = Rounds::new("run".to_owned());
        let mut edited = call("c", 0, ToolCallStatus::Executing);
        edited.edited = Some(r#"{"id":7}"#.to_owned());
        rounds.set_statuses(&[edited]);
        let update = ToolCallUpdate {
            call: CallKey { hop: 0, index: 0 },
            tool_call_id: "c".into(),
            name: "work".to_owned(),
            status: ToolCallStatus::Completed,
            result: Some(Ok("done".into())),
        };
        let Some(Event::ToolCallResult(told)) = rounds.update(update) else {
            panic!("the result is told");
        };
        let json = serde_json::to_string(&told.content).expect("JSON");
        assert!(json.contains("changed the arguments"), "{json}");
    }

    #[test]
    fn a_result_tells_of_no_edit_that_came_after_the_call_was_stopped() {
        use ToolCallStatus::{AwaitingApproval, Cancelled, Executing};
        let told = |statuses: &[ToolCallStatus]| {
            let mut rounds = Rounds::new("run".to_owned());
            let update = |status, result| ToolCallUpdate {
                call: CallKey { hop: 0, index: 0 },
                tool_call_id: "c".into(),
                name: "work".to_owned(),
                status,
                result,
            };
            rounds.update(update(AwaitingApproval, None));
            let arguments = r#"{"id":7}"#.to_owned();
            rounds.decided(&"c".into(), &Decision::Edited { arguments });
            for status in statuses {
                rounds.update(update(*status, None));
            }
            let stopped = ToolFailure::new(ToolFailureKind::Cancelled, "stopped");
            let told = rounds.update(update(Cancelled, Some(Err(stopped))));
            serde_json::to_string(&told).expect("JSON")
        };
        let too_late = told(&[]);
        assert!(too_late.contains(r#""content":"stopped""#), "{too_late}");
        let in_time = told(&[Executing]);
        assert!(in_time.contains("changed the arguments"), "{in_time}");
    }

    #[test]
    fn a_call_that_the_agent_answered_itself_is_heard_by_its_result() {
        let mut rounds = Rounds::new("run".to_owned());
        let calls = [call("c", 0, ToolCallStatus::Completed)];
        assert!(!rounds.is_heard(&calls));
        rounds.mark_known(&"c".into());
        assert!(rounds.is_heard(&calls));
    }
}

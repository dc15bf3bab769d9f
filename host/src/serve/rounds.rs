//! What becomes of a run's tool calls: which results the client is told, and what is left open when the turn rests.

use super::interrupts;
use super::open_turn::{Answers, OpenTurn, Question};
use std::collections::{HashMap, HashSet};
use stepwell_core::conversation::{LiveCall, shown_result};
use stepwell_core::event::{Interrupt, ToolCallResult, ToolRole};
use stepwell_core::run::ToolCallUpdate;
use stepwell_core::tool::{Arguments, parse_arguments};
use stepwell_core::{CallKey, MessageId, ToolCallId};
use stepwell_io::{Conversation, Decision, Event, ToolCallStatus, ToolInvocation, ToolRegistry};
use time::OffsetDateTime;

/// The calls of one run.
#[derive(Debug)]
pub(super) struct Rounds {
    /// What the ids of the results begin with.
    prefix: String,
    /// Where each call stands, as far as the turn has said.
    seen: HashMap<ToolCallId, ToolCallStatus>,
    /// The calls whose results the client has.
    reported: HashSet<ToolCallId>,
    /// What the person has decided for this run.
    decisions: HashMap<ToolCallId, Decision>,
    /// What the agent behind the server asks.
    asked: Vec<Interrupt>,
}

/// What a turn waits for that rests.
#[derive(Debug)]
pub(super) enum Rest {
    /// It does not: there is more to come of its own.
    Not,
    /// For the client to run these calls.
    Client(Vec<ToolCallId>),
    /// For the person to answer.
    Person(Vec<Question>),
}

impl Rounds {
    pub(super) fn new(prefix: String) -> Self {
        Self {
            prefix,
            seen: HashMap::new(),
            reported: HashSet::new(),
            decisions: HashMap::new(),
            asked: Vec::new(),
        }
    }

    /// Goes on where a turn stood that waited for the person.
    pub(super) fn go_on(&mut self, turn: &OpenTurn, answers: &Answers) {
        self.seen.clone_from(&turn.seen);
        self.reported.clone_from(&turn.reported);
        self.decisions.clone_from(&answers.decisions);
    }

    /// The client has the call's result: it is not told again.
    pub(super) fn is_known(&mut self, call: &ToolCallId) {
        self.reported.insert(call.clone());
    }

    /// The agent behind the server asks the person.
    pub(super) fn ask(&mut self, interrupts: Vec<Interrupt>) {
        self.asked = interrupts;
    }

    /// A call moved on: its result, if there is one to tell.
    pub(super) fn update(&mut self, update: ToolCallUpdate) -> Option<Event> {
        let ToolCallUpdate {
            call,
            tool_call_id,
            name,
            status,
            result,
        } = update;
        self.seen.insert(tool_call_id.clone(), status);
        let result = result.filter(|_| status.is_final())?;
        if !self.reported.insert(tool_call_id.clone()) {
            return None;
        }
        let edited = match self.decisions.get(&tool_call_id) {
            Some(Decision::Edited { arguments }) => Some(arguments.clone()),
            _ => None,
        };
        let live = LiveCall {
            key: call,
            id: tool_call_id.clone(),
            name,
            status,
            result: None,
            edited,
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
    fn result_id(&self, call: CallKey) -> MessageId {
        let run = &self.prefix;
        let id = match call.hop {
            0 => format!("{run}-result-{}", call.index),
            hop => format!("{run}.{hop}-result-{}", call.index),
        };
        id.into()
    }

    /// Whether the client has the call's result.
    pub(super) fn knows(&self, call: &ToolCallId) -> bool {
        self.reported.contains(call)
    }

    /// What the turn waits for, if all that it has said was heard.
    pub(super) fn rest(
        &self,
        conversation: &Conversation,
        tools: &ToolRegistry,
        expires: Option<OffsetDateTime>,
    ) -> Rest {
        let open: Vec<&LiveCall> = conversation
            .calls()
            .iter()
            .filter(|call| !call.status.is_final())
            .collect();
        let is_decided = |call: &&LiveCall| {
            call.status == ToolCallStatus::AwaitingApproval && self.decisions.contains_key(&call.id)
        };
        let is_heard = self.is_heard(conversation.calls());
        if self.asked.is_empty() && (!is_heard || open.iter().any(is_decided)) {
            return Rest::Not;
        }
        let mut questions: Vec<Question> = open
            .iter()
            .filter(|call| call.status == ToolCallStatus::AwaitingApproval)
            .map(|call| {
                let interrupt =
                    interrupts::question(&invocation(conversation, call), tools, expires);
                let tool = Some(call.name.clone());
                Question { interrupt, tool }
            })
            .collect();
        questions.extend(self.asked.iter().map(|interrupt| Question {
            interrupt: interrupt.clone(),
            tool: None,
        }));
        if !questions.is_empty() {
            return Rest::Person(questions);
        }
        let deferred = open
            .iter()
            .filter(|call| call.status == ToolCallStatus::Deferred);
        let deferred: Vec<_> = deferred.map(|call| call.id.clone()).collect();
        if deferred.is_empty() {
            Rest::Not
        } else {
            Rest::Client(deferred)
        }
    }

    /// Whether all was heard that the turn has said of these calls. One that has come to its end since the turn began to
    /// rest has a result that the client is still to be told.
    fn is_heard(&self, calls: &[LiveCall]) -> bool {
        calls.iter().all(|call| {
            self.seen.get(&call.id) == Some(&call.status)
                || (call.status.is_final() && self.reported.contains(&call.id))
        })
    }

    /// What is to be known when the person has answered.
    pub(super) fn into_parts(self) -> (HashMap<ToolCallId, ToolCallStatus>, HashSet<ToolCallId>) {
        (self.seen, self.reported)
    }
}

fn invocation(conversation: &Conversation, call: &LiveCall) -> ToolInvocation {
    let raw = conversation
        .tool_call(call)
        .map(|call| call.function.arguments.clone())
        .unwrap_or_default();
    ToolInvocation {
        call: call.key,
        tool_call_id: call.id.clone(),
        name: call.name.clone(),
        arguments: Arguments {
            value: parse_arguments(&raw).unwrap_or_default(),
            raw,
        },
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn call(id: &str, index: u32, status: ToolCallStatus) -> LiveCall {
        LiveCall {
            key: CallKey { hop: 0, index },
            id: id.into(),
            name: "work".to_owned(),
            status,
            result: None,
            edited: None,
        }
    }

    #[test]
    fn a_turn_is_not_heard_while_a_result_is_on_its_way_to_the_client() {
        use ToolCallStatus::{Completed, Deferred, Executing};
        let mut rounds = Rounds::new("run".to_owned());
        rounds.seen.insert("theirs".into(), Deferred);
        rounds.seen.insert("ours".into(), Executing);
        let theirs = call("theirs", 0, Deferred);
        let running = [theirs.clone(), call("ours", 1, Executing)];
        assert!(rounds.is_heard(&running));
        // It has come to its end, and nobody has said so yet.
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
    fn a_call_that_the_agent_answered_itself_is_heard_by_its_result() {
        let mut rounds = Rounds::new("run".to_owned());
        let calls = [call("c", 0, ToolCallStatus::Completed)];
        assert!(!rounds.is_heard(&calls));
        rounds.is_known(&"c".into());
        assert!(rounds.is_heard(&calls));
    }
}

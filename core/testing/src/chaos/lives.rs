//! Hosts that die or give a run up, and hosts that take it over.

use super::{Chaos, Given, Invariant, Moment};
use crate::StoredTurn;
use std::collections::BTreeMap;
use std::sync::Arc;
use stepwell_core::Timestamp;
use stepwell_core::event::{Event, Message};
use stepwell_core::run::{
    BlockContent, EffectId, EffectStage, Input, Misuse, Output, RunEvent, RunMachine, SnapshotError,
};
use stepwell_core::transcript::Transcript;

/// The messages that were on the user's screen when the present host started.
#[derive(Debug, Default)]
pub(super) struct Screen {
    texts: BTreeMap<String, String>,
    /// The number of outputs at that time.
    since: usize,
}

impl Chaos {
    /// Lets the host die if this moment was chosen.
    pub(super) fn crash_if_armed(&mut self) {
        let Some((moment, written)) = self.armed else {
            return;
        };
        let is_now = match moment {
            Moment::In(state) => state == self.machine.state(),
            Moment::DuringTool => self.runs_tool(),
        };
        if is_now && self.disk.last_write.is_some() {
            self.armed = None;
            self.crash(written);
        }
    }

    fn runs_tool(&self) -> bool {
        self.given.keys().any(|id| matches!(id, EffectId::Tool(_)))
    }

    /// The host dies, and another takes over with what is stored. Does nothing without a store.
    pub(super) fn crash(&mut self, written: bool) {
        if self.violation.is_some() {
            return;
        }
        if self.journal.is_some() {
            return self.revive_journal();
        }
        if !self.disk.is_on {
            return;
        }
        if self.disk.last_write.is_some() {
            let moment = (self.machine.state(), self.runs_tool());
            self.crashes.push(moment);
        }
        self.disk.crash(written);
        // Blocks that were never stored are forgotten, with their numbers.
        self.blocks = self.disk.blocks.clone();
        self.given.clear();
        self.refused.clear();
        self.ran.clear();
        self.sent.clear();
        self.over = None;
        self.is_cancelled = false;
        let config = Arc::clone(&self.config);
        let now = Timestamp(self.now);
        match self.disk.last_write {
            Some((id, hop)) => {
                self.log.revived(self.now, Some(id));
                let revived = self.disk.turn.revive(&config, now);
                self.came_back(revived, hop);
            }
            None => {
                self.log.began_again(self.now);
                let none_ran = self.ran_ever.is_empty();
                self.ensure(none_ran, Invariant::StoredBeforeUsed, || {
                    "a tool ran, and nothing is stored".to_owned()
                });
                self.disk.turn = StoredTurn::default();
                self.machine = RunMachine::new(config, "thread".into(), Transcript::default());
            }
        }
        self.keep_deferred();
        self.check_nothing_lost();
        // The new host shows the present conversation, and everything after it.
        let messages = self.machine.transcript().messages().iter();
        self.screen.texts = messages.filter_map(text_of).collect();
        self.screen.since = self.outputs.len();
        self.born = self.outputs.len();
        self.take_outputs();
        self.check();
    }

    /// Revives a run whose journal is written from where it is.
    fn revive_journal(&mut self) {
        let Some(journal) = &mut self.journal else {
            return;
        };
        let snapshot = journal.snapshot(&self.machine);
        let config = Arc::clone(&self.config);
        let revived = journal.revive(&snapshot, &config, Timestamp(self.now));
        self.came_back(revived, self.machine.hop());
        // In the snapshot of the present run, the write in progress counts as stored.
        self.disk.crash(true);
        self.given.clear();
        self.ran.clear();
        self.sent.clear();
        self.keep_deferred();
        self.take_outputs();
        self.check();
    }

    /// Deferred calls are under way elsewhere: their results can still come.
    fn keep_deferred(&mut self) {
        let pending = self.machine.pending_effects().into_iter();
        let deferred = pending.filter(|(_, stage)| *stage == EffectStage::Deferred);
        self.given
            .extend(deferred.map(|(id, _)| (id, Given::Other)));
    }

    /// A host has given the run up: what it had begun is stopped but writes, which it completes. A new host takes over.
    pub(super) fn hand_over(&mut self, before: &RunMachine) {
        let pending = before.pending_effects();
        let is_deferred = |id: &EffectId| pending.contains(&(*id, EffectStage::Deferred));
        let may_go_on = |id: &EffectId| {
            matches!(
                id,
                EffectId::Persist { .. }
                    | EffectId::CreateRun { .. }
                    | EffectId::Trim { .. }
                    | EffectId::Output { .. }
            ) || is_deferred(id)
        };
        let forgotten = self.given.keys().find(|id| !may_go_on(id)).copied();
        self.ensure(forgotten.is_none(), Invariant::EndsOrWaits, || {
            format!("{forgotten:?} was not stopped as the host gave the run up")
        });
        let before = before.snapshot();
        let has_steering = !before.contains(r#""steering":[]"#);
        let is_same = has_steering || self.machine.snapshot() == before;
        let is_quiet = self.machine.poll_timeout().is_none();
        self.ensure(
            is_same && is_quiet,
            Invariant::RestoreChangesNothing,
            || "giving the run up changed it".to_owned(),
        );
        let now = Timestamp(self.now);
        let late = match &mut self.journal {
            Some(journal) => journal.handle(&mut self.machine, Input::Cancel, now),
            None => self.machine.handle(Input::Cancel, now),
        };
        let is_refused = matches!(late, Err(Misuse::Disposed { .. }));
        self.ensure(is_refused, Invariant::MisuseChangesNothing, || {
            format!("an input after the run was given up: {late:?}")
        });
        self.disk.crash(true);
        // A deferred call's result comes to the host that has the run.
        self.given.retain(|id, _| is_deferred(id));
        // An idempotent tool may run again elsewhere.
        self.ran.clear();
        self.sent.clear();
        self.take_outputs();
        self.log.revived(self.now, None);
        let config = Arc::clone(&self.config);
        let revived = match &mut self.journal {
            Some(journal) => {
                let snapshot = journal.snapshot(&self.machine);
                journal.revive(&snapshot, &config, now)
            }
            None => RunMachine::revive(&self.machine.snapshot(), config, now),
        };
        self.came_back(revived, self.machine.hop());
        self.take_outputs();
    }

    /// An answer that the death has cut is asked for again in a hop of its own.
    fn came_back(&mut self, revived: Result<RunMachine, SnapshotError>, hop: u32) {
        match revived {
            Ok(machine) => {
                let begun = machine.hop().saturating_sub(hop);
                self.ensure(begun <= 1, Invariant::KeepsLimits, || {
                    format!("a change of hosts begins {begun} hops")
                });
                self.cut_hops += begun;
                self.machine = machine;
            }
            Err(error) => self.fail(Invariant::RestoreChangesNothing, error.to_string()),
        }
    }

    /// Checks that everything that the user has seen and that is stored is still there, with the same text.
    fn check_nothing_lost(&mut self) {
        let lost = self.lost();
        self.ensure(lost.is_none(), Invariant::LosesNothing, || {
            lost.unwrap_or_default()
        });
    }

    fn lost(&self) -> Option<String> {
        let transcript = self.machine.transcript();
        let messages = transcript.messages();
        let there: BTreeMap<_, _> = messages.iter().filter_map(text_of).collect();
        let mut stored: BTreeMap<String, String> = BTreeMap::new();
        for block in self.disk.blocks.values() {
            match &block.content {
                BlockContent::Text {
                    message_id, text, ..
                }
                | BlockContent::Reasoning {
                    message_id, text, ..
                } => stored
                    .entry(message_id.to_string())
                    .or_default()
                    .push_str(text),
                BlockContent::ToolUse {
                    call, tool_call_id, ..
                } => {
                    let is_asked = messages.iter().any(|message| {
                        matches!(message, Message::Assistant(message)
                            if message.tool_calls.iter().any(|call| call.id == *tool_call_id))
                    });
                    if !is_asked {
                        return Some(format!("the call {call:?} is gone"));
                    }
                }
                BlockContent::ToolResult {
                    call, tool_call_id, ..
                } => {
                    let call_of = transcript.call(*call);
                    let is_live = call_of.is_some_and(|call| call.status.is_final());
                    let is_settled = messages.iter().any(|message| {
                        matches!(message, Message::Tool(message) if message.tool_call_id == *tool_call_id)
                    });
                    if !is_live && !is_settled {
                        return Some(format!("the result of {call:?} is gone"));
                    }
                }
                _ => {}
            }
        }
        stored.iter().find_map(|(id, stored)| {
            let there = there.get(id).map_or("", String::as_str);
            if !there.starts_with(stored.as_str()) {
                return Some(format!("{id}: {stored:?} became {there:?}"));
            }
            let seen = self.seen_of(id);
            // A line break that was added to show a text is not a part of the text.
            let added = usize::from(seen.starts_with('\n') && !there.starts_with('\n'));
            let seen = &seen[added..];
            let common = seen.len().min(stored.len());
            (seen.get(..common) != there.get(..common))
                .then(|| format!("{id} was shown in other words"))
        })
    }

    /// Returns the part of a message that the user has seen.
    fn seen_of(&self, id: &str) -> String {
        let outputs = self.outputs.get(self.screen.since..).unwrap_or_default();
        let deltas = outputs.iter().filter_map(|output| match output {
            Output::Event(RunEvent::AgUi(Event::TextMessageContent(event)))
                if event.message_id == *id =>
            {
                Some(event.delta.as_str())
            }
            Output::Event(RunEvent::AgUi(Event::ReasoningMessageContent(event)))
                if event.message_id == *id =>
            {
                Some(event.delta.as_str())
            }
            _ => None,
        });
        let before = self.screen.texts.get(id).map(String::as_str);
        before.into_iter().chain(deltas).collect()
    }
}

fn text_of(message: &Message) -> Option<(String, String)> {
    let text = match message {
        Message::Assistant(message) => message.content.clone()?,
        Message::Reasoning(message) => message.content.clone(),
        _ => return None,
    };
    Some((message.id().to_string(), text))
}

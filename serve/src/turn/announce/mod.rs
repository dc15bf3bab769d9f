//! How a turn begins in its log, and where its calls are when a host begins to report them.

mod open_questions;
mod question_ids;
mod results;
mod statuses;

pub(crate) use open_questions::{open_questions, pending_calls, were_asked};
pub(crate) use question_ids::QuestionIds;
pub(crate) use statuses::{Statuses, status_event, status_named};

use super::brought::RunTerms;
use super::in_runs::started;
use super::runs::{Open, Runs};
use super::shared_state::SharedState;
use crate::turn::call_labels::CallLabels;
use crate::turn::compactions::{StoredCompactions, context_trimmed};
use crate::turn::ending::custom;
use crate::turn::event_writer::{EventWriter, Written};
use crate::turn::rounds::Rounds;
use crate::turn::stored::Fact;
use results::{brought_results, live_result, note_results, result_event, result_of, told_results};
use serde_json::json;
use statuses::{status_name, told_statuses, tool_status};
use std::collections::{BTreeMap, BTreeSet};
use stepwell_core::ToolCallId;
use stepwell_core::event::{Event, Interrupt, MessagesSnapshot, ResumeStatus};
use stepwell_core::transcript::Transcript;
use stepwell_io::RunId;
use stepwell_io::store::TurnKey;
use stepwell_io::tool::{ToolCallStatus, ToolRegistry, ToolResult};

/// The state of a turn whose host begins to report it.
#[derive(Clone, Copy)]
pub(crate) struct Stands<'a> {
    pub(crate) key: &'a TurnKey,
    /// The run that the turn is in, or was last.
    pub(crate) head: RunHead<'a>,
    /// The runs that were reported.
    pub(crate) runs: &'a Runs,
    pub(crate) ids: &'a QuestionIds,
    /// The state that is shared.
    pub(crate) state: Option<&'a SharedState>,
    /// The conversation, if another owner had begun the turn.
    pub(crate) transcript: Option<&'a Transcript>,
    /// The results of the client's tools that were brought to the run, and may not all be stored.
    pub(crate) brought: &'a [(ToolCallId, ToolResult)],
    /// The stored states of the turn's calls.
    pub(crate) statuses: &'a Statuses,
    /// The turn's compactions.
    pub(crate) compactions: &'a StoredCompactions,
    /// The questions of the agent behind the server.
    pub(crate) asks: &'a [Interrupt],
    /// The log of the turn.
    pub(crate) written: &'a Written,
    pub(crate) tools: &'a ToolRegistry,
}

/// A run's id, and what its client asked for.
#[derive(Clone, Copy)]
pub(crate) struct RunHead<'a> {
    pub(crate) id: &'a RunId,
    pub(crate) terms: Option<&'a RunTerms>,
    /// Whether the start of the run is still to be reported.
    pub(crate) begins: bool,
}

/// Reports that the turn begins; or, if another owner had begun it, where it is. Returns the questions that the log has
/// open, by their ids, and the ids of those that it has open and that the turn asks no more.
pub(crate) async fn announce(
    stands: Stands<'_>,
    writer: &mut EventWriter,
    rounds: &mut Rounds,
    labels: &mut CallLabels,
) -> (BTreeMap<String, Interrupt>, BTreeSet<String>) {
    let mut announcer = Announcer {
        stands,
        writer,
        rounds,
        labels,
    };
    announcer.begin_run().await;
    announcer.note_log();
    let Some(transcript) = stands.transcript else {
        return Default::default();
    };
    let open = open_questions(&stands.written.events).into_iter();
    let (void, open): (BTreeMap<_, _>, BTreeMap<_, _>) =
        open.partition(|(id, _)| stands.is_void(transcript, id));
    if stands.runs.open == Open::Between && !stands.head.begins {
        // Everything was reported when the last run ended.
        announcer.rounds.set_statuses(transcript.calls());
        return (open, void.into_keys().collect());
    }
    announcer.writer.close_open_items().await;
    announcer.report_compactions(transcript).await;
    let reported = announcer.report_results(transcript).await;
    announcer.report_snapshot(transcript).await;
    announcer.report_statuses(&reported).await;
    announcer.report_questions(&open, &void).await;
    (open, BTreeSet::new())
}

impl Stands<'_> {
    /// Returns whether the turn asks the question of this id no more.
    fn is_void(&self, transcript: &Transcript, id: &String) -> bool {
        let asks_again = self.asks.iter().any(|asked| asked.id == *id);
        let mut calls = transcript.calls().iter();
        let is_of_call = calls.any(|call| match call.status {
            ToolCallStatus::AwaitingApproval => *id == self.ids.of_call(&call.id),
            // Its tool is run again, and may ask the same.
            ToolCallStatus::Executing => self.statuses.may_ask(call, self.ids, id),
            _ => false,
        });
        !asks_again && !is_of_call
    }
}

/// Reports the state of a turn, a phase a method.
struct Announcer<'a, 'w> {
    stands: Stands<'a>,
    writer: &'w mut EventWriter,
    rounds: &'w mut Rounds,
    labels: &'w mut CallLabels,
}

impl<'a> Announcer<'a, '_> {
    /// Reports that a run begins, if the log does not have it.
    async fn begin_run(&mut self) {
        let Stands { key, head, .. } = self.stands;
        if head.begins {
            self.writer.append(started(key, head.id, head.terms)).await;
        }
    }

    /// Notes the labels and results that the log has.
    fn note_log(&mut self) {
        let Stands {
            written,
            head,
            tools,
            ..
        } = self.stands;
        for event in &written.events {
            self.labels.note(event);
            match event {
                Event::ToolCallResult(result) => self.rounds.mark_known(&result.tool_call_id),
                Event::MessagesSnapshot(snapshot) => note_results(&snapshot.messages, self.rounds),
                _ => {}
            }
        }
        for call in calls_left(&written.events, head.begins, tools) {
            self.rounds.mark_known(&call);
        }
    }

    /// Reports the compactions that the owner before could not report. They come before what the turn does next, which
    /// that owner has not reported either.
    async fn report_compactions(&mut self, transcript: &Transcript) {
        let Stands {
            written,
            compactions,
            ..
        } = self.stands;
        for compaction in compactions.unreported(&written.events) {
            self.writer.append(context_trimmed(compaction)).await;
        }
        // The turn was begun for another owner, which stores its first blocks.
        let last = transcript.compaction();
        if compactions.is_new(last) {
            let (event, fact) = (context_trimmed(last), Fact::Compacted(last.clone()));
            self.writer.append_fact(event, fact).await;
        }
    }

    /// Reports the results that are stored, and that the owner before could not report. Results that are not stored yet the
    /// turn reports itself. Returns the calls.
    async fn report_results(&mut self, transcript: &Transcript) -> Vec<&'a ToolCallId> {
        let Stands {
            written,
            statuses,
            state,
            tools,
            ..
        } = self.stands;
        let begun = written.events.iter().filter_map(|event| match event {
            Event::ToolCallStart(start) => Some(start),
            _ => None,
        });
        let mut reported = Vec::new();
        for start in begun {
            let (call, name) = (&start.tool_call_id, &start.tool_call_name);
            let status = statuses.of(call).filter(|status| status.is_final());
            let result = result_of(transcript, call).cloned();
            let result = result.or_else(|| live_result(transcript, call, self.rounds));
            if let (Some(status), Some(result), false) = (status, result, self.rounds.knows(call)) {
                let label = self.labels.of(call, name, tools);
                let event = tool_status(call, name, &label, status);
                self.writer.append(event).await;
                self.rounds.mark_known(call);
                reported.push(call);
                for change in state.map(SharedState::untold).into_iter().flatten() {
                    self.writer.append(change).await;
                }
                self.writer.append(result_event(&result)).await;
            }
        }
        reported
    }

    /// Reports the conversation. An answer that was cut is marked there, and its calls have results: clients continue from
    /// the snapshot. A call that the log does not have comes with the snapshot, and so does its result.
    async fn report_snapshot(&mut self, transcript: &Transcript) {
        self.rounds.set_statuses(transcript.calls());
        for call in transcript.calls() {
            let is_stored = self.stands.statuses.is_over(&call.id);
            if is_stored && live_result(transcript, &call.id, self.rounds).is_some() {
                self.rounds.mark_known(&call.id);
            }
        }
        let mut messages = transcript.messages().to_vec();
        messages.extend(told_results(transcript, self.rounds));
        let brought = brought_results(self.stands.brought, transcript, self.rounds);
        messages.extend(brought);
        note_results(&messages, self.rounds);
        let snapshot = MessagesSnapshot {
            messages,
            ..MessagesSnapshot::default()
        };
        let snapshot = snapshot.into();
        self.labels.note(&snapshot);
        self.writer.append(snapshot).await;
    }

    /// Reports the statuses of calls that the log does not have, except those of the calls reported just now.
    async fn report_statuses(&mut self, reported: &[&ToolCallId]) {
        let Stands {
            written,
            statuses,
            tools,
            ..
        } = self.stands;
        let told = told_statuses(&written.events);
        for (call, name, status) in statuses.calls() {
            let is_told = told.get(call.as_str()).copied() == Some(status_name(*status));
            // The client that brings the result waits for the report that it is awaited.
            let matters = status.is_final() || *status == ToolCallStatus::Deferred;
            if matters && !is_told && !reported.contains(&call) {
                let label = self.labels.of(call, name, tools);
                let event = tool_status(call, name, &label, *status);
                self.writer.append(event).await;
            }
        }
    }

    /// Withdraws the questions that the turn asks no more, and asks those of the agent that the log does not have.
    async fn report_questions(
        &mut self,
        open: &BTreeMap<String, Interrupt>,
        void: &BTreeMap<String, Interrupt>,
    ) {
        for id in void.keys() {
            let value = json!({ "interruptId": id, "status": ResumeStatus::Cancelled });
            let event = custom("interrupt_answered", value);
            self.writer.append(event).await;
        }
        let asks = self.stands.asks.iter();
        for asked in asks.filter(|asked| !open.contains_key(&asked.id)) {
            let event = custom("interrupt", json!(asked));
            self.writer.append(event).await;
        }
    }
}

/// The calls of the client's tools that earlier runs left to the client: what comes of them it knows. All runs are earlier
/// than one that begins. `own` are the server's own tools.
fn calls_left(events: &[Event], begins: bool, own: &ToolRegistry) -> Vec<ToolCallId> {
    let begin = events
        .iter()
        .rposition(|event| matches!(event, Event::RunStarted(_)));
    let end = if begins {
        events.len()
    } else {
        begin.unwrap_or(0)
    };
    let left = events[..end].iter().filter_map(|event| match event {
        Event::ToolCallStart(start) if own.get(&start.tool_call_name).is_none() => {
            Some(start.tool_call_id.clone())
        }
        _ => None,
    });
    left.collect()
}

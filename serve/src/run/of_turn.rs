//! A turn that the app has begun itself, as one complete run.

use super::writer::RunWriter;
use crate::turn::ending::{Ending, TOOL_PARTIAL_RESULT, custom, tool_progress};
use crate::turn::rounds::Rounds;
use crate::turn::usage::usage_since;
use crate::wire::event_log::event_log;
use crate::wire::{EventStream, Format};
use futures::StreamExt;
use serde_json::json;
use stepwell_core::ToolCallId;
use stepwell_core::dialect::ClientVersion;
use stepwell_core::event::{
    Interrupt, PROTOCOL_VERSION, RunAgentInput, RunOutcome, RunStarted, TokenUsage,
};
use stepwell_io::tool::ToolCallStatus;
use stepwell_io::turn::{Event, RunEvent, TurnEvents, TurnHandle};

/// A turn that the app has begun itself as one complete run, from `RUN_STARTED` to its end: for a handler of the app's
/// own. `input` is the client's request; without it the run uses the ids of the turn. Dropping the stream stops the
/// turn, and a slow reader of the stream slows the turn down.
///
/// Calls that the app's tools defer are the client's to answer: the run ends with them pending, and so does the turn. A
/// question of the agent ends the turn too, with the interrupt: the client's next run has the answer, for
/// [`Start::resume`].
///
/// # Panics
/// Outside of a tokio runtime.
///
/// [`Start::resume`]: stepwell_io::turn::Start::resume
#[must_use]
pub fn run_of(
    turn: impl Into<TurnEvents>,
    input: Option<RunAgentInput>,
    format: Format,
) -> EventStream {
    let mut turn = turn.into();
    let (log, stream) = event_log(format);
    tokio::spawn(async move {
        let mut own = RunAgentInput::default();
        while let Some(event) = turn.next().await {
            if let RunEvent::Started { thread_id, run_id } = event {
                own.thread_id = thread_id;
                own.run_id = run_id;
                break;
            }
        }
        let prefix = own.run_id.to_string();
        let input = input.unwrap_or(own);
        let version = ClientVersion::declared(input.protocol_version.as_deref());
        let mut writer = RunWriter::new(log, version);
        writer.append(started(&input));
        let mut telling = Telling {
            writer: &mut writer,
            rounds: Rounds::new(prefix),
            interrupts: Vec::new(),
        };
        let (ending, usage) = telling.tell(turn).await;
        if let Some(notice) = ending.notice() {
            writer.append(notice);
        }
        let usage = usage_since(usage, &TokenUsage::default(), None);
        writer.end(ending.event(&input, usage));
    });
    stream
}

fn started(input: &RunAgentInput) -> Event {
    RunStarted {
        thread_id: input.thread_id.clone(),
        run_id: input.run_id.clone(),
        protocol_version: Some(PROTOCOL_VERSION.to_owned()),
        parent_run_id: input.parent_run_id.clone(),
        ..RunStarted::default()
    }
    .into()
}

/// A turn as it is reported.
struct Telling<'a> {
    writer: &'a mut RunWriter,
    rounds: Rounds,
    /// The questions of the agent behind the turn.
    interrupts: Vec<Interrupt>,
}

impl Telling<'_> {
    /// Emits the turn to its end, or until it waits for the user or the client. Returns how the run ends, and what the
    /// turn has cost.
    async fn tell(&mut self, mut turn: TurnEvents) -> (Ending, TokenUsage) {
        let handle = turn.handle();
        let mut abandoned = self.writer.abandoned();
        let mut is_abandoned = false;
        let mut may_rest = true;
        loop {
            let event = tokio::select! {
                biased;
                () = &mut abandoned, if !is_abandoned => {
                    is_abandoned = true;
                    turn.cancel();
                    continue;
                }
                event = async {
                    self.writer.room().await;
                    turn.next().await
                } => event,
                rests = handle.rested(), if may_rest => {
                    may_rest = false;
                    if rests.is_ok() && let Some(ending) = self.rest(&handle).await {
                        let usage = handle.usage().await.unwrap_or_default();
                        return (ending, usage);
                    }
                    continue;
                }
            };
            let Some(event) = event else { break };
            may_rest = true;
            self.say(event);
        }
        let finished = turn.finish().await;
        (Ending::of(&finished.outcome, None, &[]), finished.usage)
    }

    fn say(&mut self, event: RunEvent) {
        match event {
            RunEvent::AgUi(event) => {
                if let Event::ToolCallResult(result) = &event {
                    self.rounds.mark_known(&result.tool_call_id);
                }
                self.writer.append(event);
            }
            RunEvent::ToolCallUpdate(update) => {
                let (call, status) = (update.tool_call_id.clone(), update.status);
                if let Some(result) = self.rounds.update(update) {
                    self.writer.note(&call, status);
                    self.writer.append(result);
                }
            }
            RunEvent::Interrupted { interrupts } => self.interrupts.extend(interrupts),
            RunEvent::ToolProgress(progress) => self.writer.append(tool_progress(&progress)),
            RunEvent::ToolPartialResult(partial) => {
                let value = json!({
                    "toolCallId": partial.tool_call_id,
                    "toolName": partial.name,
                    "content": partial.output.content,
                });
                self.writer.append(custom(TOOL_PARTIAL_RESULT, value));
            }
            _ => {}
        }
    }

    /// Returns how the run of a resting turn ends, if all its events were reported.
    async fn rest(&mut self, handle: &TurnHandle) -> Option<Ending> {
        if !self.interrupts.is_empty() {
            let interrupts = std::mem::take(&mut self.interrupts);
            return Some(Ending::Finished(RunOutcome::Interrupt { interrupts }));
        }
        let transcript = handle.transcript().await.ok()?;
        let calls = transcript.calls();
        let mut open = calls.iter().filter(|call| !call.status.is_final());
        let is_deferred = open.all(|call| call.status == ToolCallStatus::Deferred);
        if !is_deferred || !self.rounds.is_heard(calls) {
            return None;
        }
        let deferred = calls.iter();
        let deferred = deferred.filter(|call| call.status == ToolCallStatus::Deferred);
        let deferred: Vec<ToolCallId> = deferred.map(|call| call.id.clone()).collect();
        (!deferred.is_empty()).then(|| Ending::pending(deferred))
    }
}

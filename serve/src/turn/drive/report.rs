//! What a turn emits, in its log.

use super::Drive;
use crate::turn::announce::status_event;
use crate::turn::compactions::context_trimmed;
use crate::turn::ending::{TOOL_PARTIAL_RESULT, custom, tool_progress};
use crate::turn::stored::Fact;
use futures::{FutureExt, StreamExt};
use serde_json::json;
use stepwell_core::ToolCallId;
use stepwell_core::event::{Event, ResumeStatus};
use stepwell_core::run::ToolCallUpdate;
use stepwell_io::turn::{RunEvent, TurnHandle};
use tokio::time::Instant;

/// The most events that are reported before the turn waits for anything else.
const MAX_EVENTS_AT_ONCE: u32 = 32;

impl Drive<'_> {
    /// Reports an event, and those that follow it without a wait.
    pub(super) async fn report_events(&mut self, event: RunEvent, handle: &TurnHandle) {
        let mut next = Some(event);
        for _ in 0..MAX_EVENTS_AT_ONCE {
            let Some(event) = next.take() else { break };
            self.report(event, handle).await;
            if !self.writer.has_room() {
                break;
            }
            next = self.turn.next().now_or_never().flatten();
        }
        if let Some(event) = next {
            self.report(event, handle).await;
        }
    }

    /// Reports what tools have said of their progress, as far as it is due.
    pub(super) async fn report_progress(&mut self) {
        while let Some(progress) = self.progress.due(Instant::now()) {
            self.writer.append(progress).await;
        }
    }

    async fn report(&mut self, event: RunEvent, handle: &TurnHandle) {
        match event {
            RunEvent::AgUi(event) => {
                if let Event::ToolCallResult(result) = &event {
                    self.rounds.mark_known(&result.tool_call_id);
                }
                if let Some(state) = &self.state {
                    state.follow(&event);
                }
                self.labels.note(&event);
                self.writer.append(event).await;
            }
            RunEvent::ToolCallUpdate(update) => {
                let is_over = update.status.is_final();
                Box::pin(self.report_call(update)).await;
                if is_over {
                    self.handle_early_commands(handle).await;
                }
            }
            RunEvent::Interrupted { interrupts } => {
                for interrupt in interrupts {
                    Box::pin(self.ask_for_agent(interrupt)).await;
                }
            }
            RunEvent::ToolProgress(progress) => {
                let (call, event) = (progress.tool_call_id.clone(), tool_progress(&progress));
                self.report_tool_progress(call, event).await;
            }
            RunEvent::ToolPartialResult(partial) => {
                let value = json!({
                    "toolCallId": partial.tool_call_id,
                    "toolName": partial.name,
                    "content": partial.output.content,
                });
                let event = custom(TOOL_PARTIAL_RESULT, value);
                self.report_tool_progress(partial.tool_call_id, event).await;
            }
            RunEvent::Retrying {
                kind,
                attempt,
                delay_ms,
                ..
            } => {
                let value = json!({ "kind": kind, "attempt": attempt, "delayMs": delay_ms });
                self.writer.append(custom("retrying", value)).await;
            }
            RunEvent::ModelChanged {
                model,
                previous,
                after,
                ..
            } => {
                let value =
                    json!({ "model": model.model, "previous": previous.model, "after": after });
                self.writer.append(custom("model_changed", value)).await;
            }
            // A host that continues a turn is told of a compaction again.
            RunEvent::ContextTrimmed { compaction, .. }
                if self.compactions.insert(compaction.clone()) =>
            {
                let event = context_trimmed(&compaction);
                self.writer
                    .append_fact(event, Fact::Compacted(compaction))
                    .await;
            }
            _ => {}
        }
    }

    /// Reports the progress of a call, unless it has just reported some.
    async fn report_tool_progress(&mut self, call: ToolCallId, event: Event) {
        if let Some(event) = self.progress.say(call, event, Instant::now()) {
            self.writer.append(event).await;
        }
    }

    async fn report_call(&mut self, update: ToolCallUpdate) {
        let (key, call) = (update.call, update.tool_call_id.clone());
        self.has_moved = true;
        if update.status.is_final() {
            self.progress.end(&call);
            // The questions have expired, or the user has stopped the call.
            for id in self.withdraw_questions(&call) {
                self.report_answered(&id, ResumeStatus::Cancelled, None)
                    .await;
            }
        }
        let label = self.labels.label(&update, self.agent.tools());
        let event = status_event(&update, &label);
        let has_result = update.result.is_some();
        let result = self.rounds.update(update);
        if !has_result {
            return self.writer.append(event).await;
        }
        let fact = Fact::Result(call);
        self.writer.append_fact(event, fact.clone()).await;
        if let Some(result) = result {
            let changes = self.state.as_ref().map(|state| state.untold_before(key));
            for change in changes.into_iter().flatten() {
                self.writer.append_fact(change, fact.clone()).await;
            }
            self.writer.append_fact(result, fact).await;
        }
    }
}

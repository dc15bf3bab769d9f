//! Commands to a turn under way.

use super::Drive;
use crate::engine::{Command, CommandReply, EngineError};
use crate::turn::answers::Unresumable;
use crate::turn::stored::Fact;
use std::collections::HashMap;
use stepwell_core::ToolCallId;
use stepwell_core::event::{Message, ResumeEntry};
use stepwell_core::run::EffectId;
use stepwell_io::tool::{ToolCallStatus, ToolResult};
use stepwell_io::turn::TurnHandle;

impl Drive<'_> {
    /// Handles a command.
    pub(crate) async fn handle_command(
        &mut self,
        command: Command,
        reply: CommandReply,
        handle: &TurnHandle,
    ) {
        match command {
            Command::Answer(answers) if self.is_early(&answers) => {
                self.early.push((Command::Answer(answers), reply));
            }
            Command::Answer(answers) => {
                let facts = self.answer(&answers, handle).await;
                self.promise(facts.map_err(EngineError::from), reply);
            }
            Command::BringResult(call, result) => {
                let brought = bring_result(&call, result, handle).await;
                self.promise(brought.map(|()| vec![Fact::Result(call)]), reply);
            }
            Command::Continue(continued) => self.continue_in_run(*continued, reply, handle).await,
            Command::Reply(id, given) => self.handle_reply(id, given, reply, handle).await,
            Command::CancelCall(call) => {
                let cancelled = handle.cancel_call(call.clone()).await;
                let _ = reply.send(cancelled.map_err(|_| EngineError::NoCall { call }));
            }
        }
    }

    /// Handles the answers that came before their questions were asked again.
    pub(super) async fn handle_early_commands(&mut self, handle: &TurnHandle) {
        for (command, reply) in std::mem::take(&mut self.early) {
            Box::pin(self.handle_command(command, reply, handle)).await;
        }
        Box::pin(self.begin_next(handle)).await;
    }

    /// Replies once these facts are stored: what was acknowledged is not asked for again after a restart.
    pub(super) fn promise(&self, facts: Result<Vec<Fact>, EngineError>, reply: CommandReply) {
        let stored = self.stored.clone();
        tokio::spawn(async move {
            let kept = async {
                for fact in &facts? {
                    if !stored.until(fact).await {
                        return Err(EngineError::Stopping);
                    }
                }
                Ok(())
            };
            let _ = reply.send(kept.await);
        });
    }

    pub(crate) fn is_early(&self, answers: &[ResumeEntry]) -> bool {
        let mut answers = answers.iter();
        answers.any(|answer| {
            let is_asked = self.questions.has_id(&answer.interrupt_id);
            self.open.contains_key(&answer.interrupt_id) && !is_asked
        })
    }

    /// Passes the user's answers on, if they fit, and reports them. Returns the facts that are stored once the answers count.
    pub(crate) async fn answer(
        &mut self,
        entries: &[ResumeEntry],
        handle: &TurnHandle,
    ) -> Result<Vec<Fact>, Unresumable> {
        let heard = self.pass_on_answers(entries, handle).await?;
        let mut facts = Vec::new();
        for entry in entries {
            let id = &entry.interrupt_id;
            let fact = heard.get(id).map(|effect| Fact::Answer(*effect));
            facts.extend(fact.clone());
            self.report_answered(id, entry.status, fact).await;
        }
        Ok(facts)
    }

    /// Passes the user's answers on, if they fit. Returns the effects that waited for them, by the ids of their questions.
    pub(crate) async fn pass_on_answers(
        &mut self,
        entries: &[ResumeEntry],
        handle: &TurnHandle,
    ) -> Result<HashMap<String, EffectId>, Unresumable> {
        let mut answers = self.questions.read(entries, self.agent.tools())?;
        let forwarded = std::mem::take(&mut answers.forwarded);
        if !forwarded.is_empty() {
            let id = forwarded[0].interrupt_id.clone();
            let resumed = handle.resume(forwarded).await;
            resumed.map_err(|error| Unresumable::Payload {
                id,
                reason: error.to_string(),
            })?;
        }
        for (call, decision) in &answers.decisions {
            self.rounds.decided(call, decision);
        }
        Ok(self.questions.close(entries, &mut answers))
    }
}

/// Brings the result of a call that was left to the client. Other calls get their results from the server.
pub(super) async fn bring_result(
    call: &ToolCallId,
    result: ToolResult,
    handle: &TurnHandle,
) -> Result<(), EngineError> {
    let call = call.clone();
    let Ok(transcript) = handle.transcript().await else {
        return Err(EngineError::Over);
    };
    let awaited = transcript.call_by_id(&call).map(|call| call.status);
    if awaited == Some(ToolCallStatus::Deferred) {
        let brought = handle.resolve_call(call.clone(), result).await;
        return brought.map_err(|_| EngineError::NotWaiting { call });
    }
    let asks = |message: &Message| match message {
        Message::Assistant(said) => said.tool_calls.iter().any(|asked| asked.id == call),
        _ => false,
    };
    Err(match transcript.messages().iter().any(asks) {
        true => EngineError::NotWaiting { call },
        false => EngineError::NoCall { call },
    })
}

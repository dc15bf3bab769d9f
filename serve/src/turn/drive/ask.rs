//! The questions of a turn: asked, withdrawn and lapsed.

use super::Drive;
use crate::turn::asking::Asking;
use crate::turn::ending::custom;
use crate::turn::questions::QuestionHead;
use crate::turn::stored::Fact;
use serde_json::json;
use stepwell_core::ToolCallId;
use stepwell_core::event::{Interrupt, Metadata, ResumeEntry, ResumeStatus};
use stepwell_core::run::EffectId;
use stepwell_core::tool::{ToolFailure, ToolFailureKind};
use stepwell_io::tool::ToolCallStatus;
use stepwell_io::turn::TurnHandle;
use time::OffsetDateTime;
use time::format_description::well_known::Rfc3339;
use tokio::time::Instant;

impl Drive<'_> {
    /// Answers the questions whose time is over. Between two runs no client would see what follows: the turn ends.
    pub(super) async fn lapse_questions(&mut self, handle: &TurnHandle) {
        if self.run.is_none() {
            return self.cancel.cancel();
        }
        let lapsed = self.questions.lapsed(Instant::now());
        self.answer_lapsed(&lapsed, handle).await;
    }

    async fn answer_lapsed(&mut self, lapsed: &[ResumeEntry], handle: &TurnHandle) {
        if let Err(error) = self.answer(lapsed, handle).await {
            tracing::error!(target: "stepwell", %error, "a question cannot lapse");
            self.turn.cancel();
        }
    }

    /// Gives up waiting: declines the questions, and fails the calls that were left to the client.
    pub(super) async fn lapse(&mut self, handle: &TurnHandle) {
        if self.is_told_in_runs {
            // No client is there to read how the turn continues.
            return self.cancel.cancel();
        }
        let asked = self.questions.to_vec().into_iter();
        let declined: Vec<_> = asked
            .map(|question| ResumeEntry {
                interrupt_id: question.interrupt.id,
                status: ResumeStatus::Cancelled,
                payload: None,
                metadata: None,
                extra: Metadata::new(),
            })
            .collect();
        self.answer_lapsed(&declined, handle).await;
        let Ok(transcript) = handle.transcript().await else {
            return;
        };
        let calls = transcript.calls().iter();
        for call in calls.filter(|call| call.status == ToolCallStatus::Deferred) {
            let late = ToolFailure {
                kind: ToolFailureKind::TimedOut,
                message: "no result came in time".to_owned(),
            };
            // The result may have come just now.
            let _ = handle.resolve_call(call.id.clone(), Err(late)).await;
        }
    }

    /// Handles a question of a tool, or its withdrawal.
    pub(super) async fn ask(&mut self, asking: Asking) {
        self.has_moved = true;
        // The ids are the same after a restart.
        let id = match &asking {
            Asking::Call(invocation, _) => Some(self.ids.of_call(&invocation.tool_call_id)),
            Asking::Tool(asks, _) => {
                let call = &asks.invocation.tool_call_id;
                Some(self.ids.of_tool(call, asks.number))
            }
            Asking::Withdrawn(_) => None,
        };
        // No client reads what comes between two runs, and no log takes it.
        let is_known = id.as_ref().is_some_and(|id| self.open.contains_key(id));
        if self.is_told_in_runs && self.run.is_none() && !is_known {
            return self.postponed.push(asking);
        }
        if let Asking::Withdrawn(effect) = asking {
            return self.withdraw(effect).await;
        }
        let Some(id) = id else { return };
        let asked_before = match self.open.remove(&id) {
            // The tool went another way than before the restart.
            Some(asked_before) if !is_same(&asked_before, &asking) => {
                self.report_answered(&id, ResumeStatus::Cancelled, None)
                    .await;
                None
            }
            asked_before => asked_before,
        };
        let expires = match &asked_before {
            Some(asked_before) => {
                let expires = asked_before.expires_at.as_deref();
                expires.and_then(|at| OffsetDateTime::parse(at, &Rfc3339).ok())
            }
            None => self.setup.expires(),
        };
        let asked = QuestionHead { id, expires };
        let interrupt = match asking {
            Asking::Call(invocation, answer) => {
                let tools = self.agent.tools();
                self.questions.ask(*invocation, answer, tools, asked)
            }
            Asking::Tool(asks, answer) => self.questions.ask_for_tool(*asks, answer, asked),
            Asking::Withdrawn(_) => return,
        };
        // A client that receives the question finds room for another turn.
        self.note_asks();
        if asked_before.is_none() {
            self.report_question(&interrupt).await;
        }
    }

    /// Withdraws a question whose answer is not awaited any more.
    pub(crate) async fn withdraw(&mut self, effect: EffectId) {
        if let Some(id) = self.questions.withdraw(effect) {
            self.report_answered(&id, ResumeStatus::Cancelled, None)
                .await;
        }
    }

    /// Handles a question of the agent behind the server.
    pub(super) async fn ask_for_agent(&mut self, interrupt: Interrupt) {
        self.report_question(&interrupt).await;
        self.questions
            .ask_for_agent(interrupt, self.setup.expires());
    }

    async fn report_question(&mut self, interrupt: &Interrupt) {
        let event = custom("interrupt", json!(interrupt));
        self.writer.append(event).await;
    }

    pub(crate) async fn report_answered(
        &mut self,
        id: &str,
        status: ResumeStatus,
        fact: Option<Fact>,
    ) {
        let value = json!({ "interruptId": id, "status": status });
        let event = custom("interrupt_answered", value);
        match fact {
            Some(fact) => self.writer.append_fact(event, fact).await,
            None => self.writer.append(event).await,
        }
    }

    /// Withdraws the questions about a call that is over, whether they were asked again or not. Returns their ids.
    pub(super) fn withdraw_questions(&mut self, call: &ToolCallId) -> Vec<String> {
        let mut withdrawn = self.questions.withdraw_call(call);
        self.open.retain(|id, asked| {
            let is_of_it = asked.tool_call_id.as_ref() == Some(call);
            if is_of_it && !withdrawn.contains(id) {
                withdrawn.push(id.clone());
            }
            !is_of_it
        });
        withdrawn
    }
}

/// Returns whether the question is the one that was reported before a restart. Whether a call may run is one question.
fn is_same(asked_before: &Interrupt, asking: &Asking) -> bool {
    let Asking::Tool(asks, _) = asking else {
        return true;
    };
    asked_before.message.as_ref() == Some(&asks.question.message)
        && asked_before.response_schema == Some(asks.response_schema())
}

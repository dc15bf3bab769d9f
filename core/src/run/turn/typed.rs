//! The typed answer: it is checked against its type, and asked for again if it does not fit.
//!
//! Owns `typed`. The model is asked again up to the number of times that the type allows, with the reason.

use super::Turn;
use super::rounds::Next;
use crate::CallKey;
use crate::event::Message;
use crate::run::protocol::{
    BlockContent, EffectId, Failure, Incomplete, Outcome, RunEvent, correction,
};
use crate::tool::{ToolFailure, ToolFailureKind};
use crate::transcript::ToolCallStatus;
use serde_json::Value;
use std::borrow::Cow;
use std::sync::Arc;

/// The next step of a turn whose answer was checked against its type.
pub(in crate::run) enum Judgement {
    /// The host must decode the answer.
    Decode,
    /// The answer was accepted, or refused.
    Next(Next),
}

/// The result that the model gets for an accepted final call.
const TAKEN: &str = "the answer was taken";

impl Turn {
    /// Returns whether the turn has a typed answer.
    pub(in crate::run) fn expects_output(&self) -> bool {
        self.setup.config().output.is_some()
    }

    /// The tool whose arguments are the answer, if that is how it is asked for.
    pub(super) fn final_tool(&self) -> Option<&str> {
        // Without a typed answer there is nothing to look up: the offer is built only when needed.
        self.setup.config().output.as_ref()?;
        self.offer().final_tool.as_deref()
    }

    /// Returns whether the client has the tool, or the answer is one.
    pub(super) fn has_tool(&self, name: &str) -> bool {
        self.setup.config().tools.get(name).is_some() || self.final_tool() == Some(name)
    }

    /// The answer that was taken.
    pub(in crate::run) fn output(&self) -> Option<&Value> {
        self.typed.taken()
    }

    /// Returns the answer that the host must decode.
    pub(in crate::run) fn output_to_decode(&self) -> Option<&Value> {
        self.typed.to_decode()
    }

    /// Returns the turn's outcome if its answer is incomplete and cannot be read; the model is not at fault.
    pub(in crate::run) fn cut_output(&self) -> Option<Outcome> {
        let &call = self.final_calls().first()?;
        let live = self.transcript.call(call)?;
        let outcome = self.answered_outcome();
        let is_cut = matches!(
            outcome,
            Outcome::Incomplete {
                reason: Incomplete::Length | Incomplete::ContentFilter | Incomplete::Refusal
            }
        );
        let is_whole = || {
            live.status != ToolCallStatus::Streaming
                && serde_json::from_str::<serde::de::IgnoredAny>(self.written_arguments(live))
                    .is_ok()
        };
        (is_cut && !is_whole()).then_some(outcome)
    }

    /// Checks the hop's answer against its type. Returns `None` if there is no such answer: the turn has no type, the
    /// model asks for tools first, or the provider has paused.
    pub(in crate::run) fn judge_answer(&mut self) -> Option<Judgement> {
        let config = Arc::clone(self.setup.config());
        let output = config.output.as_ref()?;
        let calls = self.final_calls();
        let (call, read) = match calls.split_first() {
            Some((&first, others)) => {
                for &other in others {
                    self.refuse_call(other, "only one answer counts: the first was looked at");
                }
                if self.is_steered() {
                    self.refuse_call(
                        first,
                        "the user has said more meanwhile: answer again with that in mind",
                    );
                    return Some(Judgement::Next(self.rest_of_round()));
                }
                let live = self.transcript.call(first)?;
                let read = if live.status == ToolCallStatus::Streaming {
                    Err("the arguments never came to their end".to_owned())
                } else {
                    output.read_arguments(self.written_arguments(live))
                };
                (Some(first), read)
            }
            None if self.has_open_calls() || self.is_paused() => return None,
            None => (None, output.read_text(&self.answer_text())),
        };
        Some(match read {
            Ok(value) if output.is_decoded_by_host() => {
                self.typed.wait_for_host(value, call);
                let hop = self.hop;
                self.emit(EffectId::Output { hop });
                Judgement::Decode
            }
            Ok(value) => Judgement::Next(self.take_output(value, call)),
            Err(reason) => Judgement::Next(self.refuse_output(call, reason)),
        })
    }

    /// The host has decoded the answer.
    pub(in crate::run) fn output_decoded(&mut self) -> Next {
        match self.typed.decoded() {
            Some((value, call)) => self.take_output(value, call),
            None => self.rest_of_round(),
        }
    }

    /// The host has not.
    pub(in crate::run) fn output_refused(&mut self, reason: String) -> Next {
        let call = self.typed.decoded().and_then(|(_, call)| call);
        self.refuse_output(call, reason)
    }

    /// The answer cannot be had.
    pub(in crate::run) fn output_invalid(&self, reason: String) -> Failure {
        let call = self
            .typed
            .call()
            .and_then(|call| self.transcript.call(call));
        let text = match call {
            Some(call) => self.written_arguments(call).to_owned(),
            None => self.answer_text().into_owned(),
        };
        Failure::OutputInvalid {
            reason,
            text: text.into(),
        }
    }

    fn take_output(&mut self, value: Value, call: Option<CallKey>) -> Next {
        if let Some(call) = call {
            self.finish_call(call, Ok(TAKEN.into()));
        }
        self.typed.take(value);
        self.rest_of_round()
    }

    /// Asks again, if that may be.
    fn refuse_output(&mut self, call: Option<CallKey>, reason: String) -> Next {
        let most = self.setup.config().output.as_ref();
        let most = most.map_or(0, |output| output.most_retries());
        let left = self.typed.refuse(call, most);
        let left = left.or_else(|| {
            let failure = self.output_invalid(reason.clone());
            self.fall_back_after_output(&failure).then_some(most)
        });
        let Some(retries_left) = left else {
            let failure = self.output_invalid(reason.clone());
            if let Some(call) = call {
                self.refuse_call(call, &format!("The answer was not taken: {reason}"));
            }
            return Next::Over(Outcome::Failed { failure });
        };
        let mut told = format!("The answer was not taken: {reason}. ");
        let correction = match (call, self.final_tool()) {
            (Some(call), Some(tool)) => {
                told.push_str(&format!("Call `{tool}` again, with the whole answer."));
                self.refuse_call(call, &told);
                None
            }
            (_, tool) => {
                told.push_str(&match tool {
                    Some(tool) => format!("Call `{tool}` with the whole answer."),
                    None => "Answer again with the whole JSON that fits the schema, and with nothing else."
                        .to_owned(),
                });
                let message = correction(&self.ids.run_id, told);
                let known = self.transcript.push(message.clone()).is_err();
                let message = Box::new(message);
                if !known {
                    self.record(BlockContent::Message {
                        message: message.clone(),
                    });
                }
                Some(message)
            }
        };
        self.event(RunEvent::OutputRefused {
            reason,
            retries_left,
            correction,
        });
        self.rest_of_round()
    }

    fn refuse_call(&mut self, call: CallKey, message: &str) {
        let failure = ToolFailure::new(ToolFailureKind::Rejected, message);
        self.finish_call(call, Err(failure));
    }

    /// Continues the rest of the round after the answer: the other calls that the model asked for.
    fn rest_of_round(&mut self) -> Next {
        if self.has_open_calls() {
            return self.begin_round();
        }
        self.settle_round();
        if self.output().is_some() && !self.is_steered() {
            return Next::Over(Outcome::Success);
        }
        Next::Ask
    }

    /// The calls of the final tool that have no result.
    pub(super) fn final_calls(&self) -> Vec<CallKey> {
        let Some(tool) = self.final_tool() else {
            return Vec::new();
        };
        let mut calls = self.open_calls();
        calls.retain(|key| self.name_of(*key) == tool);
        calls
    }

    /// Returns the index of the first message of the hop's answer.
    pub(super) fn answer_start(&self) -> usize {
        // An agent's snapshot may have removed the message after which the stream began.
        let messages = self.transcript.messages().iter();
        let said = messages
            .rev()
            .position(|message| matches!(message, Message::User(_)));
        let asked = said.map_or(0, |behind| self.transcript.messages().len() - behind);
        self.stream_start().max(asked)
    }

    /// Returns the text of the hop's stream.
    pub(super) fn answer_text(&self) -> Cow<'_, str> {
        let messages = self.transcript.messages();
        let brought = messages.get(self.answer_start()..).unwrap_or_default();
        let mut texts = brought.iter().filter_map(|message| match message {
            Message::Assistant(said) => said.content.as_deref(),
            _ => None,
        });
        let Some(first) = texts.next() else {
            return Cow::default();
        };
        texts.fold(first.into(), |text, next| text + "\n" + next)
    }
}

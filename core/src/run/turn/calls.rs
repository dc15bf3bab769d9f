//! One call of a tool: its start and its end.
//!
//! Owns the state of a call in `conversation`, and the effects of its approval and its tool. A call has one result,
//! which is recorded as a block. A call that cannot run is answered here, without the host.

use super::Turn;
use crate::run::parts::call_digest;
use crate::run::protocol::{
    Attached, BlockContent, Decision, EffectId, EffectStage, HookPlace, Incomplete, RunEvent,
    TimerKey, ToolCallUpdate, ToolInvocation,
};
use crate::tool::schema::CheckSteps;
use crate::tool::{
    Arguments, Rejection, ToolFailure, ToolFailureKind, ToolResult, parse_arguments,
};
use crate::transcript::{LiveCall, ToolCallStatus, shown_result};
use crate::{CallKey, MessageId};

impl Turn {
    /// Returns whether the call's tool says that it may be run twice.
    pub(in crate::run) fn may_run_again(&self, key: CallKey) -> bool {
        let tool = self.setup.config().tools.get(self.name_of(key));
        tool.is_some_and(|tool| tool.idempotent)
    }

    /// The arguments of a call as the model wrote them.
    pub(super) fn written_arguments(&self, call: &LiveCall) -> &str {
        let asked = self.transcript.tool_call(call);
        asked.map_or("", |call| &call.function.arguments)
    }

    pub(super) fn name_of(&self, key: CallKey) -> &str {
        self.transcript.call(key).map_or("", |call| &call.name)
    }

    /// Begins a call, or answers it if it cannot run. Returns what is wrong with its arguments if they cannot be read.
    pub(super) fn begin_call(&mut self, key: CallKey, left: &mut CheckSteps) -> Option<String> {
        let call = self.transcript.call(key)?;
        if self.stopped_calls.contains(&key) {
            self.stop_call(key);
            return None;
        }
        let raw = self.written_arguments(call);
        let is_open = call.status == ToolCallStatus::Streaming;
        if is_open || self.is_cut_by_length(call, raw) {
            let name = &call.name;
            let message = if self.ran_out_of_tokens() {
                format!(
                    "the answer ran out of tokens in the arguments of `{name}`, and the call was not run; ask again \
                     with less in them, or in several calls"
                )
            } else {
                format!("the arguments of `{name}` never came to their end; ask again")
            };
            self.reject_call(key, message.clone());
            return Some(message);
        }
        match self
            .setup
            .config()
            .tools
            .check_within(&call.name, raw, left)
        {
            Err(rejection) => {
                let message = rejection.to_string();
                self.reject_call(key, message.clone());
                return matches!(rejection, Rejection::NotJson { .. }).then_some(message);
            }
            Ok(_) => {
                if !self.ask_hooks(HookPlace::Call(key)) {
                    self.allow_call(key);
                }
            }
        }
        None
    }

    fn reject_call(&mut self, key: CallKey, message: String) {
        let failure = ToolFailure::new(ToolFailureKind::Rejected, message);
        self.finish_call(key, Err(failure));
    }

    /// Runs the call, after the user's approval if its tool requires one.
    pub(super) fn allow_call(&mut self, key: CallKey) {
        let tool = self.setup.config().tools.get(self.name_of(key));
        if tool.is_some_and(|tool| tool.requires_approval) {
            let schema = tool.and_then(|tool| tool.definition.parameters.clone());
            self.set_status(key, ToolCallStatus::AwaitingApproval, None);
            self.record(BlockContent::ApprovalAsked {
                call: key,
                schema: schema.unwrap_or_default(),
                deadline: self.asking_ends(),
            });
            return self.emit(EffectId::Approve(key));
        }
        self.run_call(key);
    }

    /// Returns whether the answer was cut off at the most tokens that it may have.
    fn ran_out_of_tokens(&self) -> bool {
        let stop_reason = self.transcript.summary().stop_reason.as_deref();
        stop_reason.and_then(Incomplete::of) == Some(Incomplete::Length)
    }

    /// Returns whether the answer was cut off within the call's arguments: the call is the last item of the answer, and
    /// its arguments are missing or not valid JSON.
    fn is_cut_by_length(&self, call: &LiveCall, raw: &str) -> bool {
        let is_last = self.transcript.calls().last().map(|last| last.key) == Some(call.key);
        let is_whole = !raw.trim().is_empty() && parse_arguments(raw).is_ok();
        is_last && !is_whole && self.ran_out_of_tokens()
    }

    /// The user stops one call.
    pub(in crate::run) fn stop_call(&mut self, key: CallKey) {
        self.withdraw(EffectId::Approve(key));
        self.withdraw(EffectId::Tool(key));
        let message = "the user stopped this call; the others went on";
        let failure = ToolFailure::new(ToolFailureKind::Cancelled, message);
        self.finish_call(key, Err(failure));
    }

    /// Reports that the call cannot be stopped: it has ended, or does not exist.
    pub(in crate::run) fn nothing_to_stop(&mut self, key: CallKey) {
        let effect = EffectId::Tool(key);
        self.event(RunEvent::AnswerDropped { effect });
    }

    pub(in crate::run) fn has_open_call(&self, key: CallKey) -> bool {
        let call = self.transcript.call(key);
        call.is_some_and(|call| !call.status.is_final())
    }

    /// The result of a call comes later.
    pub(in crate::run) fn defer_call(&mut self, key: CallKey) {
        self.end_questions(key);
        let effect = EffectId::Tool(key);
        self.answered(effect);
        self.effects.set(effect, EffectStage::Deferred);
        let timeout = self.setup.config().timeouts.deferred;
        self.clocks.set_from_now(TimerKey::Tool(key), timeout);
        let deadline = self.clocks.deadline(TimerKey::Tool(key));
        self.record(BlockContent::Deferred {
            call: key,
            deadline,
        });
        self.set_status(key, ToolCallStatus::Deferred, None);
        self.report_pending(effect, Some(EffectStage::Deferred));
    }

    /// Runs the call, or lets it wait until there is room for it.
    pub(super) fn run_call(&mut self, key: CallKey) {
        let effect = EffectId::Tool(key);
        if self.has_room_for_a_tool() {
            self.set_status(key, ToolCallStatus::Executing, None);
            return self.emit(effect);
        }
        self.effects.set(effect, EffectStage::Waiting);
        if !self.is_call(key, ToolCallStatus::Pending) {
            self.set_status(key, ToolCallStatus::Pending, None);
        }
    }

    /// Checks that the arguments that the user put instead of the model's fit the tool.
    ///
    /// # Errors
    /// The arguments do not fit.
    pub(in crate::run) fn check_edit(
        &self,
        key: CallKey,
        decision: &Decision,
    ) -> Result<(), Rejection> {
        match (decision, self.transcript.call(key)) {
            (Decision::Edited { arguments }, Some(call)) => self
                .setup
                .config()
                .tools
                .check(&call.name, arguments)
                .map(drop),
            _ => Ok(()),
        }
    }

    /// Applies the user's decision on a call that waits for approval.
    pub(in crate::run) fn decide_call(&mut self, key: CallKey, decision: Decision) {
        if !self.is_call(key, ToolCallStatus::AwaitingApproval) {
            return;
        }
        self.answered(EffectId::Approve(key));
        self.record(BlockContent::Approval {
            call: key,
            decision: decision.clone(),
        });
        match decision {
            Decision::Granted => self.run_call(key),
            Decision::Edited { arguments } => {
                if let Some(call) = self.transcript.call_mut(key) {
                    call.edited = Some(arguments);
                }
                self.run_call(key);
            }
            Decision::Denied { reason } => {
                let reason = reason.map_or_else(String::new, |reason| format!(": {reason}"));
                let message = format!("the user did not allow the call{reason}");
                self.finish_call(key, Err(ToolFailure::new(ToolFailureKind::Denied, message)));
            }
        }
    }

    /// Returns whether the call has this `status`.
    pub(in crate::run) fn is_call(&self, key: CallKey, status: ToolCallStatus) -> bool {
        let call = self.transcript.call(key);
        call.is_some_and(|call| call.status == status)
    }

    /// A call has come to its end.
    pub(in crate::run) fn finish_call(&mut self, key: CallKey, result: ToolResult) {
        self.end_questions(key);
        self.end_hooks(key);
        self.answered(EffectId::Tool(key));
        let Some(call) = self
            .transcript
            .call(key)
            .filter(|call| !call.status.is_final())
        else {
            return;
        };
        let calls = self.transcript.calls();
        let index = calls.iter().position(|call| call.key == key).unwrap_or(0);
        let block = BlockContent::ToolResult {
            call: key,
            tool_call_id: call.id.clone(),
            content: shown_result(call, &result),
            is_error: result.is_err(),
            message_id: Some(MessageId::of_result(&self.ids.run_id, index)),
            failure: result.as_ref().err().cloned(),
            attached: Attached::default(),
        };
        if matches!(
            call.status,
            ToolCallStatus::Executing | ToolCallStatus::Deferred
        ) {
            let digest = call_digest(&call.name, self.written_arguments(call));
            self.budget.note_result(digest, &result);
        }
        self.record(block);
        let status = match &result {
            Ok(_) => ToolCallStatus::Completed,
            Err(failure) => match failure.kind {
                ToolFailureKind::Denied => ToolCallStatus::Denied,
                ToolFailureKind::Cancelled => ToolCallStatus::Cancelled,
                _ => ToolCallStatus::Failed,
            },
        };
        self.set_status(key, status, Some(result));
    }

    fn set_status(&mut self, key: CallKey, status: ToolCallStatus, result: Option<ToolResult>) {
        let Some(call) = self.transcript.call_mut(key) else {
            return;
        };
        call.status = status;
        call.result.clone_from(&result);
        let update = ToolCallUpdate {
            call: key,
            tool_call_id: call.id.clone(),
            name: call.name.clone(),
            status,
            result,
        };
        self.event(RunEvent::ToolCallUpdate(update));
    }

    /// The call as the host is given it. Its arguments were checked when the round began; the tools may have changed
    /// since, if the run was stored in between, but the call is given out all the same, so that it gets an answer.
    pub(in crate::run) fn invocation(&self, key: CallKey) -> Option<ToolInvocation> {
        let call = self.transcript.call(key)?;
        let raw = call.edited.clone().or_else(|| call.changed.clone());
        let raw = raw.or_else(|| {
            let call = self.transcript.tool_call(call)?;
            Some(call.function.arguments.clone())
        });
        let raw = raw.unwrap_or_default();
        let value = self
            .setup
            .config()
            .tools
            .parse(&call.name, &raw)
            .unwrap_or_default();
        Some(ToolInvocation {
            call: key,
            tool_call_id: call.id.clone(),
            name: call.name.clone(),
            arguments: Arguments { raw, value },
            thread_id: self.ids.thread_id.clone(),
            turn: self.id.clone(),
            run_id: self.ids.run_id.clone(),
            attempt: call.restarts.saturating_add(1),
        })
    }
}

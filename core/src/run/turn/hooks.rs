//! Hooks: they are asked one after the other, and their answers are applied.
//!
//! Owns `changed_request`, the changed arguments and results of calls in `conversation`, and the effects of hooks. A hook
//! sees what the hooks before it have changed. Nothing that a hook must see is used before the hook has answered.

use super::Turn;
use crate::CallKey;
use crate::event::MessageContent;
use crate::run::protocol::{
    BlockContent, ChangedRequest, EffectId, Failure, HookAnswer, HookMoment, HookPlace,
    HookSubject, HookedAnswer, HookedResult, RunEvent, mark_as_refused,
};
use crate::tool::{ToolFailure, ToolFailureKind, ToolResult};
use crate::transcript::ToolCallStatus;

/// The consequence of a hook's answer.
pub(in crate::run) enum Hooked {
    /// No consequence: another hook is asked, or the call has ended.
    Waits,
    /// All hooks have looked.
    Passed,
    /// The turn is over.
    Over(Failure),
}

impl Turn {
    /// Asks the first hook of that moment. Whether there is one.
    pub(in crate::run) fn ask_hooks(&mut self, place: HookPlace) -> bool {
        self.ask_hook_from(place, 0)
    }

    fn ask_hook_from(&mut self, place: HookPlace, first: usize) -> bool {
        let moment = place.moment();
        let mut hooks = self.setup.config().hooks.iter().enumerate().skip(first);
        let next = hooks.find(|(_, hook)| hook.moments.contains(&moment));
        let Some(hook) = next.and_then(|(at, _)| u32::try_from(at).ok()) else {
            return false;
        };
        self.emit(EffectId::Hook { place, hook });
        true
    }

    /// Returns whether a hook is asked at that moment.
    pub(in crate::run) fn has_hook(&self, moment: HookMoment) -> bool {
        let mut hooks = self.setup.config().hooks.iter();
        hooks.any(|hook| hook.moments.contains(&moment))
    }

    /// The name of the hook with this number.
    pub(in crate::run) fn hook_name(&self, hook: u32) -> &str {
        let hook = usize::try_from(hook).ok();
        let hook = hook.and_then(|hook| self.setup.config().hooks.get(hook));
        hook.map_or("", |hook| &hook.name)
    }

    /// Returns the subject for a hook that inspects an answer or a call.
    pub(in crate::run) fn hook_subject(&self, place: HookPlace) -> Option<HookSubject> {
        Some(match place {
            HookPlace::Request { .. } => return None,
            HookPlace::Answer { hop } => HookSubject::Answer(HookedAnswer {
                thread_id: self.ids.thread_id.clone(),
                turn: self.id.clone(),
                hop,
                text: self.text_to_review(),
            }),
            HookPlace::Call(key) => HookSubject::Call(self.invocation(key)?),
            HookPlace::Result(key) => {
                let held = self.transcript.call(key)?.result.as_ref();
                let (content, is_error) = match held? {
                    Ok(output) => (output.content.clone(), false),
                    Err(failure) => (MessageContent::Text(failure.message.clone()), true),
                };
                HookSubject::Result(HookedResult {
                    invocation: self.invocation(key)?,
                    content,
                    is_error,
                })
            }
        })
    }

    /// Applies a hook's answer.
    pub(in crate::run) fn hooked(
        &mut self,
        place: HookPlace,
        hook: u32,
        answer: HookAnswer,
    ) -> Hooked {
        self.answered(EffectId::Hook { place, hook });
        match (answer, place) {
            (
                HookAnswer::ChangeRequest {
                    instructions,
                    messages,
                },
                _,
            ) => {
                let changed = &mut self.changed_request;
                changed.instructions = instructions.or(changed.instructions.take());
                changed.messages = messages.or(changed.messages.take());
            }
            (HookAnswer::ChangeArguments { arguments }, HookPlace::Call(key)) => {
                if let Err(rejection) = self
                    .setup
                    .config()
                    .tools
                    .check(self.name_of(key), &arguments)
                {
                    let reason = format!("the arguments that it gave do not fit: {rejection}");
                    return Hooked::Over(self.hook_refuses(place, hook, reason));
                }
                if let Some(call) = self.transcript.call_mut(key) {
                    call.changed = Some(arguments);
                }
            }
            (HookAnswer::ChangeResult { output }, HookPlace::Result(key)) => {
                if let Some(call) = self.transcript.call_mut(key) {
                    call.result = Some(Ok(output));
                }
            }
            (HookAnswer::Refused { reason }, _) => {
                return self.refused_by_hook(place, hook, &reason);
            }
            (HookAnswer::Failed { message }, _) => {
                let reason = format!("it failed: {message}");
                return Hooked::Over(self.hook_refuses(place, hook, reason));
            }
            (HookAnswer::GoOn | HookAnswer::ChangeArguments { .. }, _)
            | (HookAnswer::ChangeResult { .. }, _) => {}
        }
        let next = usize::try_from(hook).map_or(usize::MAX, |hook| hook.saturating_add(1));
        if self.ask_hook_from(place, next) {
            Hooked::Waits
        } else {
            Hooked::Passed
        }
    }

    fn refused_by_hook(&mut self, place: HookPlace, hook: u32, reason: &str) -> Hooked {
        let failure = self.hook_refuses(place, hook, reason.to_owned());
        let (key, kind, what) = match place {
            HookPlace::Request { .. } | HookPlace::Answer { .. } => return Hooked::Over(failure),
            HookPlace::Call(key) => (key, ToolFailureKind::Denied, "the call was not run"),
            HookPlace::Result(key) => (key, ToolFailureKind::Error, "the result was withheld"),
        };
        let message = format!("{what}: {reason}");
        self.finish_call(key, Err(ToolFailure::new(kind, message)));
        Hooked::Waits
    }

    /// Reports that a hook refuses. Returns the turn's failure if the refusal ends the turn.
    fn hook_refuses(&mut self, place: HookPlace, hook: u32, reason: String) -> Failure {
        let moment = place.moment();
        let hook = self.hook_name(hook).to_owned();
        let tool_call_id = match place {
            HookPlace::Call(key) | HookPlace::Result(key) => {
                self.transcript.call(key).map(|call| call.id.clone())
            }
            HookPlace::Request { .. } | HookPlace::Answer { .. } => None,
        };
        self.event(RunEvent::HookRefused {
            hook: hook.clone(),
            moment,
            reason: reason.clone(),
            tool_call_id,
        });
        Failure::RefusedByHook {
            hook,
            moment,
            reason,
        }
    }

    /// A hook has taken too long.
    pub(in crate::run) fn hook_timed_out(&mut self, place: HookPlace) -> Failure {
        let asked = self.hooks_asked(|at| at == place);
        let mut late = 0;
        for id in asked {
            self.withdraw(id);
            if let EffectId::Hook { hook, .. } = id {
                late = hook;
            }
        }
        self.hook_refuses(place, late, "it took too long".to_owned())
    }

    /// Ends the hooks of a call that is over.
    pub(super) fn end_hooks(&mut self, key: CallKey) {
        let is_of_call =
            |place| matches!(place, HookPlace::Call(call) | HookPlace::Result(call) if call == key);
        for id in self.hooks_asked(is_of_call) {
            self.withdraw(id);
        }
    }

    /// Ends the hooks of a request that will not be sent.
    pub(in crate::run) fn end_request_hooks(&mut self) {
        for id in self.hooks_asked(|place| matches!(place, HookPlace::Request { .. })) {
            self.withdraw(id);
        }
    }

    fn hooks_asked(&self, wanted: impl Fn(HookPlace) -> bool) -> Vec<EffectId> {
        let ids = self.effects.iter().map(|(id, _)| id);
        ids.filter(|id| matches!(id, EffectId::Hook { place, .. } if wanted(*place)))
            .collect()
    }

    /// Returns the request that hooks put instead of the hop's own.
    pub(in crate::run) fn changed_request(&self) -> &ChangedRequest {
        &self.changed_request
    }

    /// Handles a tool's result, which counts once the hooks have inspected it.
    pub(in crate::run) fn take_result(&mut self, key: CallKey, result: ToolResult) {
        if !self.has_hook(HookMoment::AfterTool) {
            return self.finish_call(key, result);
        }
        self.end_questions(key);
        self.answered(EffectId::Tool(key));
        if let Some(call) = self.transcript.call_mut(key) {
            call.result = Some(result);
        }
        self.ask_hooks(HookPlace::Result(key));
    }

    /// Returns whether the tool has given a result that hooks are still to look at.
    pub(in crate::run) fn holds_result(&self, key: CallKey) -> bool {
        let call = self.transcript.call(key);
        call.is_some_and(|call| !call.status.is_final() && call.result.is_some())
    }

    /// All hooks have looked at a call, or at its result: it is run, or done.
    pub(in crate::run) fn hooks_passed(&mut self, place: HookPlace) {
        match place {
            HookPlace::Call(key) if self.is_call(key, ToolCallStatus::Pending) => {
                let call = self.transcript.call(key);
                let arguments = call.and_then(|call| call.changed.clone());
                // The tool is not to begin before it is stored that it has.
                self.record(BlockContent::HooksPassed {
                    call: key,
                    arguments,
                });
                self.allow_call(key);
            }
            HookPlace::Result(key) => {
                let held = self
                    .transcript
                    .call(key)
                    .and_then(|call| call.result.clone());
                if let Some(result) = held {
                    self.finish_call(key, result);
                }
            }
            _ => {}
        }
    }

    /// Returns whether hooks must inspect the answer: there are hooks, and the answer has text.
    pub(in crate::run) fn is_to_be_reviewed(&self) -> bool {
        self.has_hook(HookMoment::AfterAnswer) && !self.text_to_review().is_empty()
    }

    /// Returns the text of an answer that the hooks inspect.
    fn text_to_review(&self) -> String {
        let typed = self.final_calls().first().and_then(|call| {
            let call = self.transcript.call(*call)?;
            Some(self.written_arguments(call).to_owned())
        });
        match (typed, self.answer_text()) {
            (Some(typed), text) if text.is_empty() => typed,
            (Some(typed), text) => format!("{text}\n{typed}"),
            (None, text) => text.into_owned(),
        }
    }

    /// The answer of a stream that is over was refused, or no hook could look at it: the model is not sent it again.
    pub(in crate::run) fn refuse_answer(&mut self) {
        for message in self.mark_as_refused() {
            let message = self.transcript.message(&message).cloned();
            if let Some(message) = message.map(Box::new) {
                self.record(BlockContent::Message { message });
            }
        }
    }

    /// Marks the stream's messages as refused if hooks should have inspected them, and returns their ids.
    pub(in crate::run) fn mark_as_refused(&mut self) -> Vec<crate::MessageId> {
        if !self.has_hook(HookMoment::AfterAnswer) {
            return Vec::new();
        }
        let brought = self.transcript.messages().iter().skip(self.answer_start());
        let mut ids: Vec<_> = brought.map(|message| message.id().clone()).collect();
        ids.retain(|id| self.transcript.message_mut(id).is_some_and(mark_as_refused));
        ids
    }
}

//! What the turn waits for, as data, and the event that reports its changes.
//!
//! Owns no field and changes nothing but the queue of events.

use super::Turn;
use crate::CallKey;
use crate::Timestamp;
use crate::run::protocol::{
    EffectId, EffectStage, Pending, PendingCall, PendingKind, RunEvent, TimerKey,
};

impl Turn {
    /// Returns what waits for the user or for the app: the effects of this kind that the host has.
    pub(in crate::run) fn pending(&self) -> Vec<Pending> {
        let waiting = self.effects.iter();
        let waiting = waiting.filter(|(id, stage)| is_pending(*id, *stage));
        waiting.filter_map(|(id, _)| self.pending_at(id)).collect()
    }

    /// Returns the effect that awaits a reply under this id, and the kind of reply.
    pub(in crate::run) fn pending_effect(&self, id: &str) -> Option<(PendingKind, EffectId)> {
        let waiting = self.effects.iter();
        let mut waiting = waiting.filter(|(effect, stage)| is_pending(*effect, *stage));
        waiting.find_map(|(effect, _)| {
            let pending = self.pending_at(effect)?;
            (pending.id == id).then_some((pending.kind, effect))
        })
    }

    /// Reports all that is pending now, if this effect, which has changed from this stage, is of that kind.
    pub(super) fn report_pending(&mut self, id: EffectId, stage: Option<EffectStage>) {
        if stage.is_some_and(|stage| is_pending(id, stage)) {
            let pending = self.pending();
            self.event(RunEvent::Pending { pending });
        }
    }

    /// Returns the time at which the user who is asked now is no longer waited for.
    pub(super) fn asking_ends(&self) -> Option<Timestamp> {
        let timeout = self.setup.config().timeouts.approval?;
        Some(self.now().after(timeout))
    }

    fn pending_at(&self, id: EffectId) -> Option<Pending> {
        let deadline = |key| self.clocks.deadline(key);
        match id {
            EffectId::Approve(call) => {
                let pending = self.pending_call(call)?;
                let tool = self.setup.config().tools.get(&pending.tool);
                let schema = tool.and_then(|tool| tool.definition.parameters.clone());
                let deadline = deadline(TimerKey::Approval(call));
                Some(pending.approval(schema.unwrap_or_default(), deadline))
            }
            EffectId::Tool(call) => {
                let deadline = deadline(TimerKey::Tool(call));
                Some(self.pending_call(call)?.result(deadline))
            }
            EffectId::Ask { call, number } => {
                let question = self.questions.question(call, number)?.clone();
                let deadline = deadline(TimerKey::Question(call, number));
                Some(
                    self.pending_call(call)?
                        .question(number, question, deadline),
                )
            }
            _ => None,
        }
    }

    fn pending_call(&self, key: CallKey) -> Option<PendingCall> {
        let invocation = self.invocation(key)?;
        let arguments = invocation.arguments;
        let tools = &self.setup.config().tools;
        Some(PendingCall {
            label: tools.own_label(&invocation.name, &arguments.raw),
            tool_call_id: invocation.tool_call_id,
            tool: invocation.name,
            arguments: arguments.value,
        })
    }
}

/// Returns whether an effect at this stage waits for the user or for a late result.
fn is_pending(id: EffectId, stage: EffectStage) -> bool {
    match id {
        EffectId::Approve(_) | EffectId::Ask { .. } => stage == EffectStage::Given,
        EffectId::Tool(_) => stage == EffectStage::Deferred,
        _ => false,
    }
}

//! The checks of a stored turn: a turn that fails one was not written by a machine.
//!
//! Owns no field and changes nothing. A turn that passes keeps the invariants of a turn that was never stored.

use super::Turn;
use crate::run::protocol::{EffectId, EffectStage, HookPlace, StateKind, TimerKey};
use crate::transcript::{LiveCall, ToolCallStatus};

/// The reason why a stored turn cannot continue.
type Fault = &'static str;

fn holds(condition: bool, otherwise: Fault) -> Result<(), Fault> {
    if condition { Ok(()) } else { Err(otherwise) }
}

impl Turn {
    /// Looks whether a run in this state can be such a turn.
    ///
    /// # Errors
    /// No run writes that.
    pub(in crate::run) fn check_stored(
        &self,
        state: StateKind,
        attempt: Option<u32>,
    ) -> Result<(), Fault> {
        self.recorder.check_stored()?;
        self.clocks.check_stored()?;
        self.effects.check_stored(self.recorder.recorded())?;
        let is_given_up = state == StateKind::Completed && self.recorder.is_last();
        let fits = match self.effects.write() {
            Some(_) => self.recorder.is_writing(),
            None => self.recorder.in_flight().is_empty() || is_given_up,
        };
        holds(
            fits,
            "a write without an effect, or an effect without a write",
        )?;
        holds(self.hop < u32::MAX, "the hop has no next one")?;
        for (id, stage) in self.effects.iter() {
            self.check_effect(id, stage, state)?;
            Self::check_stage(id, stage)?;
            if let EffectId::Open { attempt: of, .. } | EffectId::Authorize { attempt: of, .. } = id
            {
                holds(attempt == Some(of), "a request of another try")?;
            }
        }
        let calls = self.transcript.calls();
        let is_twice =
            |(at, one): (usize, &LiveCall)| calls[..at].iter().any(|it| it.key == one.key);
        holds(
            !calls.iter().enumerate().any(is_twice),
            "two calls with one key",
        )?;
        self.check_awaited(state)
    }

    /// Checks that a run in this state can have this effect.
    fn check_effect(
        &self,
        id: EffectId,
        stage: EffectStage,
        state: StateKind,
    ) -> Result<(), Fault> {
        let fits = match id {
            EffectId::Persist { .. } => true,
            EffectId::Open { hop, attempt } => {
                let is_here = match state {
                    StateKind::Opening => stage != EffectStage::Live,
                    StateKind::Streaming | StateKind::Summarizing => stage == EffectStage::Live,
                    _ => false,
                };
                is_here && hop == self.hop && attempt < u32::MAX
            }
            EffectId::Authorize { hop, attempt } => {
                state == StateKind::Opening && hop == self.hop && attempt < u32::MAX
            }
            EffectId::CreateRun { hop }
            | EffectId::Trim { hop }
            | EffectId::ChooseModel { hop } => state == StateKind::Opening && hop == self.hop,
            EffectId::Output { hop } => state == StateKind::Decoding && hop == self.hop,
            EffectId::Hook { place, .. } => match place {
                HookPlace::Request { hop } => state == StateKind::Opening && hop == self.hop,
                HookPlace::Answer { hop } => state == StateKind::Reviewing && hop == self.hop,
                HookPlace::Call(call) | HookPlace::Result(call) => {
                    state == StateKind::ExecutingTools && self.has_open_call(call)
                }
            },
            EffectId::Approve(call) => {
                state == StateKind::ExecutingTools
                    && self.is_call(call, ToolCallStatus::AwaitingApproval)
            }
            EffectId::Tool(call) => {
                let status = match stage {
                    EffectStage::Deferred => ToolCallStatus::Deferred,
                    EffectStage::Waiting => ToolCallStatus::Pending,
                    _ => ToolCallStatus::Executing,
                };
                state == StateKind::ExecutingTools && self.is_call(call, status)
            }
            EffectId::Ask { call, number } => {
                state == StateKind::ExecutingTools
                    && self.is_call(call, ToolCallStatus::Executing)
                    && self.questions.question(call, number).is_some()
            }
        };
        holds(fits, "an effect that its state does not have")
    }

    /// Checks that an effect can have come to its stage.
    fn check_stage(id: EffectId, stage: EffectStage) -> Result<(), Fault> {
        let is_tool = matches!(id, EffectId::Tool(_));
        let fits = match stage {
            EffectStage::Held { .. } => !matches!(id, EffectId::Persist { .. }),
            EffectStage::Queued | EffectStage::Given => true,
            EffectStage::Live => matches!(id, EffectId::Open { .. }),
            EffectStage::Deferred | EffectStage::Waiting => is_tool,
            EffectStage::Offline => {
                matches!(id, EffectId::Open { .. } | EffectId::CreateRun { .. })
            }
        };
        holds(fits, "an effect that has come further than it can")
    }

    /// Checks that the turn has the effects that its state waits for.
    fn check_awaited(&self, state: StateKind) -> Result<(), Fault> {
        let has = |wanted: &dyn Fn(EffectId) -> bool| self.effects.iter().any(|(id, _)| wanted(id));
        let awaits = match state {
            StateKind::Idle | StateKind::Completed | StateKind::Interrupted => true,
            StateKind::Opening => has(&|id| !matches!(id, EffectId::Persist { .. })),
            StateKind::Streaming => has(&|id| matches!(id, EffectId::Open { .. })),
            StateKind::Summarizing => {
                self.is_summarizing() && has(&|id| matches!(id, EffectId::Open { .. }))
            }
            StateKind::Waiting => self.clocks.runs(TimerKey::Retry) || self.network.is_offline(),
            StateKind::Reviewing => has(&|id| matches!(id, EffectId::Hook { .. })),
            StateKind::Decoding => {
                has(&|id| matches!(id, EffectId::Output { .. }))
                    && self.output_to_decode().is_some()
            }
            StateKind::ExecutingTools => {
                let open = self.transcript.calls().iter();
                let mut open = open.filter(|call| !call.status.is_final()).peekable();
                open.peek().is_some()
                    && open.all(|call| {
                        has(&|id| match id {
                            EffectId::Approve(key) | EffectId::Tool(key) => key == call.key,
                            EffectId::Hook { place, .. } => matches!(
                                place,
                                HookPlace::Call(key) | HookPlace::Result(key) if key == call.key
                            ),
                            _ => false,
                        })
                    })
            }
        };
        holds(awaits, "a run that waits for nothing")
    }
}

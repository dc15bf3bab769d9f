use super::active::Active;
use super::edges::on;
use super::effect::{Decision, EffectId};
use super::fault::fault;
use super::opening::Opening;
#[cfg(doc)]
use super::timer::TimerKey;
use super::tools::Next;
use super::typed::{Run, next};
use crate::conversation::ToolCallStatus;
use crate::tool::{ToolFailure, ToolFailureKind, ToolResult};
use crate::{CallKey, Timestamp};
use serde::{Deserialize, Serialize};

/// Tools are running, or wait for the person to allow them.
#[derive(Debug, Serialize, Deserialize)]
#[cfg_attr(feature = "model-check", derive(Clone))]
#[non_exhaustive]
pub struct ExecutingTools {}

impl Active for ExecutingTools {}

next! {
    /// What the end of a call leads to.
    Settled {
        /// Others are still under way.
        ExecutingTools,
        /// All are done: the next hop is on its way.
        Opening,
    }
}

impl Run<ExecutingTools> {
    /// A tool came to an end. A second result for the same call, or one for a call that does not run, changes nothing.
    pub fn tool_finished(mut self, call: CallKey, result: ToolResult, now: Timestamp) -> Settled {
        self.core.tick(now);
        if self.core.is_call(call, ToolCallStatus::Executing) || fault!(SecondResultWins) {
            self.core.finish_call(call, result);
        }
        self.settled()
    }

    /// The person decided whether a tool may run.
    pub fn decided(mut self, call: CallKey, decision: Decision, now: Timestamp) -> Settled {
        self.core.tick(now);
        self.core.decide_call(call, decision);
        if fault!(StuckAfterDenial) {
            return self.into();
        }
        self.settled()
    }

    /// A tool has taken too long ([`TimerKey::Tool`]).
    pub fn tool_timed_out(mut self, call: CallKey, now: Timestamp) -> Settled {
        self.core.tick(now);
        if self.core.is_call(call, ToolCallStatus::Executing) {
            self.core.withdraw(EffectId::Tool(call));
            let message = "the tool took too long and was stopped";
            let failure = ToolFailure::new(ToolFailureKind::TimedOut, message);
            self.core.finish_call(call, Err(failure));
        }
        self.settled()
    }

    pub(super) fn settled(mut self) -> Settled {
        match self.core.go_on() {
            Next::Open => self.goto(on::Continue, Opening::new(0)).into(),
            Next::Execute | Next::Over(_) => self.into(),
        }
    }
}

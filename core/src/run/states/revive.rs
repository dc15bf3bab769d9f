//! Revives a run whose host died, in another host.

use super::Run;
use super::any_run::AnyRun;
use super::data::{
    Completed, Decoding, ExecutingTools, Interrupted, Opening, Reviewing, Streaming, Summarizing,
    Waiting,
};
use super::fall_back::Prepared;
use crate::Timestamp;
use crate::run::protocol::EffectStage;
use crate::run::protocol::{EffectId, Failure};
use crate::tool::{ToolFailure, ToolFailureKind};

impl AnyRun {
    /// Continues the turn after its host died.
    pub(crate) fn revived(self, now: Timestamp) -> Self {
        match self {
            Self::Idle(run) => run.into(),
            Self::Opening(run) => run.revive(),
            Self::Waiting(run) => run.revive(now),
            Self::Summarizing(run) => run.revive(),
            Self::Streaming(run) => run.revive(now),
            Self::Reviewing(run) => run.revive(),
            Self::Decoding(run) => run.revive(),
            Self::ExecutingTools(run) => run.revive(),
            Self::Interrupted(run) => run.revive(),
            Self::Completed(run) => run.revive(),
        }
    }
}

impl Run<Opening> {
    fn revive(mut self) -> AnyRun {
        // A request that may have been sent has shown nothing yet: it is sent again.
        self.turn.give_again();
        self.without_foreign_stream().into()
    }
}

impl Run<Waiting> {
    fn revive(mut self, now: Timestamp) -> AnyRun {
        self.turn.give_again();
        if self.turn.has_foreign_stream() {
            return match self.try_now(now) {
                Prepared::Opening(run) => run.without_foreign_stream().into(),
                Prepared::Completed(run) => run.into(),
            };
        }
        // The old host's network is not the new one's.
        self.network_available(now).into()
    }
}

impl Run<Summarizing> {
    fn revive(mut self) -> AnyRun {
        self.turn.give_again();
        self.host_died().into()
    }
}

impl Run<Streaming> {
    fn revive(mut self, now: Timestamp) -> AnyRun {
        self.turn.give_again();
        self.host_died(now).into()
    }
}

impl Run<Reviewing> {
    fn revive(mut self) -> AnyRun {
        // A hook that looks twice sees the same.
        self.turn.give_again();
        self.into()
    }
}

impl Run<Decoding> {
    fn revive(mut self) -> AnyRun {
        // Decoding twice has the same result as decoding once.
        self.turn.give_again();
        self.into()
    }
}

impl Run<ExecutingTools> {
    fn revive(mut self) -> AnyRun {
        let turn = &mut *self.turn;
        turn.forget_asking();
        for effect in turn.effects_at(EffectStage::Given) {
            let EffectId::Tool(call) = effect else {
                continue;
            };
            if turn.may_run_again(call) {
                turn.run_again(call);
            } else {
                let message =
                    "the app stopped while the tool ran: whether it did its work is not known";
                let failure = ToolFailure::new(ToolFailureKind::OutcomeUnknown, message);
                turn.finish_call(call, Err(failure));
            }
        }
        turn.give_again();
        self.settled().into()
    }
}

impl Run<Interrupted> {
    fn revive(mut self) -> AnyRun {
        self.turn.give_again();
        if self.turn.is_of_another_dialect() {
            let message = "the agent that asked is not the one that is there now".to_owned();
            return self.fail(Failure::Connection { message }).into();
        }
        self.into()
    }
}

impl Run<Completed> {
    fn revive(mut self) -> AnyRun {
        self.turn.give_again();
        self.into()
    }
}

use super::core::Core;
use super::effect::{Effect, EffectId};
use super::output::{Output, RunEvent};
use super::pending::Stage;
use super::steering::SteeringRefusal;
use super::typed::{Run, State};

/// What a host that goes away leaves behind.
#[derive(Clone, Debug, PartialEq)]
#[must_use]
pub struct Disposed {
    /// The run as it was, for another host to [`revive`](super::RunMachine::revive); without the messages that waited
    /// to be taken in, which are given back here. A write that is under way counts as stored there, so carry it to its
    /// end.
    pub snapshot: String,
    /// What this host still has to do: close the stream, stop the tools, give back what the person typed.
    pub outputs: Vec<Output>,
}

impl<S: State> Run<S> {
    /// The host goes away. The turn does not end by it: it can go on elsewhere, from the snapshot.
    pub fn dispose(mut self) -> Disposed {
        self.leave()
    }

    pub(super) fn leave(&mut self) -> Disposed {
        // What the person typed here goes back to them here, and to nobody else.
        let steering = std::mem::take(&mut self.core.steering);
        let mut outputs = self.core.stops();
        outputs.extend(steering.into_iter().map(|message| {
            Output::Event(RunEvent::SteeringRefused {
                message: Box::new(message),
                reason: SteeringRefusal::Disposed,
            })
        }));
        Disposed {
            snapshot: self.snapshot(),
            outputs,
        }
    }
}

impl EffectId {
    /// Whether the host can be told to stop what it does under this id.
    pub(super) fn is_stoppable(self) -> bool {
        matches!(self, Self::Open { .. } | Self::Tool(_) | Self::Approve(_))
    }

    /// What tells the host so.
    pub(super) fn stop(self) -> Effect {
        match self {
            Self::Open { .. } => Effect::CloseStream,
            _ => Effect::CancelTool,
        }
    }
}

impl Core {
    /// What stops all that the host has begun.
    fn stops(&self) -> Vec<Output> {
        self.pending
            .iter()
            .filter(|(id, stage)| id.is_stoppable() && matches!(stage, Stage::Given | Stage::Live))
            .map(|(id, _)| Output::Effect(id, id.stop()))
            .collect()
    }
}

use super::Run;
use super::data::State;
use crate::run::protocol::{Output, RunEvent, SteeringRefusal};

/// What a host that goes away leaves behind.
#[derive(Clone, Debug, PartialEq)]
#[must_use]
pub struct Disposed {
    /// The run as it was, for another host to [`revive`](crate::run::RunMachine::revive); without the messages that waited
    /// to be taken in, which are given back here. A write that is under way counts as stored there, so carry it to its
    /// end.
    pub snapshot: String,
    /// What this host still has to do: close the stream, stop the tools, give back what the user typed.
    pub outputs: Vec<Output>,
}

impl<S: State> Run<S> {
    /// The host goes away. The turn does not end by it: it can go on elsewhere, from the snapshot.
    pub fn dispose(mut self) -> Disposed {
        self.leave()
    }

    pub(super) fn leave(&mut self) -> Disposed {
        // What the user typed here goes back to them here, and to nobody else.
        let steering = self.turn.take_steering();
        let mut outputs = self.turn.stops();
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

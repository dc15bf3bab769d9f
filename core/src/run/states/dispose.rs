use super::Run;
use super::data::State;
use crate::run::protocol::{Output, RunEvent, SteeringRefusal};

/// The result of disposing of a run.
#[derive(Clone, Debug, PartialEq)]
#[must_use]
pub struct Disposed {
    /// The run as it was, for another host to [`revive`](crate::run::RunMachine::revive). It lacks the messages that
    /// waited to be taken in, which are returned here. The snapshot counts a write in progress as stored, so complete
    /// the write.
    pub snapshot: String,
    /// The remaining work of this host: close the stream, stop the tools, return the user's messages.
    pub outputs: Vec<Output>,
}

impl<S: State> Run<S> {
    /// Disposes of the run, for a host that goes away. The turn does not end: another host can continue it from the
    /// snapshot.
    pub fn dispose(mut self) -> Disposed {
        self.leave()
    }

    pub(super) fn leave(&mut self) -> Disposed {
        // Messages that the user has typed on this host are returned only here.
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

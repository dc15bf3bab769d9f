//! Continues a turn from a snapshot, or from a claim in a store.

use crate::agent::Agent;
use crate::answer::output::Output;
use crate::app::setup::Setup;
use crate::base::Clock;
use crate::definition::parts::AgentParts;
use crate::durable::StoredTurn;
use crate::error::{Error, ErrorKind};
use crate::run::turn::Turn;
use crate::start::begin::Begin;
use crate::start::runner::Runner;
use crate::start::when_busy::WhenBusy;
use crate::turn::events::TurnEvents;
use crate::turn::journaled::JournaledRun;
use std::sync::Arc;
use stepwell_core::event::Message;
use stepwell_core::registry::ThreadKey;
use stepwell_core::run::{SnapshotError, StateKind};
use stepwell_core::session;

/// Why a stored turn cannot be revived.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum ReviveError {
    /// The turn's snapshot cannot be read.
    #[error(transparent)]
    Snapshot(#[from] SnapshotError),
    /// The turn had not begun.
    #[error("the stored turn had not begun: send its message instead")]
    NotStarted,
}

impl From<ReviveError> for Error {
    fn from(error: ReviveError) -> Self {
        Self::of_source(ErrorKind::Misuse, error)
    }
}

impl<T: Output> Agent<(), T> {
    /// Continues a turn from the snapshot that [`Turn::suspend`](crate::Turn::suspend) or
    /// [`TurnHandle::rested`](crate::turn::TurnHandle::rested) returned, in this process or a later one, in its own
    /// conversation. The result of a deferred call is then given to [`Turn::resolve_call`](crate::Turn::resolve_call).
    /// The user is asked again what they had not answered.
    ///
    /// A request whose answer had not begun is sent again. An open stream is resumed where the backend can; otherwise
    /// the answer so far stays, marked as [`CUT`](stepwell_core::run::CUT), and the model is asked again. A tool that
    /// had begun is run again only if it is idempotent; otherwise the model learns that the tool's outcome is unknown.
    /// The conversation is the snapshot's. An agent with a [store](crate::AgentBuilder::store) continues from the
    /// stored turn, which is at least as new; a turn that has ended there, or that another owner has, fails.
    ///
    /// # Errors
    /// The text is no snapshot, a snapshot of another version, or the snapshot of a turn that had not begun.
    ///
    /// # Panics
    /// Outside of a tokio runtime.
    pub fn revive(&self, snapshot: &str) -> Result<Turn<T>, Error> {
        Ok(self.revive_in("", "", snapshot)?)
    }

    /// Continues a turn, as [`revive`](Self::revive) does, of a conversation in a room of a server.
    ///
    /// # Errors
    /// As for [`revive`](Self::revive).
    ///
    /// # Panics
    /// Outside of a tokio runtime.
    pub fn revive_in(
        &self,
        server: &str,
        room: &str,
        snapshot: &str,
    ) -> Result<Turn<T>, ReviveError> {
        let (runner, run, setup) = self.parts.revived((server, room), |setup| {
            let (journal, now) = (setup.journal.as_ref(), Clock::new().now());
            JournaledRun::revive(snapshot, &setup.config, journal, now)
        })?;
        let begin = Begin::Revived {
            snapshot: snapshot.to_owned(),
            run: Box::new(run),
            setup,
        };
        Ok(Turn::begin(&runner, begin, WhenBusy::Fail))
    }

    /// Continues a turn that the program itself has [claimed](crate::store::TurnStore::claim) in the agent's
    /// [store](crate::AgentBuilder::store), from the checkpoint that the claim returned, and from the turn's
    /// [path](crate::store::TurnStore::path) as it is in the store after the claim. `shown` are the messages of the turn
    /// that the user was shown before its host died, for a program that keeps them: text that is not stored stays, as
    /// [`Input::Shown`](stepwell_core::run::Input::Shown) says. The program holds a [`Lease`](crate::store::Lease) of
    /// the owner itself.
    ///
    /// # Errors
    /// The text is no checkpoint, a checkpoint of another version, or it does not fit the path.
    ///
    /// # Panics
    /// Outside of a tokio runtime.
    pub fn revive_claimed(
        &self,
        turn: StoredTurn,
        checkpoint: &str,
        path: &[session::Turn],
        shown: Vec<Message>,
    ) -> Result<TurnEvents, ReviveError> {
        let ThreadKey { server, room, .. } = &turn.key.thread;
        let (runner, run, setup) = self.parts.revived((server, room), |setup| {
            let (journal, now) = (setup.journal.as_ref(), Clock::new().now());
            JournaledRun::revive_stored(checkpoint, path, &setup.config, journal, now)
        })?;
        let begin = Begin::Claimed {
            turn,
            // A program that claims turns itself holds the lease itself.
            lease: None,
            run: Box::new(run),
            setup,
            shown,
        };
        Ok(runner.begin_if_free(begin, WhenBusy::Fail))
    }
}

impl AgentParts {
    /// Returns the agent on the thread of this key.
    pub(crate) fn on(&self, key: ThreadKey) -> Runner {
        let thread = self.threads.find(key, &self.shared.registration);
        Runner::new(self.clone(), thread)
    }

    /// Reads a stored run, and returns it with the agent on its thread.
    fn revived(
        &self,
        (server, room): (&str, &str),
        read: impl FnOnce(&Setup) -> Result<JournaledRun, SnapshotError>,
    ) -> Result<(Runner, JournaledRun, Arc<Setup>), ReviveError> {
        let setup = self.turn_setup(self.threads.stored.is_some());
        let run = read(&setup)?;
        let machine = &run.machine;
        if machine.state() == StateKind::Idle {
            return Err(ReviveError::NotStarted);
        }
        let thread = machine.thread_id().cloned().unwrap_or_default();
        Ok((self.on(ThreadKey::new(server, room, thread)), run, setup))
    }
}

//! A run whose state is known at run time only.

use super::Run;
use super::data::{
    Completed, Decoding, ExecutingTools, Idle, Interrupted, Opening, Reviewing, Streaming,
    Summarizing, Waiting,
};
use super::dispose::Disposed;
use crate::run::protocol::ticket::Ticket;
use crate::run::protocol::{Output, StateKind};
use crate::run::turn::Turn;

macro_rules! any_run {
    ($( $(#[$doc:meta])* $state:ident, )*) => {
        /// A run in any state: [`wake`](Run::wake) and restoring a stored run return one.
        ///
        /// Match it to continue with the typed run. Every enum of next states converts to one with `into()`. A
        /// [`RunMachine`](crate::run::RunMachine) is built from one, and returns it with
        /// [`into_run`](crate::run::RunMachine::into_run).
        #[derive(Debug)]
        #[must_use]
        pub enum AnyRun {
            $( $(#[$doc])* $state(Run<$state>), )*
        }

        $(impl From<Run<$state>> for AnyRun {
            fn from(run: Run<$state>) -> Self {
                Self::$state(run)
            }
        })*

        impl AnyRun {
            /// The host goes away.
            pub(in crate::run) fn leave(&mut self) -> Disposed {
                match self {
                    $( Self::$state(run) => run.leave(), )*
                }
            }

            #[inline]
            pub(in crate::run) fn turn(&self) -> &Turn {
                match self {
                    $( Self::$state(run) => run.turn(), )*
                }
            }

            #[inline]
            pub(in crate::run) fn turn_mut(&mut self) -> &mut Turn {
                match self {
                    $( Self::$state(run) => run.turn_mut(), )*
                }
            }

            /// Returns a copy of the run.
            pub(in crate::run) fn fork(&self) -> Self {
                match self {
                    $( Self::$state(run) => Self::$state(run.fork()), )*
                }
            }

            /// The state's name.
            #[must_use]
            pub fn kind(&self) -> StateKind {
                match self {
                    $( Self::$state(_) => StateKind::$state, )*
                }
            }

            /// Takes the next thing for the host; see [`Run::poll_output`].
            #[must_use]
            pub fn poll_output(&mut self) -> Option<Output<Ticket>> {
                match self {
                    $( Self::$state(run) => run.poll_output(), )*
                }
            }

            /// The run as text; see [`Run::snapshot`].
            #[must_use]
            pub fn snapshot(&self) -> String {
                match self {
                    $( Self::$state(run) => run.snapshot(), )*
                }
            }

            /// Returns what is stored in addition to the turn's blocks; see [`Run::checkpoint`].
            #[must_use]
            pub fn checkpoint(&self) -> Option<String> {
                match self {
                    $( Self::$state(run) => run.checkpoint(), )*
                }
            }
        }
    };
}

any_run! {
    /// The run has not started.
    Idle,
    /// A request is on its way.
    Opening,
    /// A request failed and is tried again.
    Waiting,
    /// A model writes a summary of the conversation.
    Summarizing,
    /// The answer is coming.
    Streaming,
    /// Hooks look at the answer.
    Reviewing,
    /// The host decodes the typed answer.
    Decoding,
    /// Tools are running, or wait for the user to allow them.
    ExecutingTools,
    /// The agent asks the user.
    Interrupted,
    /// The turn is over.
    Completed,
}

/// Makes an enum of the runs that a call can lead to.
macro_rules! next {
    ($(#[$doc:meta])* $name:ident { $( $(#[$variant_doc:meta])* $state:ident ),* $(,)? }) => {
        $(#[$doc])*
        #[derive(Debug)]
        #[must_use]
        pub enum $name {
            $( $(#[$variant_doc])* $state(crate::run::states::Run<crate::run::states::data::$state>), )*
        }

        $(impl From<crate::run::states::Run<crate::run::states::data::$state>> for $name {
            fn from(run: crate::run::states::Run<crate::run::states::data::$state>) -> Self {
                Self::$state(run)
            }
        })*

        impl From<$name> for crate::run::states::any_run::AnyRun {
            fn from(next: $name) -> Self {
                match next {
                    $( $name::$state(run) => run.into(), )*
                }
            }
        }

        impl $name {
            /// The state's name.
            #[must_use]
            pub fn kind(&self) -> crate::run::protocol::StateKind {
                match self {
                    $( Self::$state(_) => crate::run::protocol::StateKind::$state, )*
                }
            }

            /// Takes the next thing for the host; see [`Run::poll_output`](crate::run::Run::poll_output).
            #[must_use]
            pub fn poll_output(
                &mut self,
            ) -> Option<crate::run::protocol::Output<crate::run::protocol::ticket::Ticket>> {
                match self {
                    $( Self::$state(run) => run.poll_output(), )*
                }
            }

            /// Returns the present conversation; see [`Run::transcript`](crate::run::Run::transcript).
            #[must_use]
            pub fn transcript(&self) -> &crate::transcript::Transcript {
                match self {
                    $( Self::$state(run) => run.transcript(), )*
                }
            }

            /// The run as text; see [`Run::snapshot`](crate::run::Run::snapshot).
            #[must_use]
            pub fn snapshot(&self) -> String {
                match self {
                    $( Self::$state(run) => run.snapshot(), )*
                }
            }

            /// Returns what is stored in addition to the turn's blocks; see
            /// [`Run::checkpoint`](crate::run::Run::checkpoint).
            #[must_use]
            pub fn checkpoint(&self) -> Option<String> {
                match self {
                    $( Self::$state(run) => run.checkpoint(), )*
                }
            }

            /// The same with its state known at run time only.
            pub fn into_any(self) -> crate::run::states::any_run::AnyRun {
                self.into()
            }
        }
    };
}
pub(super) use next;

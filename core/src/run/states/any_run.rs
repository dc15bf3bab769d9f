use super::Run;
use super::data::{
    Completed, Decoding, ExecutingTools, Idle, Interrupted, Opening, Reviewing, Streaming, Waiting,
};
use super::dispose::Disposed;
use crate::run::protocol::{Output, StateKind};
use crate::run::turn::Turn;

macro_rules! any_run {
    ($($state:ident)*) => {
        /// A run in any state.
        #[derive(Debug)]
        #[cfg_attr(feature = "model-check", derive(Clone))]
        pub(crate) enum AnyRun {
            $( $state(Run<$state>), )*
            /// A typed method panicked while it held the run.
            Broken,
        }

        $(impl From<Run<$state>> for AnyRun {
            fn from(run: Run<$state>) -> Self {
                Self::$state(run)
            }
        })*

        impl AnyRun {
            /// The host goes away.
            pub(crate) fn leave(&mut self) -> Option<Disposed> {
                match self {
                    $( Self::$state(run) => Some(run.leave()), )*
                    Self::Broken => None,
                }
            }

            #[inline]
            pub(crate) fn turn(&self) -> Option<&Turn> {
                match self {
                    $( Self::$state(run) => Some(run.turn()), )*
                    Self::Broken => None,
                }
            }

            #[inline]
            pub(crate) fn turn_mut(&mut self) -> Option<&mut Turn> {
                match self {
                    $( Self::$state(run) => Some(run.turn_mut()), )*
                    Self::Broken => None,
                }
            }

            pub(crate) fn kind(&self) -> StateKind {
                match self {
                    $( Self::$state(_) => StateKind::$state, )*
                    Self::Broken => StateKind::Completed,
                }
            }

            pub(crate) fn poll_output(&mut self) -> Option<Output> {
                match self {
                    $( Self::$state(run) => run.poll_output(), )*
                    Self::Broken => None,
                }
            }

            pub(crate) fn snapshot(&self) -> String {
                match self {
                    $( Self::$state(run) => run.snapshot(), )*
                    Self::Broken => String::new(),
                }
            }
        }
    };
}

any_run! { Idle Opening Waiting Streaming Reviewing Decoding ExecutingTools Interrupted Completed }

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
    };
}
pub(super) use next;

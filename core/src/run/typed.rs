use super::core::{Core, Taken};
use super::edges::{Edge, StateKind};
use super::outcome::Outcome;
use super::output::Output;
use super::snapshot;
use super::timer::TimerKey;
use crate::conversation::Conversation;
use crate::event::TokenUsage;
use crate::tool::PartialArguments;
use crate::{RunId, ThreadId, Timestamp};
use serde::Serialize;
use std::sync::Arc;

/// A turn in the state `S`.
///
/// A call that changes the state takes the run and gives the next one, so a call that the state does not allow does
/// not compile, and neither does a second use of a run that has moved on. After each call, take the outputs.
///
/// ```
/// use std::sync::Arc;
/// use stepwell_core::conversation::Conversation;
/// use stepwell_core::event::Message;
/// use stepwell_core::run::{Effect, Flow, Ended, Output, Run, RunConfig, Start, Started};
/// use stepwell_core::{Timestamp, provider};
///
/// let endpoint = provider::find("openai-compatible")?.endpoint(None, "a-model", Some("http://localhost/v1"), None)?;
/// let now = Timestamp(0);
/// let run = Run::new(Arc::new(RunConfig::new(endpoint)), "thread-1".into(), Conversation::default());
/// let started = run.start(Start::new("run-1", Message::user("message-1", "Hello")), now);
/// let Started::Opening(mut run) = started else { panic!("it fits the model's context") };
/// let requests = std::iter::from_fn(|| run.poll_output())
///     .filter(|output| matches!(output, Output::Effect(_, Effect::OpenStream { .. })));
/// assert_eq!(requests.count(), 1);
///
/// let mut run = run.opened(Some("text/event-stream"), now);
/// let body = "data: {\"choices\":[{\"index\":0,\"delta\":{\"content\":\"Hi\"},\"finish_reason\":\"stop\"}]}\n\ndata: [DONE]\n\n";
/// assert_eq!(run.receive(body.as_bytes(), now), Flow::Open);
/// let Ended::Completed(run) = run.end(now) else { panic!("the answer is done") };
/// assert_eq!(run.conversation().text(), "Hi");
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Debug)]
#[must_use]
pub struct Run<S> {
    pub(super) core: Box<Core>,
    pub(super) state: S,
}

/// A state: its name, and that it can be stored.
pub trait State: Serialize + sealed::Sealed {
    /// The state's name.
    const KIND: StateKind;
}

pub(super) mod sealed {
    use super::Outcome;

    /// The states are those of this crate.
    pub trait Sealed {
        /// How the turn ended, once it has.
        fn outcome(&self) -> Option<&Outcome> {
            None
        }
    }
}

macro_rules! states {
    ($($name:ident)*) => {$(
        impl State for super::$name {
            const KIND: StateKind = StateKind::$name;
        }
    )*};
}

states! { Idle Opening Waiting Streaming ExecutingTools Interrupted Completed }

macro_rules! not_over {
    ($($name:ident)*) => { $( impl sealed::Sealed for super::$name {} )* };
}

not_over! { Idle Opening Waiting Streaming ExecutingTools Interrupted }

impl<S: State> Run<S> {
    /// The one way to change the state: only along an edge of the table.
    pub(super) fn goto<On: std::fmt::Debug, To: State>(self, on: On, to: To) -> Run<To>
    where
        S: Edge<On, To>,
    {
        #[cfg(feature = "model-check")]
        super::doors::walk(S::KIND, std::any::type_name::<On>(), To::KIND);
        tracing::debug!(target: "stepwell", from = %S::KIND, ?on, to = %To::KIND, hop = self.core.hop, "run moves");
        Run {
            core: self.core,
            state: to,
        }
    }

    /// The state's name.
    #[must_use]
    pub fn kind(&self) -> StateKind {
        S::KIND
    }

    /// Takes the next thing for the host: an effect to carry out, or an event to show. To be called until it gives
    /// `None`, after every other call.
    #[must_use]
    pub fn poll_output(&mut self) -> Option<Output> {
        match self.core.next_output()? {
            Taken::Output(output) => Some(output),
            Taken::Persist(id) => {
                let snapshot = snapshot::write(&self.core, &self.state);
                Some(Output::Effect(
                    id,
                    self.core.persist(self.state.outcome(), snapshot),
                ))
            }
        }
    }

    /// When the run wants to be woken with [`Timeout`](super::Input::Timeout), if nothing happens before.
    #[must_use]
    pub fn poll_timeout(&self) -> Option<Timestamp> {
        self.core.next_timer().map(|(_, at)| at)
    }

    /// What the run wants to be woken for.
    #[must_use]
    pub fn timeout_reason(&self) -> Option<TimerKey> {
        self.core.next_timer().map(|(key, _)| key)
    }

    /// The conversation as it stands: the history, and what has come of this turn.
    #[must_use]
    pub fn conversation(&self) -> &Conversation {
        &self.core.conversation
    }

    /// The text since the last user message as the person is shown it: see [`TextOptions`](super::TextOptions).
    #[must_use]
    pub fn shown_text(&self) -> String {
        self.core.config.text.shown(&self.core.conversation)
    }

    /// The arguments of a call of the hop in progress as far as they have come, by the provider's id for it: see
    /// [`RunMachine::partial_arguments`](super::RunMachine::partial_arguments).
    #[must_use]
    pub fn partial_arguments(&self, tool_call_id: &str) -> Option<&PartialArguments> {
        self.core.outbox.partial_arguments(tool_call_id)
    }

    /// The conversation's id.
    #[must_use]
    pub fn thread_id(&self) -> &ThreadId {
        &self.core.ids.thread_id
    }

    /// The run id of the hop.
    #[must_use]
    pub fn run_id(&self) -> &RunId {
        &self.core.ids.run_id
    }

    /// The hop, from 0.
    #[must_use]
    pub fn hop(&self) -> u32 {
        self.core.hop
    }

    /// What the turn has cost so far, over all its hops.
    #[must_use]
    pub fn usage(&self) -> &TokenUsage {
        &self.core.usage
    }

    /// The configuration.
    #[must_use]
    pub fn config(&self) -> &Arc<super::RunConfig> {
        &self.core.config
    }

    /// The run as text, to be stored and given to [`RunMachine::restore`](super::RunMachine::restore) or
    /// [`RunMachine::revive`](super::RunMachine::revive). It holds no key.
    #[must_use]
    pub fn snapshot(&self) -> String {
        snapshot::write(&self.core, &self.state)
    }
}

/// Makes an enum of the runs that a call can lead to.
macro_rules! next {
    ($(#[$doc:meta])* $name:ident { $( $(#[$variant_doc:meta])* $state:ident ),* $(,)? }) => {
        $(#[$doc])*
        #[derive(Debug)]
        #[must_use]
        pub enum $name {
            $( $(#[$variant_doc])* $state(crate::run::Run<crate::run::$state>), )*
        }

        $(impl From<crate::run::Run<crate::run::$state>> for $name {
            fn from(run: crate::run::Run<crate::run::$state>) -> Self {
                Self::$state(run)
            }
        })*

        impl From<$name> for crate::run::erased::AnyRun {
            fn from(next: $name) -> Self {
                match next {
                    $( $name::$state(run) => run.into(), )*
                }
            }
        }
    };
}
pub(super) use next;

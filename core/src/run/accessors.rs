//! The accessors that a typed run and a machine have in common, each written once.

use super::machine::RunMachine;
use super::protocol::{Pending, RunConfig};
use super::states::{Run, State};
use crate::event::TokenUsage;
use crate::tool::PartialArguments;
use crate::transcript::Transcript;
use crate::{RunId, ThreadId};
use std::sync::{Arc, LazyLock};

/// The conversation of a machine whose run is gone.
static EMPTY: LazyLock<Transcript> = LazyLock::new(Transcript::default);

/// Makes an accessor of a run and the same of a machine. A machine has no run after a call that panicked: the second part
/// of a row says what it returns then.
macro_rules! accessors {
    ($(
        $(#[$doc:meta])*
        fn $name:ident(&self $(, $arg:ident: $arg_type:ty)?) -> $type:ty { |$turn:ident| $read:expr }
        $(#[$machine_doc:meta])*
        machine -> $machine_type:ty { |$found:ident| $or:expr }
    )*) => {
        impl<S: State> Run<S> {
            $(
                $(#[$doc])*
                #[must_use]
                pub fn $name(&self $(, $arg: $arg_type)?) -> $type {
                    let $turn = self.turn();
                    $read
                }
            )*
        }

        impl RunMachine {
            $(
                $(#[$doc])*
                ///
                $(#[$machine_doc])*
                #[must_use]
                pub fn $name(&self $(, $arg: $arg_type)?) -> $machine_type {
                    let $found = self.read_turn().map(|$turn| $read);
                    $or
                }
            )*
        }
    };
}

accessors! {
    /// The conversation: the history, and what this turn has added so far.
    fn transcript(&self) -> &Transcript { |turn| turn.transcript() }
    /// Empty if an earlier call panicked.
    machine -> &Transcript { |found| found.unwrap_or(&EMPTY) }

    /// The text since the last user message as the user sees it: see [`TextOptions`](super::TextOptions).
    fn shown_text(&self) -> String { |turn| turn.shown_text() }
    /// Empty if an earlier call panicked.
    machine -> String { |found| found.unwrap_or_default() }

    /// The arguments of a call of the hop in progress, by the provider's id for the call: what is certain of them so far,
    /// and whether they are complete. `None` without [`RunConfig::partial_arguments`], before the call began, and once its
    /// result is in the history.
    ///
    /// To follow each delta take [`RunEvent::PartialArguments`](super::RunEvent::PartialArguments) instead: the cost of all
    /// its changes together is linear in the text, and a value costs that each time.
    fn partial_arguments(&self, tool_call_id: &str) -> Option<&PartialArguments> {
        |turn| turn.partial_arguments(tool_call_id)
    }
    /// `None` too if an earlier call panicked.
    machine -> Option<&PartialArguments> { |found| found.flatten() }

    /// The typed answer of the hop in progress: what is certain of it so far, unchecked. To follow each delta take
    /// [`RunEvent::PartialOutput`](super::RunEvent::PartialOutput) instead.
    fn partial_output(&self) -> Option<&PartialArguments> { |turn| turn.partial_output() }
    /// `None` too if an earlier call panicked.
    machine -> Option<&PartialArguments> { |found| found.flatten() }

    /// The id of the conversation.
    fn thread_id(&self) -> &ThreadId { |turn| &turn.ids().thread_id }
    /// `None` if an earlier call panicked.
    machine -> Option<&ThreadId> { |found| found }

    /// The run id of the hop.
    fn run_id(&self) -> &RunId { |turn| &turn.ids().run_id }
    /// `None` if an earlier call panicked.
    machine -> Option<&RunId> { |found| found }

    /// What the turn waits for now: decisions of the user, answers to the questions of running tools, and the
    /// results of deferred calls, in the order of the calls.
    fn pending(&self) -> Vec<Pending> { |turn| turn.pending() }
    /// Empty if an earlier call panicked.
    machine -> Vec<Pending> { |found| found.unwrap_or_default() }

    /// The number of the hop, from 0.
    fn hop(&self) -> u32 { |turn| turn.hop() }
    /// 0 if an earlier call panicked.
    machine -> u32 { |found| found.unwrap_or(0) }

    /// The usage of the turn so far, over all its hops.
    fn usage(&self) -> &TokenUsage { |turn| turn.usage() }
    /// Zero if an earlier call panicked.
    machine -> TokenUsage { |found| found.cloned().unwrap_or_default() }

    /// The configuration, with the options of the turn over it.
    fn config(&self) -> &Arc<RunConfig> { |turn| turn.config() }
    /// `None` if an earlier call panicked.
    machine -> Option<&Arc<RunConfig>> { |found| found }
}

//! The actions that happen to a run, as proptest draws them.

use proptest::prelude::*;
use stepwell_core::run::StateKind;

/// An action that happens to a run. The numbers choose the details; the choices depend on the pending effects of the
/// run.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum Action {
    /// The user sends a message.
    Start,
    /// The host answers one of the effects that it was given.
    Answer {
        /// The choice among the effects.
        pick: u16,
        /// The content of the answer.
        detail: u16,
    },
    /// Time passes until the next deadline.
    Wake,
    /// The host wakes the run before its deadline.
    WakeEarly,
    /// The host answers an effect that is answered already, or that it was never given.
    LateAnswer {
        /// The choice among the effects.
        pick: u16,
        /// The content of the answer.
        detail: u16,
    },
    /// The user answers the questions of an interrupted run.
    Resume {
        /// The answers.
        detail: u16,
    },
    /// The user sends a message during the turn.
    Steer {
        /// The kind of message.
        detail: u16,
    },
    /// The app goes to the background.
    EnterBackground,
    /// The app returns to the foreground.
    EnterForeground,
    /// The network goes away.
    LoseNetwork,
    /// The network is back.
    RegainNetwork,
    /// The user cancels the turn.
    Cancel,
    /// The user cancels one call.
    CancelCall {
        /// The index in the hop.
        index: u8,
    },
    /// The host disposes of the run, and another host takes over.
    Dispose,
    /// The host dies, and another takes over with what is stored. Without a store, nothing happens.
    Crash {
        /// Whether the write in progress is stored.
        written: bool,
    },
    /// The host dies at this moment, once something is stored.
    CrashAt {
        /// When.
        moment: Moment,
        /// Whether the write in progress is stored.
        written: bool,
    },
    /// The next write that the store reports as failed is stored all the same.
    FalseAlarm,
}

/// A moment in which a host dies.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum Moment {
    /// The run is in this state.
    In(StateKind),
    /// A tool is running.
    DuringTool,
}

/// The states in which a host may die.
pub const CRASH_STATES: [StateKind; 7] = [
    StateKind::Opening,
    StateKind::Waiting,
    StateKind::Streaming,
    StateKind::ExecutingTools,
    StateKind::Decoding,
    StateKind::Interrupted,
    StateKind::Completed,
];

/// Draws an action. Most actions answer a pending effect, so that runs get far.
pub fn action() -> impl Strategy<Value = Action> {
    let moment = prop_oneof![
        prop::sample::select(CRASH_STATES.to_vec()).prop_map(Moment::In),
        Just(Moment::DuringTool),
    ];
    prop_oneof![
        16 => Just(Action::Start),
        240 => (any::<u16>(), any::<u16>()).prop_map(|(pick, detail)| Action::Answer { pick, detail }),
        36 => Just(Action::Wake),
        4 => Just(Action::WakeEarly),
        48 => (any::<u16>(), any::<u16>()).prop_map(|(pick, detail)| Action::LateAnswer { pick, detail }),
        28 => any::<u16>().prop_map(|detail| Action::Resume { detail }),
        8 => any::<u16>().prop_map(|detail| Action::Steer { detail }),
        3 => Just(Action::EnterBackground),
        3 => Just(Action::EnterForeground),
        3 => Just(Action::LoseNetwork),
        3 => Just(Action::RegainNetwork),
        4 => Just(Action::Cancel),
        7 => (0..4u8).prop_map(|index| Action::CancelCall { index }),
        1 => Just(Action::Dispose),
        2 => any::<bool>().prop_map(|written| Action::Crash { written }),
        5 => (moment, any::<bool>()).prop_map(|(moment, written)| Action::CrashAt { moment, written }),
        1 => Just(Action::FalseAlarm),
    ]
}

/// Up to 150 actions, in and out of order.
pub fn actions() -> impl Strategy<Value = Vec<Action>> {
    prop::collection::vec(action(), 0..150)
}

//! The table of edges: the one place that says which state may follow which. A move that is not in it does not compile.

use super::data::{
    Completed, Decoding, ExecutingTools, Idle, Interrupted, Opening, Reviewing, Streaming,
    Summarizing, Waiting,
};
use crate::run::protocol::{EdgeRow, StateKind};
use serde::Serialize;

/// The statechart of a run as data, drawn from [`EDGES`].
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Statechart {
    /// The initial state of a run.
    pub initial: StateKind,
    /// The final states.
    pub r#final: Vec<StateKind>,
    /// All states.
    pub states: Vec<StateKind>,
    /// All moves.
    pub edges: Vec<EdgeRow>,
}

/// The statechart of a run as data.
#[must_use]
pub fn statechart() -> Statechart {
    let mut states: Vec<_> = EDGES.iter().flat_map(|row| [row.from, row.to]).collect();
    states.sort_unstable();
    states.dedup();
    let leads_on = |state: &StateKind| EDGES.iter().any(|row| row.from == *state);
    Statechart {
        initial: StateKind::Idle,
        r#final: states
            .iter()
            .copied()
            .filter(|state| !leads_on(state))
            .collect(),
        states,
        edges: EDGES.to_vec(),
    }
}

/// Says that a run may go from `Self` to `To` when `On` happens.
#[allow(unreachable_pub)]
pub trait Edge<On, To> {}

/// The causes of a run's transitions.
#[allow(unreachable_pub)]
pub mod on {
    macro_rules! triggers {
        ($($name:ident)*) => {
            $(
                #[doc = concat!("`", stringify!($name), "`")]
                #[derive(Clone, Copy, Debug)]
                pub struct $name;
            )*
        };
    }
    triggers! { Start Opened Retry Wake Call Continue Interrupt Resume Finish Cancel Fail Reopen Review Decode FallBack Summarize }
}

macro_rules! edges {
    ($( $from:ident { $( $on:ident => $to:ident ),* $(,)? } )*) => {
        $($( impl Edge<on::$on, $to> for $from {} )*)*

        /// Every move that a run can make; staying in a state is not a move.
        pub const EDGES: &[EdgeRow] = &[
            $($( EdgeRow { from: StateKind::$from, on: stringify!($on), to: StateKind::$to }, )*)*
        ];
    };
}

edges! {
    Idle { Start => Opening, Cancel => Completed }
    Opening {
        Opened => Streaming,
        Summarize => Summarizing,
        Retry => Waiting,
        Continue => Opening,
        FallBack => Opening,
        Cancel => Completed,
        Fail => Completed,
    }
    Waiting { Wake => Opening, Cancel => Completed, Fail => Completed }
    Summarizing {
        Continue => Opening,
        Reopen => Opening,
        Retry => Waiting,
        Cancel => Completed,
        Fail => Completed,
    }
    Streaming {
        Call => ExecutingTools,
        Continue => Opening,
        Reopen => Opening,
        FallBack => Opening,
        Interrupt => Interrupted,
        Review => Reviewing,
        Decode => Decoding,
        Retry => Waiting,
        Finish => Completed,
        Cancel => Completed,
        Fail => Completed,
    }
    Reviewing {
        Call => ExecutingTools,
        Continue => Opening,
        FallBack => Opening,
        Interrupt => Interrupted,
        Decode => Decoding,
        Finish => Completed,
        Cancel => Completed,
        Fail => Completed,
    }
    Decoding {
        Call => ExecutingTools,
        Continue => Opening,
        Finish => Completed,
        Cancel => Completed,
        Fail => Completed,
    }
    ExecutingTools {
        Continue => Opening,
        Finish => Completed,
        Cancel => Completed,
        Fail => Completed,
    }
    Interrupted {
        Call => ExecutingTools,
        Resume => Opening,
        Finish => Completed,
        Cancel => Completed,
        Fail => Completed,
    }
}

/// The statechart of a run, drawn from [`EDGES`] in the language of [Mermaid](https://mermaid.js.org).
///
/// Moves between the same two states share an arrow.
#[must_use]
pub fn statechart_mermaid() -> String {
    let mut arrows: Vec<(StateKind, StateKind, String)> = Vec::new();
    for row in EDGES {
        let arrow = arrows
            .iter_mut()
            .find(|arrow| (arrow.0, arrow.1) == (row.from, row.to));
        match arrow {
            Some((.., label)) => {
                label.push_str(", ");
                label.push_str(row.on);
            }
            None => arrows.push((row.from, row.to, row.on.to_owned())),
        }
    }
    let mut chart = "stateDiagram-v2\n    [*] --> Idle\n".to_owned();
    for (from, to, label) in arrows {
        chart.push_str(&format!("    {from} --> {to}: {}\n", label.to_lowercase()));
    }
    chart.push_str("    Completed --> [*]\n");
    chart
}

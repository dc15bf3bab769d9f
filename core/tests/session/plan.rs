//! What may happen in a thread: generated, the same for every wire format as far as it can say it.

use proptest::prelude::*;
use proptest::sample::{Index, select};
use stepwell_core::run::Decision;

/// A turn: the hops that its provider has ready, and what else happens.
#[derive(Clone, Debug)]
pub struct TurnPlan {
    pub hops: Vec<Hop>,
    /// What the user does, and after how many inputs.
    pub presses: Vec<(usize, Press)>,
    /// What they say to each request for approval.
    pub decisions: Vec<Decision>,
    /// Of how many bytes the chunks of the bodies are.
    pub chunk: usize,
    /// Whether it is a message of before, edited and sent again: which turn's sibling it is.
    pub resends: Option<Index>,
}

#[derive(Clone, Debug)]
pub enum Press {
    Cancel,
    Steer,
    /// Stops one call of the hop.
    Stop(u32),
}

/// One answer of the provider.
#[derive(Clone, Debug)]
pub struct Hop {
    pub parts: Vec<Part>,
    pub end: End,
    pub usage: bool,
}

#[derive(Clone, Debug)]
pub enum Part {
    Text(&'static str),
    /// Text with a citation.
    Cited(&'static str),
    Refusal(&'static str),
    /// Reasoning, with something that the provider wants back.
    Thought(&'static str, bool),
    /// Reasoning that only the provider can read.
    Redacted,
    /// Calls side by side.
    Calls(Vec<Call>),
    /// Of an AG-UI agent alone.
    Agent(Agent),
}

#[derive(Clone, Copy, Debug)]
pub struct Call {
    pub tool: &'static str,
    pub arguments: &'static str,
    /// Whether the provider wants something back with it.
    pub sealed: bool,
    /// Whether its id is one that was used before.
    pub reused: bool,
}

/// What only an agent can do.
#[derive(Clone, Debug)]
pub enum Agent {
    /// It answers a call of this hop itself.
    Result(Index),
    /// It answers a call that nobody made.
    Orphan,
    State(u8),
    StateDelta(u8),
    BadStateDelta,
    Activity(u8),
    ActivityDelta(u8),
    /// Words of another role.
    Says(&'static str),
    /// Text that begins while another is open, and ends before it.
    Nested,
    /// Goes on with a message of before.
    GoesOn(Index),
    /// Gives a message of before a value to be sent back.
    Seals(Index),
    /// Says which messages there are.
    Snapshot(Snapshot),
    /// Metadata, a name and a subagent.
    Attached,
}

#[derive(Clone, Copy, Debug)]
pub enum Snapshot {
    Same,
    Grown,
    Changed(usize),
    Dropped(usize),
    Emptied,
    Reversed,
    Twice,
}

#[derive(Clone, Copy, Debug, PartialEq)]
pub enum End {
    Whole,
    Cut,
    Fails,
    /// No stream, but an HTTP error.
    Refused,
    Unreachable,
    /// The connection breaks within the stream.
    Breaks,
    /// An AG-UI agent asks the user.
    Asks {
        cancels: bool,
    },
    /// An AG-UI agent says which calls are the client's.
    Leaves,
}

const WORDS: [&str; 7] = [
    "Hello",
    "größer 🙂",
    "line\nbreak",
    "Let me see. ",
    " ",
    "\"quoted\" \\ {}",
    "A longer piece of text that is cut into several chunks on its way.",
];

fn words() -> impl Strategy<Value = &'static str> {
    select(WORDS.as_slice())
}

fn call() -> impl Strategy<Value = Call> {
    let tool = prop_oneof![
        4 => Just(("work", r#"{"path":"/tmp"}"#)),
        1 => Just(("work", "{}")),
        1 => Just(("work", "{\"path\":")),
        2 => Just(("picture", "{}")),
        1 => Just(("fails", "{}")),
        2 => Just(("ask", r#"{"path":"/"}"#)),
        1 => Just(("unknown", "{}")),
        1 => Just(("later", "{}")),
    ];
    (tool, any::<bool>(), prop::bool::weighted(0.1)).prop_map(
        |((tool, arguments), sealed, reused)| Call {
            tool,
            arguments,
            sealed,
            reused,
        },
    )
}

fn agent() -> impl Strategy<Value = Agent> {
    let snapshot = prop_oneof![
        3 => Just(Snapshot::Same),
        2 => Just(Snapshot::Grown),
        2 => (0..6usize).prop_map(Snapshot::Changed),
        2 => (0..6usize).prop_map(Snapshot::Dropped),
        1 => Just(Snapshot::Emptied),
        1 => Just(Snapshot::Reversed),
        1 => Just(Snapshot::Twice),
    ];
    prop_oneof![
        3 => any::<Index>().prop_map(Agent::Result),
        1 => Just(Agent::Orphan),
        1 => any::<u8>().prop_map(Agent::State),
        1 => any::<u8>().prop_map(Agent::StateDelta),
        1 => Just(Agent::BadStateDelta),
        2 => (0..3u8).prop_map(Agent::Activity),
        1 => (0..3u8).prop_map(Agent::ActivityDelta),
        1 => select(["user", "system", "developer"].as_slice()).prop_map(Agent::Says),
        1 => Just(Agent::Nested),
        1 => any::<Index>().prop_map(Agent::GoesOn),
        1 => any::<Index>().prop_map(Agent::Seals),
        4 => snapshot.prop_map(Agent::Snapshot),
        1 => Just(Agent::Attached),
    ]
}

fn part(is_agent: bool) -> impl Strategy<Value = Part> {
    let said = prop_oneof![
        4 => words().prop_map(Part::Text),
        1 => words().prop_map(Part::Cited),
        1 => words().prop_map(Part::Refusal),
        3 => (words(), any::<bool>()).prop_map(|(text, sealed)| Part::Thought(text, sealed)),
        1 => Just(Part::Redacted),
        4 => prop::collection::vec(call(), 1..4).prop_map(Part::Calls),
    ];
    if is_agent {
        prop_oneof![13 => said, 8 => agent().prop_map(Part::Agent)].boxed()
    } else {
        said.boxed()
    }
}

fn hop(is_agent: bool) -> impl Strategy<Value = Hop> {
    let end = prop_oneof![
        14 => Just(End::Whole),
        1 => Just(End::Cut),
        1 => Just(End::Fails),
        1 => Just(End::Refused),
        1 => Just(End::Unreachable),
        1 => Just(End::Breaks),
    ];
    let end = if is_agent {
        let asks = any::<bool>().prop_map(|cancels| End::Asks { cancels });
        prop_oneof![14 => end, 2 => asks, 1 => Just(End::Leaves)].boxed()
    } else {
        end.boxed()
    };
    let parts = prop::collection::vec(part(is_agent), 0..5);
    (parts, end, any::<bool>()).prop_map(|(parts, end, usage)| Hop { parts, end, usage })
}

fn turn(is_agent: bool) -> impl Strategy<Value = TurnPlan> {
    let press = prop_oneof![
        2 => Just(Press::Cancel),
        3 => Just(Press::Steer),
        1 => (0..3u32).prop_map(Press::Stop),
    ];
    let reason = || Some("no <b>\n".to_owned());
    let decision = prop_oneof![
        Just(Decision::Granted),
        Just(Decision::Denied { reason: reason() }),
        Just(Decision::Edited {
            arguments: r#"{"path":"/else"}"#.to_owned()
        }),
    ];
    (
        prop::collection::vec(hop(is_agent), 1..4),
        prop::collection::vec((1..40usize, press), 0..2),
        prop::collection::vec(decision, 3),
        select([7usize, 60, 4096].as_slice()),
        prop::option::weighted(0.2, any::<Index>()),
    )
        .prop_map(|(hops, presses, decisions, chunk, resends)| TurnPlan {
            hops,
            presses,
            decisions,
            chunk,
            resends,
        })
}

/// The turns of a thread.
pub fn turns(is_agent: bool) -> impl Strategy<Value = Vec<TurnPlan>> {
    prop::collection::vec(turn(is_agent), 1..4)
}

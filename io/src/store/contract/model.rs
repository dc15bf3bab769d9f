//! Owners, writers and readers in any order, against a model that is a few lists.

use super::opened::OpenedStore;
use super::support::{key, new_turn};
use crate::store::{EventStore, Generation, PersistBatch, StoreError, TurnStore};
use proptest::collection::vec;
use proptest::prelude::*;
use proptest::test_runner::TestRunner;
use std::collections::BTreeMap;
use stepwell_core::run::{Outcome, TurnStatus};

/// One call. Its numbers are reduced to a useful range.
#[derive(Clone, Debug)]
enum Call {
    Begin {
        thread: u8,
        turn: u8,
    },
    Claim {
        turn: u8,
        behind: u64,
    },
    Persist {
        turn: u8,
        behind: u64,
        first: u64,
        letters: Vec<u8>,
        ends: bool,
        /// Events that are stored with the blocks, and the index of the first.
        first_event: u64,
        events: Vec<u8>,
    },
    Append {
        turn: u8,
        behind: u64,
        first: u64,
        letters: Vec<u8>,
    },
    Acknowledge {
        turn: u8,
        index: u64,
    },
    Delete {
        thread: u8,
    },
}

#[derive(Debug, Default)]
struct Turn {
    thread: u8,
    generation: u64,
    blocks: Vec<u8>,
    events: Vec<u8>,
    acknowledged: Option<u64>,
    is_closed: bool,
}

/// The result of a call: `Ok`, or the kind of error.
type CallResult = Result<u64, &'static str>;

/// Threads 0 and 1 have the turns 0 to 3 each: turn 5 is turn 1 of thread 1.
#[derive(Debug, Default)]
struct Model {
    turns: BTreeMap<u8, Turn>,
}

fn append(list: &mut Vec<u8>, first: u64, letters: &[u8]) -> Result<bool, &'static str> {
    let first = usize::try_from(first).unwrap();
    if first > list.len() {
        return Err("gap");
    }
    let shared = letters.len().min(list.len() - first);
    if list[first..first + shared] != letters[..shared] {
        return Err("conflict");
    }
    list.extend(&letters[shared..]);
    Ok(letters.len() > shared)
}

impl Model {
    fn owned(&mut self, turn: u8, behind: u64) -> Result<&mut Turn, &'static str> {
        let turn = self.turns.get_mut(&turn).ok_or("no turn")?;
        if behind > 0 { Err("stale") } else { Ok(turn) }
    }

    fn call(&mut self, call: &Call) -> CallResult {
        match call {
            Call::Begin { thread, turn } => {
                if self.turns.contains_key(turn) {
                    return Err("exists");
                }
                let mut of_thread = self.turns.values().filter(|turn| turn.thread == *thread);
                if of_thread.any(|turn| !turn.is_closed) {
                    return Err("busy");
                }
                let begun = Turn {
                    thread: *thread,
                    generation: 1,
                    ..Turn::default()
                };
                self.turns.insert(*turn, begun);
                Ok(1)
            }
            Call::Claim { turn, behind } => {
                let known = self.turns.get(turn).ok_or("no turn")?;
                if known.is_closed {
                    return Err("closed");
                }
                let turn = self.owned(*turn, *behind)?;
                turn.generation += 1;
                Ok(turn.generation)
            }
            Call::Persist {
                turn,
                behind,
                first,
                letters,
                ends,
                first_event,
                events,
            } => {
                let turn = self.owned(*turn, *behind)?;
                let mut blocks = turn.blocks.clone();
                let is_new = append(&mut blocks, *first, letters)?;
                if turn.is_closed && (is_new || !*ends) {
                    return Err("closed");
                }
                if !events.is_empty() {
                    append(&mut turn.events, *first_event, events)?;
                }
                turn.blocks = blocks;
                turn.is_closed = *ends;
                Ok(0)
            }
            Call::Append {
                turn,
                behind,
                first,
                letters,
            } => {
                let turn = self.owned(*turn, *behind)?;
                append(&mut turn.events, *first, letters).map(|_| 0)
            }
            Call::Acknowledge { turn, index } => {
                let turn = self.owned(*turn, 0)?;
                if *index >= turn.events.len() as u64 {
                    return Err("gap");
                }
                turn.acknowledged = turn.acknowledged.max(Some(*index));
                Ok(0)
            }
            Call::Delete { thread } => {
                let before = self.turns.len();
                self.turns.retain(|_, turn| turn.thread != *thread);
                Ok(u64::from(self.turns.len() < before))
            }
        }
    }

    fn generation(&self, turn: u8, behind: u64) -> Generation {
        let current = self.turns.get(&turn).map_or(1, |turn| turn.generation);
        Generation(current.saturating_sub(behind))
    }
}

fn kind(error: &StoreError) -> &'static str {
    match error {
        StoreError::Stale { .. } => "stale",
        StoreError::Busy { .. } => "busy",
        StoreError::Exists { .. } => "exists",
        StoreError::Closed { .. } => "closed",
        StoreError::Gap { .. } => "gap",
        StoreError::Conflict { .. } => "conflict",
        StoreError::NoTurn { .. } => "no turn",
        other => panic!("{other}"),
    }
}

fn name(turn: u8) -> crate::store::TurnKey {
    key(&format!("t{}", turn / 4), &format!("run{}", turn % 4))
}

fn words(letters: &[u8]) -> Vec<String> {
    letters.iter().map(|letter| format!("{letter}")).collect()
}

/// A store under test: all of it, and its event logs if those are tested.
#[derive(Clone, Copy)]
struct Tested<'a> {
    turns: &'a dyn TurnStore,
    events: Option<&'a dyn EventStore>,
}

async fn carry_out(tested: Tested<'_>, model: &Model, call: &Call, at: u64) -> CallResult {
    let store = tested.turns;
    // Calls of event logs are made only where these are tested.
    let log = || tested.events.unwrap();
    let came = match call {
        Call::Begin { thread, turn } => {
            let new = new_turn(&format!("t{thread}"), &format!("run{}", turn % 4), at);
            store.begin_turn(&new).await.map(|generation| generation.0)
        }
        Call::Claim { turn, behind } => {
            let seen = model.generation(*turn, *behind);
            let claimed = store.claim(&name(*turn), seen, "host").await;
            claimed.map(|claimed| claimed.generation.0)
        }
        Call::Persist {
            turn,
            behind,
            first,
            letters,
            ends,
            first_event,
            events,
        } => {
            let generation = model.generation(*turn, *behind);
            let texts = words(letters);
            let texts: Vec<_> = texts.iter().map(String::as_str).collect();
            let mut batch = super::support::batch(*first, &texts, at);
            batch.first_event = *first_event;
            batch.events = words(events);
            if *ends {
                batch = PersistBatch {
                    status: TurnStatus::Cancelled,
                    outcome: Some(Outcome::Cancelled),
                    ..batch
                };
            }
            store
                .persist(&name(*turn), generation, &batch)
                .await
                .map(|()| 0)
        }
        Call::Append {
            turn,
            behind,
            first,
            letters,
        } => {
            let generation = model.generation(*turn, *behind);
            let (turn, events) = (name(*turn), words(letters));
            let appended = log().append_events(&turn, generation, *first, &events);
            appended.await.map(|()| 0)
        }
        Call::Acknowledge { turn, index } => {
            let turn = name(*turn);
            log().acknowledge(&turn, *index).await.map(|()| 0)
        }
        Call::Delete { thread } => {
            let thread = format!("t{thread}");
            store.delete_thread(&(&*thread).into()).await.map(u64::from)
        }
    };
    came.map_err(|error| kind(&error))
}

async fn agrees(tested: Tested<'_>, model: &Model) {
    let store = tested.turns;
    for turn in 0..8 {
        let stored = store.turn(&name(turn)).await.unwrap();
        let Some(expected) = model.turns.get(&turn) else {
            assert_eq!(stored, None);
            continue;
        };
        let stored = stored.unwrap();
        assert_eq!(stored.status != TurnStatus::Streaming, expected.is_closed);
        assert_eq!(
            super::support::texts(store, &name(turn)).await,
            words(&expected.blocks)
        );
        let Some(store) = tested.events else { continue };
        let events = store.events(&name(turn), None, 1_000).await.unwrap();
        let events: Vec<_> = events.into_iter().map(|event| event.data).collect();
        assert_eq!(events, words(&expected.events));
        let log = store.event_log(&name(turn)).await.unwrap();
        assert_eq!(log.acknowledged, expected.acknowledged);
    }
    let open = store.unfinished(None).await.unwrap();
    let expected = model.turns.values().filter(|turn| !turn.is_closed).count();
    assert_eq!(open.len(), expected);
    for unfinished in open {
        let turn = (0..8).find(|turn| name(*turn) == unfinished.key).unwrap();
        assert_eq!(unfinished.generation.0, model.turns[&turn].generation);
    }
}

/// Returns lists of calls, without events or with them.
fn calls(has_events: bool) -> impl Strategy<Value = Vec<Call>> {
    let turn = || 0..8u8;
    // Most callers are the owner.
    let behind = || prop_oneof![4 => Just(0u64), 1 => Just(1u64)];
    let letters = || vec(0..2u8, 0..4);
    let logged = move || match has_events {
        true => (0..5u64, letters()).boxed(),
        false => Just((0, Vec::new())).boxed(),
    };
    let begin = turn().prop_map(|turn| Call::Begin {
        thread: turn / 4,
        turn,
    });
    let claim = (turn(), behind()).prop_map(|(turn, behind)| Call::Claim { turn, behind });
    let ends = prop::bool::weighted(0.2);
    let persist = (turn(), behind(), (0..5u64, letters()), ends, logged()).prop_map(
        |(turn, behind, (first, letters), ends, (first_event, events))| Call::Persist {
            turn,
            behind,
            first,
            letters,
            ends,
            first_event,
            events,
        },
    );
    let append =
        (turn(), behind(), 0..5u64, letters()).prop_map(|(turn, behind, first, letters)| {
            Call::Append {
                turn,
                behind,
                first,
                letters,
            }
        });
    let acknowledge = (turn(), 0..5u64).prop_map(|(turn, index)| Call::Acknowledge { turn, index });
    let delete = (0..2u8).prop_map(|thread| Call::Delete { thread });
    let of_turns = prop_oneof![3 => begin, 2 => claim, 6 => persist, 1 => delete];
    let call = match has_events {
        true => prop_oneof![12 => of_turns, 3 => append, 1 => acknowledge].boxed(),
        false => of_turns.boxed(),
    };
    vec(call, 1..60)
}

/// Checks that any order of the calls of several owners gives what a model of a few lists gives.
pub fn any_order_of_turn_calls_matches_the_model<F>(open: impl Fn() -> F)
where
    F: Future<Output = Option<OpenedStore<dyn TurnStore>>>,
{
    matches_the_model(false, open, |store| Tested {
        turns: store,
        events: None,
    });
}

/// Checks that any order of the calls of several owners and clients gives what a model of a few lists gives.
pub fn any_order_of_event_calls_matches_the_model<F>(open: impl Fn() -> F)
where
    F: Future<Output = Option<OpenedStore<dyn EventStore>>>,
{
    matches_the_model(true, open, |store| Tested {
        turns: store,
        events: Some(store),
    });
}

/// Runs calls on new stores and on the model. Each call is a transaction, so every interleaving of owners is one order
/// of calls.
fn matches_the_model<S: ?Sized, F: Future<Output = Option<OpenedStore<S>>>>(
    has_events: bool,
    open: impl Fn() -> F,
    tested: impl Fn(&S) -> Tested<'_>,
) {
    let runtime = tokio::runtime::Builder::new_multi_thread()
        .worker_threads(1)
        .enable_all()
        .build()
        .unwrap();
    let mut config = ProptestConfig::default();
    // Each case opens a database of its own.
    config.cases = (config.cases / 8).max(8);
    config.failure_persistence = None;
    let ran = TestRunner::new(config).run(&calls(has_events), |calls| {
        runtime.block_on(async {
            let Some(opened) = open().await else {
                return;
            };
            let tested = tested(&opened.store);
            let mut model = Model::default();
            for (at, call) in (1..).zip(&calls) {
                let came = carry_out(tested, &model, call, at).await;
                assert_eq!(came, model.call(call), "{call:?} on {model:?}");
            }
            agrees(tested, &model).await;
        });
        Ok(())
    });
    if let Err(error) = ran {
        panic!("{error}");
    }
}

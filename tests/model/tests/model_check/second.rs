//! The second opinion: stateright searches the same world.

use crate::bounds::Bounds;
use crate::moves::Move;
use crate::world::World;
use stateright::{Checker, Model, Property};
use std::fmt;
use std::hash::{Hash, Hasher};
use std::sync::Arc;

/// A world as stateright wants its states: equal if their canonical forms are.
pub struct State {
    world: World,
    print: u64,
}

impl State {
    fn of(world: World) -> Self {
        let print = world.print();
        Self { world, print }
    }
}

impl Clone for State {
    fn clone(&self) -> Self {
        Self {
            world: self.world.fork(),
            print: self.print,
        }
    }
}

impl PartialEq for State {
    fn eq(&self, other: &Self) -> bool {
        self.print == other.print
    }
}

impl Hash for State {
    fn hash<H: Hasher>(&self, state: &mut H) {
        self.print.hash(state);
    }
}

impl fmt::Debug for State {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(
            f,
            "{} hop {}",
            self.world.machine.state(),
            self.world.machine.hop()
        )
    }
}

struct Second(Arc<Bounds>);

impl Model for Second {
    type State = State;
    type Action = Move;

    fn init_states(&self) -> Vec<State> {
        vec![State::of(World::new(&self.0))]
    }

    fn actions(&self, state: &State, actions: &mut Vec<Move>) {
        actions.extend(state.world.moves());
    }

    fn next_state(&self, state: &State, action: Move) -> Option<State> {
        Some(State::of(state.world.after(action)))
    }

    fn properties(&self) -> Vec<Property<Self>> {
        vec![Property::always(
            "every invariant holds",
            |_, state: &State| state.world.fault.is_none(),
        )]
    }
}

/// Returns the number of states that stateright finds, if every invariant holds.
pub fn states(bounds: &Bounds) -> usize {
    let checker = Second(Arc::new(bounds.clone()))
        .checker()
        .spawn_dfs()
        .join();
    checker.assert_properties();
    checker.unique_state_count()
}

//! The registry beside a simple model of it: the owner of each thread is an index into all handles ever given out.

use super::{drain, thread};
use crate::cases::cases;
use proptest::prelude::*;
use proptest_state_machine::{ReferenceStateMachine, StateMachineTest, prop_state_machine};
use stepwell_core::registry::{RegistryEvent, RunHandle, RunRegistry, ThreadKey};
use stepwell_core::run::Outcome;

const THREADS: usize = 3;

fn key(index: usize) -> ThreadKey {
    thread(["a", "b", "c"][index])
}

/// A handle is named by its number among those given out.
#[derive(Clone, Debug)]
enum Step {
    Register(usize),
    Replace(usize),
    Check(usize),
    Complete(usize),
    DisposalFailed(usize),
    LookAt(Option<usize>),
    Remove(usize),
    StoreAndRead,
}

/// What the model says must happen, handles by number.
#[derive(Clone, Debug, PartialEq)]
enum Said {
    Started(usize),
    Continued(usize),
    Completed(usize, Outcome),
    Unread(usize),
    Read(usize),
    Stale(usize, Option<usize>),
    DisposalFailed(usize),
}

#[derive(Clone, Debug, Default)]
struct Model {
    /// Each handle's thread and hop.
    given: Vec<(usize, u32)>,
    owner: [Option<usize>; THREADS],
    unread: [bool; THREADS],
    looked_at: Option<usize>,
    said: Vec<Said>,
}

impl Model {
    fn give(&mut self, thread: usize, hop: u32) -> usize {
        self.given.push((thread, hop));
        self.owner[thread] = Some(self.given.len() - 1);
        self.given.len() - 1
    }

    fn owns(&mut self, handle: usize) -> bool {
        let owner = self.owner[self.given[handle].0];
        if owner != Some(handle) {
            self.said.push(Said::Stale(handle, owner));
        }
        owner == Some(handle)
    }

    fn end(&mut self, thread: usize) {
        if let Some(owner) = self.owner[thread].take() {
            self.said.push(Said::Completed(owner, Outcome::Cancelled));
        }
    }

    fn read(&mut self, thread: usize) {
        if std::mem::take(&mut self.unread[thread]) {
            self.said.push(Said::Read(thread));
        }
    }
}

impl ReferenceStateMachine for Model {
    type State = Self;
    type Transition = Step;

    fn init_state() -> BoxedStrategy<Self> {
        Just(Self::default()).boxed()
    }

    fn transitions(state: &Self) -> BoxedStrategy<Step> {
        let threads = prop_oneof![
            4 => (0..THREADS).prop_map(Step::Register),
            2 => prop::option::of(0..THREADS).prop_map(Step::LookAt),
            1 => (0..THREADS).prop_map(Step::Remove),
            1 => Just(Step::StoreAndRead),
        ];
        if state.given.is_empty() {
            return threads.boxed();
        }
        let owners: Vec<_> = state.owner.iter().flatten().copied().collect();
        let any = 0..state.given.len();
        // Half of them owners, else nothing lives long.
        let handle = if owners.is_empty() {
            any.boxed()
        } else {
            prop_oneof![any, prop::sample::select(owners)].boxed()
        };
        prop_oneof![
            3 => threads,
            2 => handle.clone().prop_map(Step::Replace),
            2 => handle.clone().prop_map(Step::Check),
            2 => handle.clone().prop_map(Step::Complete),
            1 => handle.prop_map(Step::DisposalFailed),
        ]
        .boxed()
    }

    fn preconditions(state: &Self, step: &Step) -> bool {
        match step {
            Step::Replace(handle)
            | Step::Check(handle)
            | Step::Complete(handle)
            | Step::DisposalFailed(handle) => *handle < state.given.len(),
            _ => true,
        }
    }

    fn apply(mut state: Self, step: &Step) -> Self {
        state.said.clear();
        match *step {
            Step::Register(thread) => {
                state.end(thread);
                let handle = state.give(thread, 0);
                state.said.push(Said::Started(handle));
            }
            Step::Replace(old) => {
                if state.owns(old) {
                    let (thread, hop) = state.given[old];
                    let handle = state.give(thread, hop + 1);
                    state.said.push(Said::Continued(handle));
                }
            }
            Step::Check(handle) => {
                state.owns(handle);
            }
            Step::Complete(handle) => {
                if state.owns(handle) {
                    let thread = state.given[handle].0;
                    state.owner[thread] = None;
                    state.said.push(Said::Completed(handle, Outcome::Success));
                    let elsewhere = state.looked_at != Some(thread);
                    if elsewhere && !std::mem::replace(&mut state.unread[thread], true) {
                        state.said.push(Said::Unread(thread));
                    }
                }
            }
            Step::DisposalFailed(handle) => state.said.push(Said::DisposalFailed(handle)),
            Step::LookAt(thread) => {
                if let Some(thread) = thread {
                    state.read(thread);
                }
                state.looked_at = thread;
            }
            Step::Remove(thread) => {
                state.end(thread);
                state.read(thread);
            }
            Step::StoreAndRead => {}
        }
        state
    }
}

#[derive(Default)]
struct Real {
    registry: RunRegistry,
    given: Vec<RunHandle>,
}

impl Real {
    /// Newer handles of a thread are greater than all before them.
    fn given(&mut self, handle: RunHandle) {
        for older in self
            .given
            .iter()
            .filter(|older| older.key() == handle.key())
        {
            assert!(older < &handle, "{handle} was given after {older}");
        }
        self.given.push(handle);
    }

    fn step(&mut self, step: &Step) -> bool {
        let registry = &mut self.registry;
        match *step {
            Step::Register(thread) => {
                let before = registry.current(&key(thread));
                let registered = registry.register(key(thread));
                assert_eq!(registered.replaced, before);
                self.given(registered.handle);
            }
            Step::Replace(old) => match registry.replace(&self.given[old]) {
                Ok(handle) => self.given(handle),
                Err(_) => return false,
            },
            Step::Check(handle) => return registry.check(&self.given[handle]).is_ok(),
            Step::Complete(handle) => {
                return registry
                    .complete(&self.given[handle], Outcome::Success)
                    .is_ok();
            }
            Step::DisposalFailed(handle) => registry.disposal_failed(&self.given[handle], "no"),
            Step::LookAt(thread) => registry.look_at(thread.map(key)),
            Step::Remove(thread) => {
                let before = registry.current(&key(thread));
                assert_eq!(registry.remove(&key(thread)), before);
            }
            Step::StoreAndRead => {
                let stored = serde_json::to_string(registry).unwrap();
                let read = serde_json::from_str(&stored).unwrap();
                assert_eq!(*registry, read);
                *registry = read;
            }
        }
        true
    }

    fn said(&self, said: &Said) -> RegistryEvent {
        let handle = |number: usize| self.given[number].clone();
        match said.clone() {
            Said::Started(number) => RegistryEvent::RunStarted {
                handle: handle(number),
            },
            Said::Continued(number) => RegistryEvent::RunContinued {
                handle: handle(number),
            },
            Said::Completed(number, outcome) => RegistryEvent::RunCompleted {
                handle: handle(number),
                outcome,
            },
            Said::Unread(thread) => RegistryEvent::Unread { key: key(thread) },
            Said::Read(thread) => RegistryEvent::Read { key: key(thread) },
            Said::Stale(number, owner) => {
                let mut other = self.registry.clone();
                let stale = other.check(&handle(number)).unwrap_err();
                assert_eq!(
                    stale.current,
                    owner.map(|owner| self.given[owner].version())
                );
                RegistryEvent::StaleInput(stale)
            }
            Said::DisposalFailed(number) => RegistryEvent::DisposalFailed {
                handle: handle(number),
                message: "no".into(),
            },
        }
    }
}

impl StateMachineTest for Real {
    type SystemUnderTest = Self;
    type Reference = Model;

    fn init_test(_: &Model) -> Self {
        Self::default()
    }

    fn apply(mut real: Self, model: &Model, step: Step) -> Self {
        let before = real.registry.clone();
        let ok = real.step(&step);
        let events = drain(&mut real.registry);
        let expected: Vec<_> = model.said.iter().map(|said| real.said(said)).collect();
        assert_eq!(events, expected, "{step:?}");
        let refused = matches!(model.said[..], [Said::Stale(..)]);
        assert_eq!(ok, !refused, "{step:?}");
        if refused {
            assert_eq!(real.registry, before, "a stale handle changed something");
        }
        real
    }

    fn check_invariants(real: &Self, model: &Model) {
        let registry = &real.registry;
        assert_eq!(registry.looked_at(), model.looked_at.map(key).as_ref());
        let owners: Vec<_> = model.owner.iter().flatten().collect();
        let owners: Vec<_> = owners
            .into_iter()
            .map(|owner| &real.given[*owner])
            .collect();
        assert_eq!(
            registry
                .running()
                .collect::<Vec<_>>()
                .iter()
                .collect::<Vec<_>>(),
            owners
        );
        for thread in 0..THREADS {
            let owner = model.owner[thread].map(|owner| real.given[owner].clone());
            assert_eq!(registry.current(&key(thread)), owner);
            if let Some(owner) = owner {
                assert_eq!(owner.hop(), model.given[model.owner[thread].unwrap()].1);
            }
            assert_eq!(registry.unread(&key(thread)), model.unread[thread]);
        }
        // Of all handles ever given out, those of the owners are good and no others.
        let mut copy = registry.clone();
        for (number, handle) in real.given.iter().enumerate() {
            let owns = model.owner.contains(&Some(number));
            assert_eq!(copy.check(handle).is_ok(), owns, "{handle}");
        }
    }
}

prop_state_machine! {
    #![proptest_config(cases(300))]

    /// A stale handle changes nothing; of two racing owners of a thread, one wins; all else as the model says.
    #[test]
    fn i11_a_stale_handle_changes_nothing_and_one_owner_wins(sequential 1..60 => Real);
}

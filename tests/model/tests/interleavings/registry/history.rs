//! What the threads called and what they got, and whether one thread alone could have got the same.

use super::{RegistryEvent, RunHandle, RunRegistry, SharedRegistry, ThreadKey};
use crate::registry::{Registered, Stale};
use crate::run::Outcome;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex, PoisonError};

#[derive(Clone, Debug)]
pub(super) enum Call {
    Register(ThreadKey),
    Replace(RunHandle),
    Check(RunHandle),
    Complete(RunHandle),
    Fails(RunHandle),
    Remove(ThreadKey),
    LookAt(Option<ThreadKey>),
    Current(ThreadKey),
    Unread(ThreadKey),
    Poll,
}

#[derive(Clone, Debug, PartialEq)]
pub(super) enum Answer {
    Registered(Registered),
    Handle(Result<RunHandle, Stale>),
    Done(Result<(), Stale>),
    Run(Option<RunHandle>),
    Is(bool),
    Event(Option<RegistryEvent>),
    Nothing,
}

/// The same calls on anything that has the registry's methods.
macro_rules! call {
    ($registry:expr, $call:expr) => {
        match $call {
            Call::Register(key) => Answer::Registered($registry.register(key.clone())),
            Call::Replace(handle) => Answer::Handle($registry.replace(handle)),
            Call::Check(handle) => Answer::Done($registry.check(handle)),
            Call::Complete(handle) => Answer::Done($registry.complete(handle, Outcome::Success)),
            Call::Fails(handle) => {
                $registry.disposal_failed(handle, "no");
                Answer::Nothing
            }
            Call::Remove(key) => Answer::Run($registry.remove(key)),
            Call::LookAt(key) => {
                $registry.look_at(key.clone());
                Answer::Nothing
            }
            Call::Current(key) => Answer::Run($registry.current(key)),
            Call::Unread(key) => Answer::Is($registry.unread(key)),
            Call::Poll => Answer::Event($registry.poll_event()),
        }
    };
}

impl Call {
    pub(super) fn make(&self, registry: &SharedRegistry) -> Answer {
        call!(registry, self)
    }

    fn make_alone(&self, registry: &mut RunRegistry) -> Answer {
        call!(registry, self)
    }
}

/// One call, with its begin and its end.
#[derive(Debug)]
struct Operation {
    call: Call,
    answer: Answer,
    begun: usize,
    done: usize,
}

/// All calls of a run. Its own lock is none of those that are tried.
#[derive(Clone, Debug, Default)]
pub(super) struct History {
    clock: Arc<AtomicUsize>,
    operations: Arc<Mutex<Vec<Operation>>>,
}

impl History {
    fn tick(&self) -> usize {
        self.clock.fetch_add(1, Ordering::Relaxed)
    }

    /// Calls, and keeps what came of it.
    pub(super) fn call(&self, registry: &SharedRegistry, call: Call) -> Answer {
        let begun = self.tick();
        let answer = call.make(registry);
        let operation = Operation {
            call,
            answer: answer.clone(),
            begun,
            done: self.tick(),
        };
        self.operations
            .lock()
            .unwrap_or_else(PoisonError::into_inner)
            .push(operation);
        answer
    }

    /// Fails unless some order of the calls, one after the other, gives the same answers and ends the same.
    pub(super) fn assert_explained(&self, from: &RunRegistry, to: &RunRegistry) {
        let operations = self
            .operations
            .lock()
            .unwrap_or_else(PoisonError::into_inner);
        let left: Vec<_> = operations.iter().collect();
        assert!(
            explained(from, &left, to),
            "no order explains {operations:#?}, which ends in {to:#?}"
        );
    }
}

fn explained(from: &RunRegistry, left: &[&Operation], to: &RunRegistry) -> bool {
    if left.is_empty() {
        return from == to;
    }
    // An operation that was done before another began comes first.
    let first_done = left
        .iter()
        .map(|operation| operation.done)
        .min()
        .unwrap_or(0);
    left.iter().enumerate().any(|(index, operation)| {
        if operation.begun > first_done {
            return false;
        }
        let mut next = from.clone();
        if operation.call.make_alone(&mut next) != operation.answer {
            return false;
        }
        let mut rest = left.to_vec();
        rest.remove(index);
        explained(&next, &rest, to)
    })
}

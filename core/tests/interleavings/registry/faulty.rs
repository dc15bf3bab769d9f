//! Shells with a fault each. The checks must find every one.

use super::history::{Answer, Call, Shell, plain};
use super::{RunHandle, RunRegistry, ThreadKey};
use crate::registry::event::EventQueue;
use crate::registry::{Registered, RegistryEvent};
use crate::run::Outcome;
use shuttle::sync::{Mutex, MutexGuard};
use std::sync::{Arc, PoisonError};

#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) enum Fault {
    None,
    /// `replace` checks the handle, lets go of the lock, and continues what is then the owner.
    ChecksThenReplaces,
    /// `complete` looks in one section whether the thread is looked at, and marks it unread in another.
    MarksUnreadLater,
    /// `register` takes the thread over in one section, and says so in another.
    SaysItLater,
    /// `register` finds the run it replaces in a section of its own.
    FindsTheReplacedBefore,
    /// Every call works on a copy, and puts it back.
    WorksOnACopy,
    /// `poll_event` takes two locks in one order, all others in the other.
    TakesTwoLocks,
    /// Foreign code runs under the lock.
    TracesUnderTheLock,
    /// A panic under the lock makes every later call panic.
    GivesUpOnPoison,
}

impl Fault {
    /// Those that show in the threads' own calls.
    pub(super) const ALL: [Self; 6] = [
        Self::ChecksThenReplaces,
        Self::MarksUnreadLater,
        Self::SaysItLater,
        Self::FindsTheReplacedBefore,
        Self::WorksOnACopy,
        Self::TakesTwoLocks,
    ];

    pub(super) fn shows_as(self) -> &'static str {
        match self {
            Self::TakesTwoLocks => "deadlock",
            _ => "no order explains",
        }
    }
}

#[derive(Clone)]
pub(super) struct Faulty {
    fault: Fault,
    registry: Arc<Mutex<RunRegistry>>,
    polling: Arc<Mutex<()>>,
}

impl Faulty {
    pub(super) fn new(fault: Fault) -> Self {
        Self {
            fault,
            registry: Arc::default(),
            polling: Arc::default(),
        }
    }

    fn lock(&self) -> MutexGuard<'_, RunRegistry> {
        match self.fault {
            Fault::GivesUpOnPoison => self.registry.lock().unwrap(),
            _ => self.registry.lock().unwrap_or_else(PoisonError::into_inner),
        }
    }

    fn checks_then_replaces(&self, old: &RunHandle) -> Answer {
        if let Err(stale) = self.lock().check_quietly(old) {
            return Answer::Handle(Err(stale));
        }
        let mut registry = self.lock();
        let owner = registry.current(old.key()).unwrap_or_else(|| old.clone());
        Answer::Handle(registry.replace_quietly(&owner))
    }

    fn marks_unread_later(&self, handle: &RunHandle) -> Answer {
        let looked_at = self.lock().looked_at().cloned();
        let mut registry = self.lock();
        let truly = std::mem::replace(&mut registry.looked_at, looked_at);
        let completed = registry.complete_quietly(handle, Outcome::Success);
        registry.looked_at = truly;
        Answer::Done(completed)
    }

    fn says_it_later(&self, key: &ThreadKey) -> Answer {
        let mut registry = self.lock();
        let events = std::mem::take(&mut registry.events);
        let registered = registry.register(key.clone());
        let mut said: EventQueue = std::mem::replace(&mut registry.events, events);
        drop(registry);
        let said: Vec<RegistryEvent> = std::iter::from_fn(|| said.pop()).collect();
        let mut registry = self.lock();
        said.into_iter()
            .for_each(|event| registry.events.push(event));
        Answer::Registered(registered)
    }

    fn finds_the_replaced_before(&self, key: &ThreadKey) -> Answer {
        let replaced = self.lock().current(key);
        let handle = self.lock().register(key.clone()).handle;
        Answer::Registered(Registered { handle, replaced })
    }

    fn works_on_a_copy(&self, call: &Call) -> Answer {
        let mut copy = self.snapshot();
        let answer = plain(&mut copy, call);
        *self.lock() = copy;
        answer
    }

    fn takes_two_locks(&self, call: &Call) -> Answer {
        if let Call::Poll = call {
            let _polling = self.polling.lock().unwrap_or_else(PoisonError::into_inner);
            return plain(&mut self.lock(), call);
        }
        let mut registry = self.lock();
        let _polling = self.polling.lock().unwrap_or_else(PoisonError::into_inner);
        plain(&mut registry, call)
    }

    /// As it should be.
    fn rightly(&self, call: &Call) -> Answer {
        let mut registry = self.lock();
        match call {
            Call::Replace(handle) => Answer::Handle(registry.replace_quietly(handle)),
            Call::Check(handle) => Answer::Done(registry.check_quietly(handle)),
            Call::Complete(handle) => {
                Answer::Done(registry.complete_quietly(handle, Outcome::Success))
            }
            Call::Fails(handle) => {
                registry.disposal_failed_quietly(handle, "no");
                Answer::Nothing
            }
            call => plain(&mut registry, call),
        }
    }
}

impl Shell for Faulty {
    fn call(&self, call: &Call) -> Answer {
        match (self.fault, call) {
            (Fault::ChecksThenReplaces, Call::Replace(old)) => self.checks_then_replaces(old),
            (Fault::MarksUnreadLater, Call::Complete(handle)) => self.marks_unread_later(handle),
            (Fault::SaysItLater, Call::Register(key)) => self.says_it_later(key),
            (Fault::FindsTheReplacedBefore, Call::Register(key)) => {
                self.finds_the_replaced_before(key)
            }
            (Fault::WorksOnACopy, call) => self.works_on_a_copy(call),
            (Fault::TakesTwoLocks, call) => self.takes_two_locks(call),
            (Fault::TracesUnderTheLock, call) => plain(&mut self.lock(), call),
            (_, call) => self.rightly(call),
        }
    }

    fn snapshot(&self) -> RunRegistry {
        self.lock().clone()
    }

    fn panic_under_the_lock(&self) {
        let _guard = self.lock();
        panic!("under the lock");
    }
}

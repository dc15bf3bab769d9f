//! Runs of different threads never touch each other.

use super::{drain, thread};
use crate::cases::cases;
use proptest::prelude::*;
use stepwell_core::registry::{RegistryEvent, RunHandle, RunRegistry, ThreadKey};
use stepwell_core::run::Outcome;

/// One press on one thread; the number picks among the handles that the thread was given.
#[derive(Clone, Copy, Debug)]
enum Press {
    Register,
    Replace(usize),
    Check(usize),
    Complete(usize),
    Remove,
}

fn press() -> impl Strategy<Value = Press> {
    prop_oneof![
        3 => Just(Press::Register),
        4 => any::<usize>().prop_map(Press::Replace),
        2 => any::<usize>().prop_map(Press::Check),
        2 => any::<usize>().prop_map(Press::Complete),
        1 => Just(Press::Remove),
    ]
}

/// What a thread saw of a press, with generations as the thread's own count.
#[derive(Debug, PartialEq)]
struct Seen {
    ok: bool,
    owner: Option<(usize, u32)>,
    unread: bool,
    events: usize,
}

struct Side {
    key: ThreadKey,
    handles: Vec<RunHandle>,
    generations: Vec<u64>,
}

impl Side {
    fn new(name: &str) -> Self {
        Self {
            key: thread(name),
            handles: Vec::new(),
            generations: Vec::new(),
        }
    }

    fn pick(&self, number: usize) -> Option<RunHandle> {
        let count = self.handles.len().min(3);
        let from = self.handles.len() - count;
        (count > 0).then(|| self.handles[from + number % count].clone())
    }

    fn press(&mut self, registry: &mut RunRegistry, press: Press) -> Seen {
        let ok = match press {
            Press::Register => {
                let registered = registry.register(self.key.clone());
                self.generations.push(registered.handle.generation());
                self.handles.push(registered.handle);
                registered.replaced.is_some()
            }
            Press::Replace(number) => self
                .pick(number)
                .and_then(|handle| registry.replace(&handle).ok())
                .map(|handle| self.handles.push(handle))
                .is_some(),
            Press::Check(number) => self
                .pick(number)
                .is_some_and(|handle| registry.check(&handle).is_ok()),
            Press::Complete(number) => self
                .pick(number)
                .is_some_and(|handle| registry.complete(&handle, Outcome::Success).is_ok()),
            Press::Remove => registry.remove(&self.key).is_some(),
        };
        let events = drain(registry);
        assert!(events.iter().all(|event| of(event) == &self.key));
        Seen {
            ok,
            owner: registry.current(&self.key).map(|handle| {
                let own = self
                    .generations
                    .iter()
                    .position(|known| *known == handle.generation());
                (own.expect("a generation of this thread"), handle.hop())
            }),
            unread: registry.unread(&self.key),
            events: events.len(),
        }
    }
}

fn of(event: &RegistryEvent) -> &ThreadKey {
    match event {
        RegistryEvent::RunStarted { handle }
        | RegistryEvent::RunContinued { handle }
        | RegistryEvent::RunCompleted { handle, .. }
        | RegistryEvent::DisposalFailed { handle, .. } => handle.key(),
        RegistryEvent::Unread { key } | RegistryEvent::Read { key } => key,
        RegistryEvent::StaleInput(stale) => stale.given.key(),
        other => panic!("{other:?}"),
    }
}

proptest! {
    #![proptest_config(cases(300))]

    /// What a thread sees among others is what it sees alone.
    #[test]
    fn i11_runs_of_different_threads_never_touch_each_other(
        presses in prop::collection::vec((0..3usize, press()), 0..60)
    ) {
        let names = ["a", "b", "c"];
        let mut together = RunRegistry::new();
        let mut sides = names.map(Side::new);
        let mut seen = names.map(|_| Vec::new());
        for &(side, press) in &presses {
            seen[side].push(sides[side].press(&mut together, press));
        }
        for (side, name) in names.into_iter().enumerate() {
            let mut alone = (RunRegistry::new(), Side::new(name));
            let own = presses.iter().filter(|(other, _)| *other == side);
            let own: Vec<_> = own.map(|&(_, press)| alone.1.press(&mut alone.0, press)).collect();
            prop_assert_eq!(&own, &seen[side]);
        }
    }
}
